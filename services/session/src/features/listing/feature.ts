/**
 * Lists that show few tools (`listing`): a model finds, reads and calls the others with three tools of the gateway. A call through `call_tool` becomes the call of
 * the tool that it names before anything else looks at it, so rules, limits, approvals, records and traces see that tool.
 */
import { finderNames, finders, type View } from '@omnibus/catalog';
import { isObject, parseJson, type JsonObject } from '@omnibus/protocol';
import type { Meant } from '../../call/own-tools.ts';
import type { SessionFeature } from '../../feature.ts';
import { describedTools, foundTools, mistake } from './found-tools.ts';
import { Indexes } from '../../call/tool-indexes.ts';

export function listing(): SessionFeature {
  const indexes = new Indexes();
  return {
    name: 'listing',
    ownTools: { meant: (view, params, takesAnyOutput) => meant(indexes, view, params, takesAnyOutput) },
    apply: () => indexes.clear(),
    stop: () => indexes.clear(),
  };
}

function meant(indexes: Indexes, view: View, params: JsonObject, takesAnyOutput: boolean): Meant | undefined {
  if (view.definition.listing?.mode === 'code') return undefined; // Such lists have other tools.
  const given = isObject(params['arguments']) ? params['arguments'] : {};
  switch (params['name']) {
    case finderNames.find:
      return { kind: 'answer', ready: () => indexes.ready(view), result: () => foundTools(indexes, view, given) };
    case finderNames.describe:
      return {
        kind: 'answer',
        ready: () => indexes.ready(view),
        result: () => describedTools(indexes, view, given, takesAnyOutput),
      };
    case finderNames.call:
      return inner(params, given);
    default:
      return undefined;
  }
}

/** The call that `call_tool` stands for. */
function inner(params: JsonObject, { name, arguments: passed = {} }: JsonObject): Meant {
  const wrong = (text: string): Meant => ({ kind: 'answer', ready: () => undefined, result: () => mistake(text) });
  if (typeof name !== 'string')
    return wrong(`${finderNames.call} needs "name": a name that ${finderNames.find} found.`);
  if (finders.names.has(name)) return wrong(`Call ${name} itself, not with ${finderNames.call}.`);
  const given = typeof passed === 'string' ? parsed(passed) : passed;
  return given === null || isObject(given)
    ? { kind: 'call', params: { ...params, name, arguments: given ?? {} } }
    : wrong(`"arguments" of ${finderNames.call} must be an object with the arguments of ${name}.`);
}

/** Models often write arguments as text. */
function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
