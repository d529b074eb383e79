/**
 * One server's entry in the catalogue, kept in step with the server.
 *
 * Invariant A3: what a server announced is in the catalogue before anyone hears of it.
 */
import type { KeyValue } from '@omnibus/bus';
import {
  changeKinds, isObject, listKinds, noAnnouncements, noLists,
  type CatalogLists, type CatalogRecord, type ChangeKind, type Limits, type ListKind, type ServerName, type ToolEntry,
} from '@omnibus/protocol';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { readList } from './catalog-reader.ts';
import type { UpstreamConnection } from './connection.ts';
import type { ServerIntroduction } from './dialect/legacy/handshake.ts';

export interface CatalogKeeperOptions {
  readonly server: ServerName;
  readonly connection: () => UpstreamConnection;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** A server that says its lists are old at once is not asked all the time. */
const minTtlMs = 30_000;
const rewriteMs = 2_000;

const kindsOf: Record<ChangeKind, readonly ListKind[]> = { tools: ['tools'], prompts: ['prompts'], resources: ['resources', 'resourceTemplates'] };

export class CatalogKeeper {
  readonly #options: CatalogKeeperOptions;
  #catalog: KeyValue<CatalogRecord> | undefined;
  #record: CatalogRecord;
  /** Lists to read again; emptied by the one reading that runs. */
  readonly #stale = new Set<ChangeKind>();
  #isReading = false;
  /** Of the record, by name: looked at with every call to a server that wants arguments in headers. */
  #tools: ReadonlyMap<string, ToolEntry> = new Map();
  /** Set while a list is going to be read again because it ages. */
  #rereading: Deadline | undefined;
  /** Set while the record is to be written once more. */
  #rewriting: Deadline | undefined;
  /** What the server says to any client, by its base connection. */
  #common: CatalogLists = noLists;
  /** What it offers besides to clients that can do more: some servers have tools only for clients they may ask something. */
  #more: CatalogLists = noLists;

  constructor(options: CatalogKeeperOptions) {
    this.#options = options;
    this.#record = { server: options.server, status: 'down', problem: 'it is still connecting', capabilities: {}, lists: noLists, announcements: noAnnouncements };
  }

  get record(): CatalogRecord {
    return this.#record;
  }

  open(catalog: KeyValue<CatalogRecord>): void {
    this.#catalog = catalog;
  }

  /** Reads all lists of a server that has just introduced itself. Resolves when they are published. */
  async introduce({ revision, capabilities, instructions }: ServerIntroduction): Promise<void> {
    this.#record = { ...this.#record, revision, capabilities, ...(instructions === undefined ? {} : { instructions }) };
    for (const kind of changeKinds) this.#stale.add(kind);
    await this.#readStale();
  }

  /** The server has said that a list changed. */
  announced(kind: ChangeKind): void {
    this.#record = { ...this.#record, announcements: { ...this.#record.announcements, [kind]: Math.max(Date.now(), this.#record.announcements[kind] + 1) } };
    this.#stale.add(kind);
    void this.#readStale();
  }

  /** Reads everything again, because changes may have been missed. */
  readAgain(): void {
    for (const kind of changeKinds) this.#stale.add(kind);
    void this.#readStale();
  }

  /** Resolves when the lists of a kind have been read again. */
  async refresh(kind: ChangeKind): Promise<void> {
    this.#stale.add(kind);
    await this.#readStale();
  }

  tool(name: string): ToolEntry | undefined {
    return this.#tools.get(name);
  }

  #readAgainAfter(ms: number): void {
    if (this.#rereading !== undefined) return;
    this.#rereading = this.#options.wheel.schedule(ms, () => {
      this.#rereading = undefined;
      this.readAgain();
    });
  }

  async lost(problem: string): Promise<void> {
    await this.#publish({ ...this.#record, status: 'down', problem });
  }

  async remove(): Promise<void> {
    await this.#catalog?.delete(this.#options.server);
  }

  /** Reads what is stale and publishes it; changes that come meanwhile are read in the next round. */
  async #readStale(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#stale.size > 0 && this.#options.connection().isReady) {
        const kinds = [...this.#stale];
        this.#stale.clear();
        const lists = await this.#readLists(kinds.flatMap((kind) => kindsOf[kind]), this.#options.connection());
        if (!this.#options.connection().isReady) return;
        this.#common = { ...this.#common, ...lists };
        const { problem: _problem, ...record } = this.#record;
        await this.#publish({ ...record, status: 'up', lists: this.#merged() }); // A3
      }
    } finally {
      this.#isReading = false;
    }
  }

  /** Reads what a connection with capabilities of its own is offered; what the base is not offered is added. */
  async readMore(connection: UpstreamConnection): Promise<void> {
    const lists = await this.#readLists(listKinds, connection);
    const before = JSON.stringify(this.#more);
    this.#more = { ...this.#more, ...lists };
    if (this.#record.status === 'up' && JSON.stringify(this.#more) !== before) await this.#publish({ ...this.#record, lists: this.#merged() });
  }

  #merged(): CatalogLists {
    const [common, more] = [this.#common, this.#more];
    return {
      tools: merge(common.tools, more.tools, ({ name }) => name),
      prompts: merge(common.prompts, more.prompts, ({ name }) => name),
      resources: merge(common.resources, more.resources, ({ uri }) => uri),
      resourceTemplates: merge(common.resourceTemplates, more.resourceTemplates, ({ uriTemplate }) => uriTemplate),
    };
  }

  async #readLists(kinds: readonly ListKind[], connection: UpstreamConnection): Promise<Partial<CatalogLists>> {
    const { log, limits } = this.#options;
    const { capabilities } = this.#record;
    const readings = await Promise.all(kinds.map(async (kind) => {
      const capability = capabilities[kind === 'resourceTemplates' ? 'resources' : kind];
      if (capability === undefined) return [kind, []] as const;
      const reading = await readList(kind, (method, params) => connection.ask(method, params), limits);
      if ('failed' in reading) {
        log.warn({ problem: reading.failed }, 'a list of the server could not be read');
        return undefined;
      }
      if (reading.problems.length > 0) log.warn({ problems: reading.problems.slice(0, 10), count: reading.problems.length }, 'entries of a list were left out');
      // Who announces changes need not be asked; of the others, what has a time to live is read again after it.
      if (reading.ttlMs !== undefined && !(isObject(capability) && capability['listChanged'] === true)) this.#readAgainAfter(Math.max(reading.ttlMs, minTtlMs));
      return [kind, reading.entries] as const;
    }));
    return Object.fromEntries(readings.filter((reading) => reading !== undefined));
  }

  /** Resolves when it is written, or cannot be. */
  async #publish(record: CatalogRecord): Promise<void> {
    this.#record = record;
    this.#tools = new Map(record.lists.tools.map((tool) => [tool.name, tool]));
    for (const kind of listKinds) this.#options.metrics.catalogEntries(record.server, kind, record.status === 'up' ? record.lists[kind].length : 0);
    await this.#write();
  }

  /** Writes what is known now. What cannot be written, because the store is full or has no leader, is written later. */
  async #write(): Promise<void> {
    const record = this.#record;
    try {
      await this.#catalog?.put(record.server, record);
    } catch (error) {
      this.#options.log.error({ err: error }, 'the catalogue could not be written; it is tried again');
      if (this.#rewriting !== undefined) return;
      this.#rewriting = this.#options.wheel.schedule(rewriteMs, () => {
        this.#rewriting = undefined;
        void this.#write();
      });
    }
  }
}

/** The common entries, then those only the other list has. */
function merge<Entry>(common: readonly Entry[], more: readonly Entry[], identityOf: (entry: Entry) => string): readonly Entry[] {
  const known = new Set(common.map(identityOf));
  const added = more.filter((entry) => !known.has(identityOf(entry)));
  return added.length === 0 ? common : [...common, ...added];
}
