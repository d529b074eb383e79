/**
 * The common lists of a server, as last read over its base connection. A list that could not be read stays as it was, and is reported as
 * unread.
 */
import {
  isObject,
  listKinds,
  listMethods,
  noLists,
  unfitWords,
  printable,
  type CatalogLists,
  type JsonObject,
  type Limits,
  type ListKind,
  type ListNotes,
  type UnfitEntry,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { readList, type ReaderOptions } from './reader.ts';
import type { UpstreamConnection } from '../connection/connection.ts';

export interface BaseListsOptions extends ReaderOptions {
  readonly limits: Limits;
  readonly log: Logger;
}

/** Bound on entries that the record names; all are counted. */
const maxUnfit = 100;
/** Entries that one log line names. */
const maxLogged = 10;

/** The members of one list, other than its entries. */
interface Known {
  readonly notes: ListNotes;
  readonly leftOut: number;
  readonly unfit: readonly UnfitEntry[];
  /** Milliseconds for which the list may be used according to the server, if it announces no changes. */
  readonly ttlMs: number | undefined;
}

export class BaseLists {
  readonly #options: BaseListsOptions;
  #lists: CatalogLists = noLists;
  readonly #known = new Map<ListKind, Known>();
  /** Why lists could not be read at the last attempt. */
  readonly #failed = new Map<ListKind, string>();

  constructor(options: BaseListsOptions) {
    this.#options = options;
  }

  get lists(): CatalogLists {
    return this.#lists;
  }

  /** @param lists known before anything was read here. */
  begin(lists: CatalogLists): void {
    this.#lists = lists;
  }

  get notes(): Partial<Record<ListKind, ListNotes>> {
    return Object.fromEntries(
      [...this.#known]
        .filter(([, { notes }]) => Object.keys(notes).length > 0)
        .map(([kind, { notes }]) => [kind, notes]),
    );
  }

  get leftOut(): number {
    return [...this.#known.values()].reduce((sum, { leftOut }) => sum + leftOut, 0);
  }

  /** Entries that are in no list, each with its reason; the first of each list. */
  get unfit(): readonly UnfitEntry[] {
    return listKinds.flatMap((kind) => this.#known.get(kind)?.unfit ?? []).slice(0, maxUnfit);
  }

  /** The smallest time for which the server's lists may be used. */
  get ttlMs(): number | undefined {
    const stated = [...this.#known.values()].flatMap(({ ttlMs }) => ttlMs ?? []);
    return stated.length === 0 ? undefined : Math.min(...stated);
  }

  /** Lists that could not be read, in order. */
  get unread(): readonly ListKind[] {
    return listKinds.filter((kind) => this.#failed.has(kind));
  }

  get problem(): string | undefined {
    return this.#failed.size === 0
      ? undefined
      : this.unread.map((kind) => printable(this.#failed.get(kind) as string)).join('; ');
  }

  /** Marks lists as not answered yet. */
  await(kinds: Iterable<ListKind>): void {
    for (const kind of kinds) this.#failed.set(kind, `${listMethods[kind]} has not been answered yet`);
  }

  /** Reads one list. @param capabilities of the server. */
  async read(kind: ListKind, connection: UpstreamConnection, capabilities: JsonObject): Promise<void> {
    const { log } = this.#options;
    const capability = capabilities[kind === 'resourceTemplates' ? 'resources' : kind];
    if (capability === undefined) {
      if (this.#lists[kind].length > 0) this.#lists = { ...this.#lists, [kind]: [] };
      this.#known.delete(kind);
      this.#failed.delete(kind);
      return;
    }
    const wasWhole = this.#known.has(kind);
    const reading = await readList(kind, (method, params) => connection.ask(method, params), this.#options);
    // The failure is of a connection that was replaced; its successor reads the list again.
    if (!connection.isReady) return;
    const broken = 'failed' in reading ? reading.failed : reading.broken;
    if (broken === undefined) this.#failed.delete(kind);
    else {
      this.#failed.set(kind, broken);
      log.warn({ problem: broken }, 'a list of the server could not be read');
    }
    if ('failed' in reading || (broken !== undefined && wasWhole)) return;
    const { entries, notes, problems, leftOut } = reading;
    if (problems.length > 0)
      log.warn({ problems: problems.slice(0, maxLogged).map(unfitWords), leftOut }, 'entries of a list were left out');
    // An unchanged list stays the same object, without a notification.
    if (JSON.stringify(entries) !== JSON.stringify(this.#lists[kind]))
      this.#lists = { ...this.#lists, [kind]: entries };
    if (broken !== undefined) return;
    // A server that announces changes needs no polling, and its list does not age.
    const isAnnounced = isObject(capability) && capability['listChanged'] === true;
    const ages = !isAnnounced && notes.ttlMs !== undefined;
    this.#known.set(kind, {
      notes: ages ? { ...notes, readAt: Date.now() } : notes,
      leftOut,
      unfit: problems,
      ttlMs: ages ? notes.ttlMs : undefined,
    });
  }
}
