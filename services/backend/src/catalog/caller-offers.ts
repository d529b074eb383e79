/**
 * What one server offers to clients with certain declared capabilities: some servers have tools only for clients that they may ask something. For each set
 * of capabilities, lists are read over a connection that declares the set, when such a client first comes, and when that connection announces a change.
 * They are stored as the difference to the common lists.
 */
import { setLast } from '@omnibus/collections';
import { differences } from '@omnibus/catalog';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  declaredOf,
  declaredBy,
  listKinds,
  offerKey,
  unfitWords,
  type CallerOffer,
  type CatalogLists,
  type ExchangeContext,
  type JsonObject,
  type Limits,
  type ListKind,
  type OfferCaller,
  type ServerIntroduction,
  type ToolEntry,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { readList, type ReaderOptions } from './reader.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { NewConnection } from '../connection/pool-options.ts';
import type { ConnectionPool } from '../connection/pool.ts';

export interface CallerOffersOptions extends ReaderOptions {
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly limits: Limits;
  readonly base: () => UpstreamConnection;
  readonly connections: () => ConnectionPool;
  /** The lists for all. */
  readonly common: () => CatalogLists;
  /** The capabilities that the server declared over its base connection. */
  readonly capabilities: () => JsonObject;
  /** Called when something is known again of some set. */
  readonly changed: () => void;
}

/** Bound on known sets; clients of one make declare the same, so there are few. The set that was not asked for for the longest time is forgotten first. */
const maxSets = 32;
/** Entries that one log line names. */
const maxLogged = 10;
/** Bound on sets that wait to be read, each of which may need a connection or a program. */
const maxQueued = 32;
/** Pause after the base lists were read again, before the differences are read again. */
const settleMs = 5_000;

interface Known {
  readonly offer: CallerOffer;
  /** The offer as JSON, for noticing changes. */
  readonly text: string;
  /** The connection over which it was read, if clients of the set use it; undefined for one that was opened only to read. */
  readonly connection: UpstreamConnection | undefined;
  /** The caller of the reading; undefined where a connection determines it. */
  readonly caller: OfferCaller | undefined;
  isStale: boolean;
}

/** The connection over which a set is read, or the caller of a new one. */
type Source = { readonly connection: UpstreamConnection } | { readonly caller: OfferCaller };

export class CallerOffers {
  readonly #options: CallerOffersOptions;
  /** By key; the set that was wanted last comes last. */
  readonly #known = new Map<string, Known>();
  readonly #queue = new Map<string, Source>();
  readonly #keys = new WeakMap<UpstreamConnection, string>();
  /** Key of the set that is being read. */
  #current: string | undefined;
  #settling: Deadline | undefined;
  #isStopped = false;

  constructor(options: CallerOffersOptions) {
    this.#options = options;
  }

  get all(): readonly CallerOffer[] {
    return [...this.#known.values()].map(({ offer }) => offer).toSorted((one, other) => (one.key < other.key ? -1 : 1));
  }

  /** The lists of the previous configuration; it is read again when such a client comes. */
  begin(offers: readonly CallerOffer[]): void {
    for (const offer of offers)
      this.#known.set(offer.key, {
        offer,
        text: JSON.stringify(offer),
        connection: undefined,
        caller: undefined,
        isStale: true,
      });
  }

  /** A client with an unknown set has come. @returns whether a reading begins. */
  want(caller: OfferCaller): boolean {
    const key = offerKey(
      declaredOf(caller),
      this.#options.base().dialect.sharing.servesEverybody,
      this.#options.capabilities(),
    );
    const known = this.#known.get(key);
    if (known !== undefined) setLast(this.#known, key, known, maxSets);
    const isAsked = key !== '' && known?.isStale !== false;
    if (isAsked) this.#enqueue(key, { caller });
    return isAsked;
  }

  /** A connection for callers of a set is open. */
  join(connection: UpstreamConnection, { capabilities, leg }: Pick<NewConnection, 'capabilities' | 'leg'>): void {
    const isBeside = leg.beside !== undefined;
    const key = offerKey(declaredBy(capabilities, isBeside), isBeside, this.#options.capabilities());
    // They get the common lists if it has no name.
    if (key !== '') this.#keys.set(connection, key);
  }

  /**
   * Whether the known lists for callers with these capabilities differ from the common ones.
   * @param isBeside whether their connections are opened beside the first one.
   */
  differsFor(capabilities: JsonObject, isBeside: boolean): boolean {
    const key = offerKey(declaredBy(capabilities, isBeside), isBeside, this.#options.capabilities());
    return Object.keys(this.#known.get(key)?.offer.lists ?? {}).length > 0;
  }

  /** Such a connection is open. */
  opened(connection: UpstreamConnection, _introduction?: ServerIntroduction): void {
    const key = this.#keys.get(connection);
    if (key !== undefined && key !== this.#current && this.#known.get(key)?.isStale !== false)
      this.#enqueue(key, { connection });
  }

  /** A server has announced a change over such a connection, or may have. @returns false for a connection with callers that get the common lists. */
  heard(connection: UpstreamConnection): boolean {
    const key = this.#keys.get(connection);
    if (key !== undefined) this.#enqueue(key, { connection });
    return key !== undefined;
  }

  /** A tool for all, or for some clients only. @param common the common definition. */
  tool(name: string, common: ToolEntry | undefined): ToolEntry | undefined {
    if (common !== undefined) return common;
    for (const { offer } of this.#known.values()) {
      const found = offer.lists.tools?.entries.find((entry) => entry['name'] === name);
      if (found !== undefined) return found as ToolEntry;
    }
    return undefined;
  }

  /** The lists for all were read again. */
  baseRead(): void {
    if (this.#known.size === 0) return;
    this.#settling ??= this.#options.wheel.schedule(settleMs, () => {
      this.#settling = undefined;
      for (const [key, known] of this.#known) {
        const { connection, caller } = known;
        if (connection?.isReady === true && connection !== this.#options.base()) this.#enqueue(key, { connection });
        else if (caller !== undefined && connection === this.#options.base()) this.#enqueue(key, { caller });
        else known.isStale = true;
      }
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#settling?.cancel();
    this.#queue.clear();
  }

  #enqueue(key: string, source: Source): void {
    if (this.#isStopped || (!this.#queue.has(key) && this.#queue.size >= maxQueued)) return;
    this.#queue.set(key, source);
    if (this.#current === undefined) void this.#readAll();
  }

  /** Reads one set at a time. */
  async #readAll(): Promise<void> {
    // It grows while its sets are read; those that come meanwhile are read, too.
    for (const [key, source] of this.#queue) {
      this.#queue.delete(key);
      this.#current = key;
      try {
        await ('connection' in source
          ? this.#read(key, source.connection, undefined)
          : this.#readFor(key, source.caller));
      } catch (error) {
        this.#options.log.error({ err: error }, 'what clients with capabilities are offered could not be read');
      }
    }
    this.#current = undefined;
  }

  async #readFor(key: string, caller: OfferCaller): Promise<void> {
    const { connections, base, log } = this.#options;
    const context: ExchangeContext = { ...caller, logLevel: undefined, wantsProgress: false, maxTimeMs: 0 };
    await connections().settling(context);
    const taken = connections().takeToRead(context);
    if ('refused' in taken) {
      log.debug(
        { key, refused: taken.refused },
        'there is no connection to read over what clients with these capabilities are offered',
      );
      return;
    }
    const { connection } = taken;
    try {
      // Clients of this set use the shared connection.
      if (connection === base() && !connection.dialect.sharing.servesEverybody)
        this.#learn(key, {}, { connection, caller, isStale: false });
      else await this.#read(key, connection, caller);
    } finally {
      taken.done();
    }
  }

  async #read(key: string, connection: UpstreamConnection, caller: OfferCaller | undefined): Promise<void> {
    const { common, capabilities, log } = this.#options;
    const context = { capabilities: caller?.capabilities ?? {}, logLevel: undefined };
    const lists: Partial<Record<ListKind, unknown>> = {};
    let isWhole = true;
    await Promise.all(
      listKinds.map(async (kind) => {
        if (capabilities()[kind === 'resourceTemplates' ? 'resources' : kind] === undefined) return;
        const reading = await readList(
          kind,
          (method, params) => connection.ask(method, params, undefined, context),
          this.#options,
        );
        const broken = 'failed' in reading ? reading.failed : reading.broken;
        if (broken === undefined && 'entries' in reading) lists[kind] = reading.entries;
        else isWhole = false;
        if ('problems' in reading && reading.problems.length > 0)
          log.warn(
            { problems: reading.problems.slice(0, maxLogged).map(unfitWords), key },
            'entries of a list were left out',
          );
        if (broken !== undefined && connection.isReady)
          log.warn({ problem: broken, key }, 'a list of the server could not be read for clients with capabilities');
      }),
    );
    if (!connection.isReady) return;
    const found = differences(common(), lists as Partial<CatalogLists>);
    const before = this.#known.get(key)?.offer.lists ?? {};
    // A list that could not be read stays as it was.
    const kept = Object.fromEntries(Object.entries(before).filter(([kind]) => !(kind in lists)));
    this.#learn(key, { ...kept, ...found }, { connection, caller, isStale: !isWhole });
  }

  #learn(key: string, lists: CallerOffer['lists'], more: Omit<Known, 'offer' | 'text'>): void {
    const offer: CallerOffer = { key, lists };
    const known: Known = { offer, text: JSON.stringify(offer), ...more };
    const before = this.#known.get(key);
    setLast(this.#known, key, known, maxSets);
    for (const oldest of this.#known.keys()) {
      if (oldest === key || this.#bytes() <= this.#options.limits.maxCatalogBytes) break;
      this.#known.delete(oldest);
    }
    if (before?.text !== known.text) this.#options.changed();
  }

  /** Bytes of all sets together, which are in one record. */
  #bytes(): number {
    return [...this.#known.values()].reduce((bytes, { text }) => bytes + text.length, 0);
  }
}
