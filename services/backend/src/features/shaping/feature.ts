/** Tools in the shapes that the configuration gives them (`tools` of a server). Rules, approvals, audit, search and scripts see a tool and its arguments as clients do; the server gets its own names, and the values of hidden arguments. */
import type { ServerConfig } from '@omnibus/config';
import {
  errorResult,
  fault,
  isObject,
  printable,
  type ExchangeOutcome,
  type JsonObject,
  type ServerName,
} from '@omnibus/protocol';
import type { Call } from '../../call/call.ts';
import { sourceOf } from '../../catalog/record-shape.ts';
import type { ProcessFeature, ServerFeature } from '../../feature.ts';
import { argumentsFor, type ServerArguments } from './arguments.ts';
import { withNames } from './error-names.ts';
import type { ToolShape } from './schema.ts';
import { ServerShapes, shapesOf } from './shapes.ts';

/** Bound on arguments that a refusal names. */
const maxNamed = 30;

/** Shapes what servers list. */
export function shaping(): ProcessFeature {
  return {
    of: (_server, config) => {
      const shapes = shapesOf(config);
      return Promise.resolve({ shape: shapes === undefined ? undefined : new ServerShapes(shapes) });
    },
    stop: () => Promise.resolve(),
  };
}

/** Gives calls of shaped tools the arguments that the server expects. @returns undefined for a server without shaped arguments. */
export function shapedCalls(server: ServerName, config: Pick<ServerConfig, 'tools'>): ServerFeature | undefined {
  const shapes = new Map([...(shapesOf(config) ?? [])].filter(([, shape]) => Object.keys(shape.arguments).length > 0));
  if (shapes.size === 0) return undefined;
  const shapeOf = ({ command: { method, params } }: Call): ToolShape | undefined =>
    method === 'tools/call' ? shapes.get(String(params['name'])) : undefined;
  return {
    name: 'shaping',
    step: {
      before(call) {
        const shape = shapeOf(call);
        const made = shape === undefined ? undefined : serverArguments(call, shape);
        return made === undefined || 'arguments' in made ? undefined : refusal(server, call, made);
      },
      params(call, params) {
        const shape = shapeOf(call);
        const made = shape === undefined ? undefined : serverArguments(call, shape);
        return made !== undefined && 'arguments' in made ? { ...params, arguments: made.arguments } : params;
      },
      outcome(call, given) {
        const shape = shapeOf(call);
        return shape === undefined ? given : withNames(shape, given);
      },
    },
  };
}

/** @returns undefined for arguments that are none, which the server refuses. */
function serverArguments({ command: { params, context }, tool }: Call, shape: ToolShape): ServerArguments | undefined {
  const given = params['arguments'] ?? {};
  const schema = tool === undefined ? undefined : sourceOf(tool)['inputSchema'];
  return isObject(given) ? argumentsFor(shape, given, schema, context.who) : undefined;
}

function refusal(
  server: ServerName,
  { command: { params }, tool }: Call,
  made: Exclude<ServerArguments, { readonly arguments: JsonObject }>,
): ExchangeOutcome {
  if ('fact' in made) {
    const { fact, problem } = made;
    return {
      kind: 'fault',
      fault: fault(
        'upstream.caller_fact',
        `an argument of the tool "${printable(String(params['name']), 100)}" of server "${server}" is filled from the fact "${fact}" about the caller: ${problem}. The tool was not called`,
        { server, fact },
      ),
    };
  }
  const schema = tool?.['inputSchema'];
  const names = Object.keys(isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {});
  const known = names.slice(0, maxNamed).map((name) => JSON.stringify(name));
  const words =
    known.length === 0 ? 'it has none' : `it has ${known.join(', ')}${names.length > maxNamed ? ' and more' : ''}`;
  return {
    kind: 'result',
    result: errorResult(
      `${JSON.stringify(printable(made.unknown, 100))} is no argument of this tool; ${words}. The tool was not called.`,
    ),
  };
}
