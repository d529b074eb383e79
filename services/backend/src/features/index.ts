/** The features of the adapter of one server. */
import type { FeatureOptions, ServerFeature, ServerParts } from '../feature.ts';
import { logLevels } from './log-levels/feature.ts';
import { nullSteps } from './repairs/result-nulls.ts';
import { CallTelling } from './reports/call-telling.ts';
import { rootsStep } from './roots/feature.ts';
import { schemas } from './schemas/feature.ts';
import { subscriptions } from './subscriptions/feature.ts';
import { takeover } from './takeover/feature.ts';
import type { SeenExchanges } from './takeover/seen-exchanges.ts';
import { tasks } from './tasks/feature.ts';
import { shapedCalls } from './shaping/feature.ts';
import { spansOf } from './traces/feature.ts';

/**
 * The list of features. Its order is that of steps and of watchers. A feature that is off is left out.
 * @param seen remembers calls that another session worker may continue; undefined in one process, where none can be gone alone.
 */
export function serverFeatures(
  { tracing, tap, added, repairs }: FeatureOptions,
  parts: ServerParts,
  seen: SeenExchanges | undefined,
): readonly ServerFeature[] {
  const { server, config, catalog, questions, pool } = parts;
  const shaped = shapedCalls(server, config);
  return [
    ...(seen === undefined ? [] : [takeover(seen, server, questions)]),
    { name: 'roots', step: rootsStep({ questions, mustKnow: (context) => pool().mustKnowRoots(context) }) },
    ...added,
    ...(repairs === undefined ? [] : [{ name: 'repairs', step: nullSteps(repairs, catalog) }]),
    ...(shaped === undefined ? [] : [shaped]),
    ...(config.validation === 'off' ? [] : [schemas(parts)]),
    tasks(parts),
    logLevels(parts),
    subscriptions(parts),
    ...(tap === undefined ? [] : [{ name: 'reports', watcher: new CallTelling(tap, server) }]),
    ...(tracing === undefined ? [] : [{ name: 'traces', watcher: spansOf(tracing, server) }]),
  ];
}
