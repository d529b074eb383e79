/**
 * Composite tools: a declared sequence of calls (`composites` of the configuration). A caller sees one if it sees all tools of its steps, and each call is
 * the call of the tool that it names, for the client of the composite tool.
 */
import type { View } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { CallStream } from '../../call/client-port.ts';
import type { OuterCall } from '../../call/outer-call.ts';
import type { Meant, OwnTools } from '../../call/own-tools.ts';
import type { SessionFeature } from '../../feature.ts';
import { CompositeRun } from './run.ts';

export function composites(
  { composites: all }: Config,
  metrics: Pick<Metrics, 'composites'>,
): SessionFeature & { readonly ownTools: OwnTools } {
  let known = all;
  const meant = (view: View, params: JsonObject): Meant | undefined => {
    const name = String(params['name']);
    const composite = view.hasComposite(name) && Object.hasOwn(known, name) ? known[name] : undefined;
    if (composite === undefined) return undefined;
    return {
      kind: 'run',
      begin: <Stream extends CallStream>(outer: OuterCall<Stream>) => {
        const given = isObject(params['arguments']) ? params['arguments'] : {};
        const run = new CompositeRun(outer, name, composite, given, ({ outcome, calls }) =>
          metrics.composites.ended(name, outcome, calls),
        );
        run.begin();
      },
    };
  };
  return {
    name: 'composites',
    ownTools: { meant },
    apply: ({ composites: changed }) => {
      known = changed;
    },
  };
}
