/**
 * Code mode (`listing: code`): a model finds typed functions with `find_api`, and sends TypeScript that calls them to `run_code`. Each call of a script is
 * the call of the tool that it names, for the client of the script.
 */
import { coderNames, type View } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { errorResult, isObject, type JsonObject, type WorkerId } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Meant, OwnTools } from '../../call/own-tools.ts';
import type { SessionFeature } from '../../feature.ts';
import { Indexes } from '../../call/tool-indexes.ts';
import { foundFunctions } from './find-api.ts';
import { Runs } from './runs.ts';
import { ScriptTasks } from './tasks/script-tasks.ts';

/** Characters of one script. */
const maxCode = 200_000;

/** @param own tools of the gateway that scripts call. @param worker runs the scripts. */
export function code(config: Config, metrics: Metrics, own: OwnTools, worker: WorkerId): SessionFeature {
  const indexes = new Indexes();
  const tasks = new ScriptTasks(worker);
  const runs = new Runs(config, metrics, own, tasks);
  return {
    name: 'code',
    ownTools: { meant: (view, params) => meant(indexes, runs, view, params) },
    ownTasks: tasks,
    sessionEnded: (key) => tasks.sessionEnded(key),
    apply: (changed) => {
      indexes.clear();
      runs.apply(changed);
    },
    stop: () => {
      tasks.stop();
      indexes.clear();
    },
  };
}

function meant(indexes: Indexes, runs: Runs, view: View, params: JsonObject): Meant | undefined {
  if (view.definition.listing?.mode !== 'code') return undefined;
  const given = isObject(params['arguments']) ? params['arguments'] : {};
  switch (params['name']) {
    case coderNames.find:
      return { kind: 'answer', ready: () => indexes.ready(view), result: () => foundFunctions(indexes, view, given) };
    case coderNames.run: {
      const { code: script } = given;
      if (typeof script !== 'string' || script.trim() === '' || script.length > maxCode)
        return {
          kind: 'answer',
          ready: () => undefined,
          result: () => errorResult(`${coderNames.run} needs "code": TypeScript of at most ${maxCode} characters.`),
        };
      return { kind: 'run', begin: (outer) => runs.begin(outer, script) };
    }
    default:
      return undefined;
  }
}
