/** The parts of a worker that clients of both eras share: sessions, and requests without sessions. */
import type { View } from '@omnibus/catalog';
import type { Caller, Declared, JsonObject } from '@omnibus/protocol';
import type { CallHost } from './call-host.ts';
import type { ListFilter } from './list-filter.ts';
import type { OwnTasks } from './own-tasks.ts';
import type { OwnTools } from './own-tools.ts';

export interface ClientHost extends CallHost {
  readonly ownTools: OwnTools;
  /** Undefined if the gateway runs no tasks itself. */
  readonly ownTasks?: OwnTasks | undefined;
  /** The view of a caller; undefined when the endpoint was removed from the configuration. */
  readonly view: (caller: Caller, declared?: Declared) => View | undefined;
  /** What narrows lists beyond the rules; `undecided` is called only if there is such a thing. */
  readonly listFilter: { readonly on: ListFilter | undefined };
  /** See `Callers.undecided`. */
  readonly undecided: (caller: Caller, declared?: Declared, capabilities?: JsonObject) => Promise<void> | undefined;
}
