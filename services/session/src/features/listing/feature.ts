/**
 * Lists that show few tools (`listing`): a model finds, reads and calls the others with three tools of the gateway. A call through `call_tool` becomes the call of
 * the tool that it names before anything else looks at it, so rules, limits, approvals, records and traces see that tool.
 */
import { finderNames, finders, type View } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { errorResult, isObject, parseJson, type JsonObject } from '@omnibus/protocol';
import type { Meant } from '../../call/own-tools.ts';
import type { SessionFeature } from '../../feature.ts';
import { describedTools, foundTools } from './found-tools.ts';
import { Indexes } from '../../call/tool-indexes.ts';
import { Meanings, type MeaningsOptions } from './meanings.ts';

/** @param options of the worker. */
export function listing(options: MeaningsOptions & { readonly config: Config }): SessionFeature {
  const indexes = new Indexes();
  const meanings = new Meanings(options);
  meanings.apply(options.config);
  return {
    name: 'listing',
    ownTools: { meant: (view, params, takesAnyOutput) => meant({ indexes, meanings }, view, params, takesAnyOutput) },
    listsRead: (record) => meanings.learn(record),
    apply: (config) => {
      indexes.clear();
      meanings.apply(config);
    },
    stop: async () => {
      indexes.clear();
      await meanings.stop();
    },
  };
}

interface Search {
  readonly indexes: Indexes;
  readonly meanings: Meanings;
}

function meant(
  { indexes, meanings }: Search,
  view: View,
  params: JsonObject,
  takesAnyOutput: boolean,
): Meant | undefined {
  // A list with all tools has none of these, and one with `code` has others.
  if (!view.isShort || view.definition.listing?.mode === 'code') return undefined;
  const given = isObject(params['arguments']) ? params['arguments'] : {};
  switch (params['name']) {
    case finderNames.find:
      return {
        kind: 'answer',
        ready: () => indexes.ready(view) ?? meanings.settling(indexes, view, given),
        result: () => foundTools(indexes, view, given, (indexed) => meanings.of(indexed, given)),
      };
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
  const wrong = (text: string): Meant => ({ kind: 'answer', ready: () => undefined, result: () => errorResult(text) });
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
