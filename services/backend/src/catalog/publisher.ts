/**
 * One server's entry in the catalogue, kept in step with the server.
 *
 * Invariant A3: a server's announced change is in the catalogue before the notification.
 */
import type { Bus } from '@omnibus/bus';
import { pageUris } from '@omnibus/catalog';
import {
  changeKinds,
  extensionsOf,
  listKinds,
  noAnnouncements,
  noLists,
  type CallCommand,
  type CatalogRecord,
  type ChangeKind,
  type JsonObject,
  type ListKind,
  type Principal,
  type PromptEntry,
  type ToolEntry,
  type ServerIntroduction,
  type ServerTrouble,
} from '@omnibus/protocol';
import { BaseLists } from './base-lists.ts';
import { CallerOffers } from './caller-offers.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import { OutputSchemas } from './output-schemas.ts';
import type { PublisherOptions } from './publisher-options.ts';
import { isSame, recordOfLost, recordOfUp, type RecordParts } from './record-of.ts';
import { unshaped } from './record-shape.ts';
import { RecordStore } from './record-store.ts';
import { RereadTimes } from './reread-times.ts';
import { FailedLists } from './failed-lists.ts';
import type { OwnerOffers } from './owner-offers.ts';

/** Pause between two readings: however often a server announces a change, it gets one request in this time. */
const readPauseMs = 250;

/** Milliseconds after which the lists read so far are published, so that a slow list does not delay others. */
const slowMs = 1_000;

const kindsOf: Record<ChangeKind, readonly ListKind[]> = {
  tools: ['tools'],
  prompts: ['prompts'],
  resources: ['resources', 'resourceTemplates'],
};

export class CatalogPublisher {
  readonly #options: PublisherOptions;
  readonly #store: RecordStore;
  #record: CatalogRecord;
  /** Why the base connection is down. */
  #problem = 'it is still connecting';
  #trouble: ServerTrouble | undefined;
  /** Lists to read again, which the running reading empties. */
  readonly #stale = new Set<ChangeKind>();
  /** The running reading; there is one at a time. */
  #reading: Promise<void> | undefined;
  #readAt = -Infinity;
  /** The instructions of the server, unchanged. */
  #instructions: string | undefined;
  /** Another adapter writes the record from now on, or none. */
  #isRetired = false;
  /** Tools of the record by name, which every call to a server looks up that wants arguments in headers. */
  #tools: ReadonlyMap<string, ToolEntry> = new Map();
  #prompts: ReadonlyMap<string, PromptEntry> = new Map();
  /** Whether a page shows results of some tool. */
  #hasPages = false;
  readonly #times: RereadTimes;
  readonly #failed: FailedLists;
  /** The lists for all, read over the base connection. */
  readonly #common: BaseLists;
  /** Offers to clients that declared capabilities, or to each user of a server that knows its callers. */
  readonly offers: CallerOffers | OwnerOffers;
  readonly owners: OwnerOffers | undefined;
  /** Callers that wait for the end of the next reading. */
  readonly #awaited: (() => void)[] = [];

  constructor(given: Omit<PublisherOptions, 'outputSchemas'>) {
    const options = { ...given, outputSchemas: new OutputSchemas() };
    this.#options = options;
    this.#store = new RecordStore({ ...options, record: () => this.#record });
    this.#common = new BaseLists(options);
    this.#failed = new FailedLists(options.wheel);
    const changed = (): void => this.#publishAgain();
    this.owners = options.listsOfUsers?.({
      ...options,
      changed,
      met: ({ revision, capabilities }) => {
        if (!options.connection().isReady) this.#record = { ...this.#record, revision, capabilities };
      },
    });
    this.offers =
      this.owners ??
      new CallerOffers({
        ...options,
        changed,
        base: options.connection,
        common: () => this.#common.lists,
        capabilities: () => this.#record.capabilities,
      });
    this.#times = new RereadTimes({ wheel: options.wheel, rereadMs: options.rereadMs, read: () => this.#readAgain() });
    if (options.filter !== undefined) options.filter.changed = changed;
    this.#record = {
      server: options.server,
      status: 'down',
      problem: 'it is still connecting',
      capabilities: {},
      lists: noLists,
      announcements: noAnnouncements,
      ...(this.owners === undefined ? {} : { owners: {} }),
    };
  }

  /** Number of users so far to whom the server shows no lists yet. */
  get waiting(): number {
    return this.owners?.waiting ?? (this.#options.standIn() === undefined ? 0 : 1);
  }

  get record(): CatalogRecord {
    return this.#record;
  }

  /** @param before the record of the server under its previous configuration. */
  async open(bus: Bus, before: CatalogRecord | undefined): Promise<void> {
    // What users were offered may have been in others' names.
    if (before !== undefined && before.owners === undefined && this.owners === undefined) {
      this.#record = { ...before, status: 'down', problem: this.#record.problem as string };
      this.#common.begin(unshaped(before.lists));
      this.offers.begin(before.offers ?? []);
      this.#index(before);
    }
    await Promise.all([this.#store.open(bus), this.#options.filter?.open()]);
  }

  /** Reads all lists of a server after its handshake. Resolves when they are published. */
  async introduce({ revision, capabilities, instructions }: ServerIntroduction): Promise<void> {
    this.#record = { ...this.#record, revision, capabilities };
    this.#instructions = instructions;
    for (const kind of changeKinds) this.#stale.add(kind);
    this.#readAt = -Infinity;
    await this.#untilRead();
  }

  /** The server has announced that a list changed. */
  announced(kind: ChangeKind): void {
    this.#record = {
      ...this.#record,
      announcements: {
        ...this.#record.announcements,
        [kind]: Math.max(Date.now(), this.#record.announcements[kind] + 1),
      },
    };
    this.#stale.add(kind);
    void this.#readStale();
  }

  /** The server has announced a change over a connection of single callers, or may have. */
  announcedTo(connection: UpstreamConnection): void {
    if (!this.offers.heard(connection)) this.missed();
  }

  /** Announcements may have been missed. */
  missed(): void {
    this.#times.missed();
  }

  /** A client uses the server. */
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

  /** Whether the extensions of callers with these capabilities matter to a server of an older era, as far as that is known. */
  caresFor(capabilities: JsonObject): boolean {
    const declared = extensionsOf(this.#record.capabilities);
    return (
      this.owners !== undefined ||
      this.#hasPages ||
      Object.keys(extensionsOf(capabilities)).some((name) => Object.hasOwn(declared, name)) ||
      (this.offers instanceof CallerOffers &&
        this.offers.differsFor(capabilities, this.#options.connection().dialect.sharing.servesEverybody))
    );
  }

  /** A tool as a caller is offered it. */
  tool(name: string, principal: Principal): ToolEntry | undefined {
    const listed = this.#tools.get(name);
    const found = this.offers.tool(name, listed, principal);
    return found === undefined || found === listed ? found : (this.#options.shape?.tool(found) ?? found);
  }

  /** The called tool as its caller is offered it; undefined for another call, and for a tool that the server does not list. */
  toolOf({ method, params: { name }, context: { principal } }: CallCommand): ToolEntry | undefined {
    if (method !== 'tools/call' || typeof name !== 'string') return undefined;
    const listed = this.#tools.get(name);
    return listed !== undefined && this.owners === undefined ? listed : this.tool(name, principal);
  }

  prompt(name: string): PromptEntry | undefined {
    return this.#prompts.get(name);
  }

  /** The server sends invalid messages during the connection attempt. */
  async stammered(problem: string): Promise<void> {
    if (this.#record.status !== 'down') return;
    this.#problem = problem;
    await this.#publishLost();
  }

  /** The server fails requests, and the next handshake shows whether it is down. Its lists stay until then. */
  async doubted(problem: string): Promise<void> {
    this.#times.stop();
    this.#problem = problem;
    this.#trouble = undefined;
    await this.#publish({ ...this.#record, problem });
  }

  async lost(problem: string, trouble?: ServerTrouble): Promise<void> {
    this.#times.stop();
    this.#problem = problem;
    this.#trouble = trouble;
    await this.#publishLost();
  }

  /** Writes the record without the base connection. */
  async #publishLost(): Promise<void> {
    await this.#publish(recordOfLost(this.#record, { problem: this.#problem, trouble: this.#trouble }, this.#parts));
  }

  get #parts(): RecordParts {
    const { filter, shape, standIn, isToldCallers } = this.#options;
    return {
      filter,
      shape,
      isToldCallers,
      common: this.#common,
      offers: this.offers,
      owners: this.owners,
      standIn: standIn(),
    };
  }

  /** Writes nothing more, since another adapter does from now on. */
  retire(): void {
    this.#isRetired = true;
    this.offers.stop();
    this.#options.filter?.stop();
    this.#store.retire();
    this.#times.stop();
    this.#failed.stop();
  }

  /** The worker is leaving, and others may have the server too. */
  async leave(): Promise<void> {
    if (this.#isRetired) return;
    this.#record = { ...this.#record, hasLeft: true };
    await this.#store.write();
    this.retire();
  }

  /** The server was removed from the configuration. */
  async remove(): Promise<void> {
    this.retire();
    await this.#store.remove();
  }

  /** Publishes the record again, for session workers that counted this worker as gone. */
  async sayAgain(): Promise<void> {
    await this.#store.write();
  }

  /** Reads stale lists and publishes them; changes that come meanwhile are read in the next round. Resolves when nothing is stale. */
  #readStale(): Promise<void> {
    if (this.#reading !== undefined) return this.#reading;
    const reading = this.#readRounds()
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'the lists of the server could not be read');
      })
      .finally(() => {
        if (this.#reading === reading) this.#reading = undefined;
      });
    this.#reading = reading;
    return reading;
  }

  /** Resolves when the lists that are stale now have been read, even if the server goes on announcing changes. */
  #untilRead(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.push(resolve);
    void this.#readStale().then(resolve);
    return promise;
  }

  async #readRounds(): Promise<void> {
    const { connection, wheel } = this.#options;
    while (!this.#isRetired) {
      if (this.#stale.size === 0 || !connection().isReady) {
        // At once: a list that becomes stale before the promise settles needs a reading of its own.
        this.#reading = undefined;
        return;
      }
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
    const reading = Promise.all(
      [...pending].map((kind) =>
        this.#common.read(kind, base, this.#record.capabilities).then(() => pending.delete(kind)),
      ),
    );
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

  /** Publishes the base connection's lists, unless they are unchanged. */
  async #publishBase(): Promise<void> {
    await this.#publish(recordOfUp(this.#record, this.#instructions, this.#parts));
  }

  #publishAgain(): void {
    if (this.owners !== undefined && !this.#options.connection().isReady) void this.#publishLost();
    else if (this.#record.status === 'up') void this.#publishBase();
  }

  /** Reads failed lists again later. */
  #retryFailed(): void {
    const { unread } = this.#common;
    this.#failed.wereRead(unread.length > 0, () => {
      for (const kind of changeKinds) if (kindsOf[kind].some((each) => unread.includes(each))) this.#stale.add(kind);
      void this.#readStale();
    });
  }

  #index({ lists: { tools, prompts } }: CatalogRecord): void {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#prompts = new Map(prompts.map((prompt) => [prompt.name, prompt]));
    this.#hasPages = tools.some((tool) => pageUris(tool).length > 0);
  }

  /** Resolves when the record is written, or cannot be. */
  async #publish(record: CatalogRecord): Promise<void> {
    if (this.#isRetired || isSame(record, this.#record, this.#store.written)) return;
    this.#record = record;
    this.#options.metrics.upstream.leftOut(record.server, record.leftOut ?? 0);
    if (this.owners !== undefined || record.wantsSignIn === true)
      this.#options.metrics.upstream.signInsWanted(record.server, this.waiting);
    this.#index(record);
    for (const kind of listKinds)
      this.#options.metrics.upstream.entries(
        record.server,
        kind,
        record.status === 'up' ? record.lists[kind].length : 0,
      );
    await this.#store.write();
  }
}
