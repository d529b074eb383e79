/** Writes one server's record to the store. A record that cannot be written, because the store is full or has no leader, is written later. */
import { catalogBucket, type Bus, type KeyValue } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { catalogKey, type CatalogRecord, type ServerName, type WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

export interface RecordStoreOptions {
  readonly server: ServerName;
  readonly worker: WorkerId;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** The present record. */
  readonly record: () => CatalogRecord;
}

const rewriteMs = 2_000;

export class RecordStore {
  readonly #options: RecordStoreOptions;
  #catalog: KeyValue<CatalogRecord> | undefined;
  /** The record in the store, as far as is known. */
  #written: CatalogRecord | undefined;
  /** Set while the record waits to be written again. */
  #rewriting: Deadline | undefined;
  #isRetired = false;

  constructor(options: RecordStoreOptions) {
    this.#options = options;
  }

  async open(bus: Bus): Promise<void> {
    this.#catalog = await bus.keyValue(catalogBucket);
  }

  get written(): CatalogRecord | undefined {
    return this.#written;
  }

  /** Resolves when the record is written, or cannot be. */
  async write(): Promise<void> {
    const { record: current, worker, wheel, log } = this.#options;
    if (this.#isRetired) return;
    const record = current();
    try {
      await this.#catalog?.put(catalogKey(record.server, worker), record);
      this.#written = record;
    } catch (error) {
      log.error({ err: error }, 'the catalogue could not be written; it is tried again');
      if (this.#rewriting !== undefined) return;
      this.#rewriting = wheel.schedule(rewriteMs, () => {
        this.#rewriting = undefined;
        void this.write();
      });
    }
  }

  /** Writes nothing more. */
  retire(): void {
    this.#isRetired = true;
    this.#rewriting?.cancel();
  }

  async remove(): Promise<void> {
    const { server, worker } = this.#options;
    await this.#catalog?.delete(catalogKey(server, worker));
  }
}
