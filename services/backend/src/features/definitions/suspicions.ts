/** Suspicious tools among those of all servers of one process. */
import { suspicious, type Suspicion } from '@omnibus/catalog';
import type { CatalogRecord } from '@omnibus/protocol';
import type { ServerDefinitions } from './all-definitions.ts';

/** @returns findings by server, also about withheld tools. */
export function suspicionsOf({
  records,
  definitions,
}: {
  readonly records: readonly CatalogRecord[];
  readonly definitions: readonly ServerDefinitions[];
}): ReadonlyMap<string, readonly Suspicion[]> {
  const held = new Map(
    definitions.map(({ server, deviations }) => [
      server,
      deviations.filter(({ kind, isHeld }) => kind === 'tools' && isHeld).map(({ name }) => name),
    ]),
  );
  return suspicious(records.map(({ server, lists: { tools } }) => ({ server, tools, held: held.get(server) ?? [] })));
}
