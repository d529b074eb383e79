/**
 * One server's entry in the catalogue, kept in step with the server.
 *
 * Invariant A3: what a server announced is in the catalogue before anyone hears of it.
 */
import type { Bus } from '@omnibus/bus';
import {
  changeKinds, listKinds, noAnnouncements, noLists,
  type CatalogRecord, type ChangeKind, type Limits, type ListKind, type PromptEntry, type ServerName, type ToolEntry, type WorkerId, type ServerIntroduction,
} from '@omnibus/protocol';
import { backoffMs, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { BaseLists } from './base-lists.ts';
import { CallerOffers } from './caller-offers.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { Definitions } from './definitions/definitions.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import { RecordStore } from './record-store.ts';
import { RereadTimes } from './reread-times.ts';
import { orSignInOffer } from './sign-in-offer.ts';

export interface PublisherOptions {
  readonly server: ServerName;
  readonly worker: WorkerId;
  readonly connection: () => UpstreamConnection;
  readonly connections: () => ConnectionPool;
  /** Undefined where nothing is held against what was approved. */
  readonly definitions: Definitions | undefined;
  readonly wantsSignIn: () => boolean;
  /** The option `rereadLists` of the server. */
  readonly rereadMs: number;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Between two readings: however often a server says that a list changed, it is asked once in this time. */
const readPauseMs = 250;

/** Lists that take longer hold up no others: those that are there are shown. */
const slowMs = 1_000;
/** Between two readings of a list that cannot be read: a server that is only starting is soon up, one that is broken is not pressed. */
const failedPause = { minMs: 1_000, maxMs: 60_000 };

const kindsOf: Record<ChangeKind, readonly ListKind[]> = { tools: ['tools'], prompts: ['prompts'], resources: ['resources', 'resourceTemplates'] };

export class CatalogPublisher {
  readonly #options: PublisherOptions;
  readonly #store: RecordStore;
  #record: CatalogRecord;
  /** Lists to read again; emptied by the one reading that runs. */
  readonly #stale = new Set<ChangeKind>();
  /** The reading that runs: one at a time. */
  #reading: Promise<void> | undefined;
  #readAt = -Infinity;
  /** As the server says them. */
  #instructions: string | undefined;
  /** Another adapter writes the record from now on, or nobody. */
  #isRetired = false;
  /** Tools of the record by name: looked at with every call to a server that wants arguments in headers. */
  #tools: ReadonlyMap<string, ToolEntry> = new Map();
  #prompts: ReadonlyMap<string, PromptEntry> = new Map();
  readonly #times: RereadTimes;
  /** Readings in a row in which one failed. */
  #failures = 0;
  /** Set while such lists are going to be read again. */
  #retrying: Deadline | undefined;
  /** What the server says to any client, by its base connection. */
  readonly #common: BaseLists;
  /** What it offers to clients that declared something. */
  readonly offers: CallerOffers;
  /** Who waits for the next reading to end. */
  readonly #awaited: (() => void)[] = [];

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#store = new RecordStore({ ...options, record: () => this.#record });
    this.#common = new BaseLists(options);
    this.offers = new CallerOffers({
      ...options, base: options.connection,
      common: () => this.#common.lists,
      capabilities: () => this.#record.capabilities,
      changed: () => this.#publishAgain(),
    });
    this.#times = new RereadTimes({ wheel: options.wheel, rereadMs: options.rereadMs, read: () => this.#readAgain() });
    if (options.definitions !== undefined) options.definitions.changed = () => this.#publishAgain();
    this.#record = { server: options.server, status: 'down', problem: 'it is still connecting', capabilities: {}, lists: noLists, announcements: noAnnouncements };
  }

  get record(): CatalogRecord {
    return this.#record;
  }

  /** @param before what was known of the server under its configuration before. */
  async open(bus: Bus, before: CatalogRecord | undefined): Promise<void> {
    if (before !== undefined) {
      this.#record = { ...before, status: 'down', problem: this.#record.problem as string };
      this.#common.begin(before.lists);
      this.offers.begin(before.offers ?? []);
      this.#index(before);
    }
    await Promise.all([this.#store.open(bus), this.#options.definitions?.open()]);
  }

  /** Reads all lists of a server that has just introduced itself. Resolves when they are published. */
  async introduce({ revision, capabilities, instructions }: ServerIntroduction): Promise<void> {
    this.#record = { ...this.#record, revision, capabilities };
    this.#instructions = instructions;
    for (const kind of changeKinds) this.#stale.add(kind);
    this.#readAt = -Infinity;
    await this.#untilRead();
  }

  /** The server has said that a list changed. */
  announced(kind: ChangeKind): void {
    this.#record = { ...this.#record, announcements: { ...this.#record.announcements, [kind]: Math.max(Date.now(), this.#record.announcements[kind] + 1) } };
    this.#stale.add(kind);
    void this.#readStale();
  }

  /** The server said over a connection of some callers' own that a list changed, or what it said there may have been missed. */
  announcedTo(connection: UpstreamConnection): void {
    if (!this.offers.heard(connection)) this.missed();
  }

  /** Changes may have been missed. */
  missed(): void {
    this.#times.missed();
  }

  /** Somebody uses the server. */
  wanted(): void {
    this.#times.wanted();
  }

  #readAgain(): void {
    for (const kind of changeKinds) this.#stale.add(kind);
    void this.#readStale();
  }

  /** Resolves when the lists of a kind have been read again. */
  async refresh(kind: ChangeKind): Promise<void> {
    this.#stale.add(kind);
    await this.#untilRead();
  }

  tool(name: string): ToolEntry | undefined {
    return this.#tools.get(name) ?? this.offers.tool(name);
  }

  prompt(name: string): PromptEntry | undefined {
    return this.#prompts.get(name);
  }

  async lost(problem: string): Promise<void> {
    this.#times.stop();
    await this.#publish(orSignInOffer({ ...this.#record, status: 'down', problem }, this.#options.wantsSignIn()));
  }

  /** Writes nothing more: another adapter does from now on. */
  retire(): void {
    this.#isRetired = true;
    this.offers.stop();
    this.#options.definitions?.stop();
    this.#store.retire();
    this.#times.stop();
    this.#retrying?.cancel();
  }

  /** The worker leaves, and others may have the server too. */
  async leave(): Promise<void> {
    if (this.#isRetired) return;
    this.#record = { ...this.#record, hasLeft: true };
    await this.#store.write();
    this.retire();
  }

  /** The server left the configuration. */
  async remove(): Promise<void> {
    this.retire();
    await this.#store.remove();
  }

  /** Whoever took this worker for gone is told that it is not. */
  async sayAgain(): Promise<void> {
    await this.#store.write();
  }

  /** Reads what is stale and publishes it; changes that come meanwhile are read in the next round. Resolves when nothing is stale. */
  #readStale(): Promise<void> {
    this.#reading ??= this.#readRounds().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the lists of the server could not be read');
    }).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Resolves when what is stale now has been read: a server that announces changes without end holds nobody up. */
  #untilRead(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.push(resolve);
    void this.#readStale().then(resolve);
    return promise;
  }

  async #readRounds(): Promise<void> {
    const { connection, wheel } = this.#options;
    while (!this.#isRetired) {
      if (this.#stale.size === 0 || !connection().isReady) return;
      const pauseMs = this.#readAt + readPauseMs - performance.now();
      if (pauseMs > 0) {
        await new Promise<void>((resolve) => {
          wheel.schedule(pauseMs, resolve);
        });
      }
      // A reading that takes long is followed by a pause too.
      await this.#readBase();
      this.#readAt = performance.now();
    }
  }

  async #readBase(): Promise<void> {
    const base = this.#options.connection();
    const kinds = [...this.#stale];
    const awaited = this.#awaited.splice(0);
    this.#stale.clear();
    const pending = new Set(kinds.flatMap((kind) => kindsOf[kind]));
    const reading = Promise.all([...pending].map((kind) => this.#common.read(kind, base, this.#record.capabilities).then(() => pending.delete(kind))));
    if (!(await this.#options.wheel.isDoneWithin(slowMs, reading)) && base.isReady) {
      this.#common.await(pending);
      await this.#publishBase();
      for (const resolve of awaited) resolve();
    }
    await reading;
    if (base.isReady) {
      this.#retryFailed();
      await this.#publishBase(); // A3
      this.offers.baseRead();
      if (this.#stale.size === 0) this.#times.wasRead(this.#common.ttlMs);
    }
    for (const resolve of awaited) resolve();
  }

  /** Writes what the base connection offers, unless that is known already. */
  async #publishBase(): Promise<void> {
    const { problem: _problem, notes: _notes, unread: _unread, offers: _offers, held: _held, instructions: _shown, ...record } = this.#record;
    const instructions = this.#instructions;
    const offers = this.offers.all;
    const { problem, notes, unread } = this.#common;
    const read: CatalogRecord = {
      ...record, status: 'up', lists: this.#common.lists, ...(instructions === undefined ? {} : { instructions }),
      ...(problem === undefined ? {} : { problem }), ...(Object.keys(notes).length === 0 ? {} : { notes }), ...(unread.length === 0 ? {} : { unread }), ...(offers.length === 0 ? {} : { offers }),
    };
    await this.#publish(orSignInOffer(this.#options.definitions?.judged(read) ?? read, this.#options.wantsSignIn()));
  }

  #publishAgain(): void {
    if (this.#record.status === 'up') void this.#publishBase();
  }

  /** Has the lists that could not be read read again later. */
  #retryFailed(): void {
    this.#retrying?.cancel();
    const { unread } = this.#common;
    if (unread.length === 0) {
      this.#failures = 0;
      return;
    }
    this.#retrying = this.#options.wheel.schedule(backoffMs(this.#failures, failedPause, Math.random()), () => {
      for (const kind of changeKinds) if (kindsOf[kind].some((each) => unread.includes(each))) this.#stale.add(kind);
      void this.#readStale();
    });
    this.#failures += 1;
  }

  #index({ lists: { tools, prompts } }: CatalogRecord): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#prompts = new Map(prompts.map((prompt) => [prompt.name, prompt]));
  }

  /** Resolves when it is written, or cannot be. */
  async #publish({ leftOut: _leftOut, ...record }: CatalogRecord): Promise<void> {
    if (this.#isRetired || isSame(record, this.#record, this.#store.written)) return;
    const { leftOut } = this.#common;
    this.#record = leftOut === 0 ? record : { ...record, leftOut };
    this.#options.metrics.upstream.leftOut(record.server, leftOut);
    this.#index(record);
    for (const kind of listKinds) this.#options.metrics.upstream.entries(record.server, kind, record.status === 'up' ? record.lists[kind].length : 0);
    await this.#store.write();
  }
}

/** Whether a record says nothing new. Lists that read the same are the same objects. */
function isSame(record: CatalogRecord, known: CatalogRecord, written: CatalogRecord | undefined): boolean {
  if (known !== written || record.lists !== known.lists || record.announcements !== known.announcements || record.status !== known.status) return false;
  const rest = ({ lists: _lists, leftOut: _leftOut, ...more }: CatalogRecord): string => JSON.stringify(Object.entries(more).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return rest(record) === rest(known);
}
