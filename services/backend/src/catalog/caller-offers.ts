/**
 * What one server offers to clients that declared capabilities, for each set of them: some servers have tools only for clients they may ask
 * something. It is read over a connection that declares the set, the first time such a client comes, and when that connection says that
 * something changed. It is kept as the difference to what everybody is offered, so that what changes there is heard here.
 */
import { differences } from '@omnibus/catalog';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { declaredBy, listKinds, offerKey, type CallerOffer, type CatalogLists, type ExchangeContext, type JsonObject, type Limits, type ListKind, type OfferCaller, type ServerIntroduction, type ToolEntry } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { readList } from './reader.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { NewConnection } from '../connection/pool-options.ts';
import type { ConnectionPool } from '../connection/pool.ts';

export interface CallerOffersOptions {
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly limits: Limits;
  readonly base: () => UpstreamConnection;
  readonly connections: () => ConnectionPool;
  /** What everybody is offered. */
  readonly common: () => CatalogLists;
  /** The capabilities that the server declared over its base connection. */
  readonly capabilities: () => JsonObject;
  /** What is known of some set has changed. */
  readonly changed: () => void;
}

/** Sets of which something is known; clients of one make declare the same, so there are few. The one that nobody asked for longest goes. */
const maxSets = 32;
/** Sets that wait to be read, each of which may mean a connection, or a program. */
const maxQueued = 32;
/** After the base lists were read again, what rests on them is read after this long, and no more often: their changes are heard at once by what they differ in. */
const settleMs = 5_000;

interface Known {
  readonly offer: CallerOffer;
  /** The offer as JSON, to tell whether it has changed. */
  readonly text: string;
  /** The connection it was read over, where clients of the set are served over it; undefined for one that was opened to read. */
  readonly connection: UpstreamConnection | undefined;
  /** The caller it was read for; undefined where only a connection tells. */
  readonly caller: OfferCaller | undefined;
  isStale: boolean;
}

/** The connection a set is read over, or the caller for whom one is opened. */
type Source = { readonly connection: UpstreamConnection } | { readonly caller: OfferCaller };

export class CallerOffers {
  readonly #options: CallerOffersOptions;
  /** By key, the one wanted last at the end. */
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

  /** What was known under the configuration before; it is read again when such a client comes. */
  begin(offers: readonly CallerOffer[]): void {
    for (const offer of offers) this.#known.set(offer.key, { offer, text: JSON.stringify(offer), connection: undefined, caller: undefined, isStale: true });
  }

  /** A client has come of which nobody knows what it is offered. @returns whether the server is asked for it. */
  want(caller: OfferCaller): boolean {
    const key = offerKey(declaredBy(caller.capabilities, !caller.standsAlone), this.#options.base().dialect.declaresPerRequest);
    const known = this.#known.get(key);
    if (known !== undefined) {
      this.#known.delete(key);
      this.#known.set(key, known);
    }
    const isAsked = key !== '' && known?.isStale !== false;
    if (isAsked) this.#enqueue(key, { caller });
    return isAsked;
  }

  /** A connection is made for callers of a set. */
  join(connection: UpstreamConnection, { capabilities, isOlder }: Pick<NewConnection, 'capabilities' | 'isOlder'>): void {
    const key = offerKey(declaredBy(capabilities, isOlder), isOlder);
    // They are offered what everybody is where it has no name.
    if (key !== '') this.#keys.set(connection, key);
  }

  /** Such a connection is there. */
  opened(connection: UpstreamConnection, _introduction?: ServerIntroduction): void {
    const key = this.#keys.get(connection);
    if (key !== undefined && key !== this.#current && this.#known.get(key)?.isStale !== false) this.#enqueue(key, { connection });
  }

  /** A server said over such a connection that a list changed, or may have. @returns false for one whose callers are offered what everybody is. */
  heard(connection: UpstreamConnection): boolean {
    const key = this.#keys.get(connection);
    if (key !== undefined) this.#enqueue(key, { connection });
    return key !== undefined;
  }

  /** A tool that only some clients are offered. */
  tool(name: string): ToolEntry | undefined {
    for (const { offer } of this.#known.values()) {
      const found = offer.lists.tools?.entries.find((entry) => entry['name'] === name);
      if (found !== undefined) return found as ToolEntry;
    }
    return undefined;
  }

  /** What everybody is offered was read again. */
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

  /** One set at a time. */
  async #readAll(): Promise<void> {
    for (let next = this.#queue.entries().next().value; next !== undefined; next = this.#queue.entries().next().value) {
      const [key, source] = next;
      this.#queue.delete(key);
      this.#current = key;
      try {
        await ('connection' in source ? this.#read(key, source.connection, undefined) : this.#readFor(key, source.caller));
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
      log.debug({ key, refused: taken.refused }, 'there is no connection to read over what clients with these capabilities are offered');
      return;
    }
    const { connection } = taken;
    try {
      // Such clients are served over the connection that serves everybody.
      if (connection === base() && !connection.dialect.declaresPerRequest) this.#learn(key, {}, { connection, caller, isStale: false });
      else await this.#read(key, connection, caller);
    } finally {
      taken.done();
    }
  }

  async #read(key: string, connection: UpstreamConnection, caller: OfferCaller | undefined): Promise<void> {
    const { limits, common, capabilities, log } = this.#options;
    const context = { capabilities: caller?.capabilities ?? {}, logLevel: undefined };
    const lists: Partial<Record<ListKind, unknown>> = {};
    let isWhole = true;
    await Promise.all(listKinds.map(async (kind) => {
      if (capabilities()[kind === 'resourceTemplates' ? 'resources' : kind] === undefined) return;
      const reading = await readList(kind, (method, params) => connection.ask(method, params, undefined, context), limits);
      const broken = 'failed' in reading ? reading.failed : reading.broken;
      if (broken === undefined && 'entries' in reading) lists[kind] = reading.entries;
      else isWhole = false;
      if (broken !== undefined && connection.isReady) log.warn({ problem: broken, key }, 'a list of the server could not be read for clients with capabilities');
    }));
    if (!connection.isReady) return;
    const found = differences(common(), lists as Partial<CatalogLists>);
    const before = this.#known.get(key)?.offer.lists ?? {};
    // A list that could not be read is as it was.
    const kept = Object.fromEntries(Object.entries(before).filter(([kind]) => !(kind in lists)));
    this.#learn(key, { ...kept, ...found }, { connection, caller, isStale: !isWhole });
  }

  #learn(key: string, lists: CallerOffer['lists'], more: Omit<Known, 'offer' | 'text'>): void {
    const offer: CallerOffer = { key, lists };
    const known: Known = { offer, text: JSON.stringify(offer), ...more };
    const before = this.#known.get(key);
    this.#known.delete(key);
    this.#known.set(key, known);
    while (this.#known.size > 1 && (this.#known.size > maxSets || this.#bytes() > this.#options.limits.maxCatalogBytes)) this.#known.delete(this.#known.keys().next().value as string);
    if (before?.text !== known.text) this.#options.changed();
  }

  /** Of all sets together: they stand in one record. */
  #bytes(): number {
    return [...this.#known.values()].reduce((bytes, { text }) => bytes + text.length, 0);
  }
}
