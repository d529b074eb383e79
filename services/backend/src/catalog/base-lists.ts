/**
 * The lists that a server gives everybody, as they were read last over its base connection. What could not be read is as it was before,
 * and said to be: a list that fails takes nothing away.
 */
import { isObject, listKinds, listMethods, noLists, printable, type CatalogLists, type JsonObject, type Limits, type ListKind, type ListNotes } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { readList } from './reader.ts';
import type { UpstreamConnection } from '../connection/connection.ts';

export interface BaseListsOptions {
  readonly limits: Limits;
  readonly log: Logger;
}

/** What is known of one list besides its entries. */
interface Known {
  readonly notes: ListNotes;
  readonly leftOut: number;
  /** Milliseconds for which it can be used by the server's word, where no change of it is announced. */
  readonly ttlMs: number | undefined;
}

export class BaseLists {
  readonly #options: BaseListsOptions;
  #lists: CatalogLists = noLists;
  readonly #known = new Map<ListKind, Known>();
  /** Why lists could not be read, the last time. */
  readonly #failed = new Map<ListKind, string>();

  constructor(options: BaseListsOptions) {
    this.#options = options;
  }

  get lists(): CatalogLists {
    return this.#lists;
  }

  /** @param lists what was known before anything was read here. */
  begin(lists: CatalogLists): void {
    this.#lists = lists;
  }

  get notes(): Partial<Record<ListKind, ListNotes>> {
    return Object.fromEntries([...this.#known].filter(([, { notes }]) => Object.keys(notes).length > 0).map(([kind, { notes }]) => [kind, notes]));
  }

  get leftOut(): number {
    return [...this.#known.values()].reduce((sum, { leftOut }) => sum + leftOut, 0);
  }

  /** The least of what the server says its lists can be used for. */
  get ttlMs(): number | undefined {
    const stated = [...this.#known.values()].flatMap(({ ttlMs }) => ttlMs ?? []);
    return stated.length === 0 ? undefined : Math.min(...stated);
  }

  /** Lists that could not be read, in their order. */
  get unread(): readonly ListKind[] {
    return listKinds.filter((kind) => this.#failed.has(kind));
  }

  get problem(): string | undefined {
    return this.#failed.size === 0 ? undefined : this.unread.map((kind) => printable(this.#failed.get(kind) as string)).join('; ');
  }

  /** Says of lists that no answer has come yet. */
  await(kinds: Iterable<ListKind>): void {
    for (const kind of kinds) this.#failed.set(kind, `${listMethods[kind]} has not been answered yet`);
  }

  /** Reads one list. @param capabilities the server's. */
  async read(kind: ListKind, connection: UpstreamConnection, capabilities: JsonObject): Promise<void> {
    const { limits, log } = this.#options;
    const capability = capabilities[kind === 'resourceTemplates' ? 'resources' : kind];
    if (capability === undefined) {
      if (this.#lists[kind].length > 0) this.#lists = { ...this.#lists, [kind]: [] };
      this.#known.delete(kind);
      this.#failed.delete(kind);
      return;
    }
    const wasWhole = this.#known.has(kind);
    const reading = await readList(kind, (method, params) => connection.ask(method, params), limits);
    // It answers for another connection by now, which is read anew.
    if (!connection.isReady) return;
    const broken = 'failed' in reading ? reading.failed : reading.broken;
    if (broken === undefined) this.#failed.delete(kind);
    else {
      this.#failed.set(kind, broken);
      log.warn({ problem: broken }, 'a list of the server could not be read');
    }
    if ('failed' in reading || (broken !== undefined && wasWhole)) return;
    const { entries, notes, problems, leftOut } = reading;
    if (problems.length > 0) log.warn({ problems, leftOut }, 'entries of a list were left out');
    // A list that reads the same stays the same: nobody is told of it.
    if (JSON.stringify(entries) !== JSON.stringify(this.#lists[kind])) this.#lists = { ...this.#lists, [kind]: entries };
    if (broken !== undefined) return;
    // Who announces changes need not be asked, and what is known of it does not age.
    const isAnnounced = isObject(capability) && capability['listChanged'] === true;
    const ages = !isAnnounced && notes.ttlMs !== undefined;
    this.#known.set(kind, { notes: ages ? { ...notes, readAt: Date.now() } : notes, leftOut, ttlMs: ages ? notes.ttlMs : undefined });
  }
}
