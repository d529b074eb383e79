/**
 * Bounds on the size of results (`maxResultBytes` of a server or of one of its tools). A larger result is refused and not cut: half a result fits no schema, and a
 * model takes it for the whole.
 */
import type { Config } from '@omnibus/config';
import {
  fault,
  methodRow,
  printable,
  type ExchangeOutcome,
  type GatewayFault,
  type ServerName,
} from '@omnibus/protocol';
import { unchanged, type CallTransform } from '../../call/transform.ts';
import type { CallTransformer } from '../../call/transforms.ts';
import type { SessionFeature } from '../../feature.ts';

type Servers = Config['mcpServers'];

/** Requests for these have results that go to the client's model. Lists have bounds of their own. */
const bounded: ReadonlySet<unknown> = new Set(['tool', 'prompt', 'resource']);

export function resultSize({ mcpServers }: Pick<Config, 'mcpServers'>): SessionFeature {
  let servers: Servers = mcpServers;
  const transformer: CallTransformer = {
    of: ({ method }, { server, tool, task }) =>
      task !== undefined || bounded.has(methodRow(method)?.asksFor)
        ? transformFor(servers, server, tool ?? task?.tool)
        : undefined,
  };
  return {
    name: 'result-size',
    get isOn() {
      return Object.values(servers).some(
        (server) =>
          server.maxResultBytes !== undefined ||
          Object.values(server.tools).some(({ maxResultBytes }) => maxResultBytes !== undefined),
      );
    },
    transforms: [transformer],
    apply: (config) => {
      servers = config.mcpServers;
    },
  };
}

/** @param tool the server's own name of the tool; undefined for anything else. */
function transformFor(servers: Servers, server: ServerName, tool: string | undefined): CallTransform | undefined {
  const settings = servers[server];
  const own = tool === undefined ? undefined : settings?.tools[tool]?.maxResultBytes;
  const maxBytes = own ?? settings?.maxResultBytes;
  if (maxBytes === undefined) return undefined;
  const option = `mcpServers.${server}.${own === undefined ? '' : `tools.${printable(String(tool), 100)}.`}maxResultBytes`;
  return {
    ...unchanged,
    outcome: (given, then) => {
      const refusal = given.kind === 'result' ? refusalOf(given, maxBytes, option) : undefined;
      then(refusal === undefined ? given : { kind: 'fault', fault: refusal });
    },
  };
}

function refusalOf(
  { result }: Extract<ExchangeOutcome, { kind: 'result' }>,
  maxBytes: number,
  option: string,
): GatewayFault | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(result));
  return bytes <= maxBytes
    ? undefined
    : fault(
        'result.too_large',
        `the result has ${bytes} bytes, and ${option} allows ${maxBytes}; the request was executed: ask for less, such as a page, a range or fewer fields`,
        { bytes, maxBytes },
      );
}
