/** Shared resources of all connections of one process: the budget of connections, the budget of bytes read at a time, and the HTTP agents. */
import type { ServerConfig } from '@omnibus/config';
import { RepairCounts, type Limits, type ServerName } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Dispatcher } from 'undici';
import { Agents } from '../transport/agents.ts';
import { Diary } from '../transport/diary.ts';
import { ReadingBudget } from '../transport/reading-budget.ts';
import { ServerTls } from '../transport/server-tls.ts';
import { ConnectionBudget } from './budget.ts';

export class SharedMeans {
  readonly budget: ConnectionBudget;
  readonly reading: ReadingBudget;
  readonly agents = new Agents();
  readonly #diaries = new Map<string, Diary>();
  readonly #repairs = new Map<ServerName, RepairCounts>();
  readonly #metrics: Metrics;

  constructor(limits: Limits, metrics: Metrics) {
    this.#metrics = metrics;
    this.budget = new ConnectionBudget(limits);
    this.reading = new ReadingBudget({
      maxBytes: limits.maxReadingBytes,
      onWait: () => metrics.upstream.readingWaits.inc(),
    });
    metrics.beforeScrape(() => {
      metrics.upstream.callerConnections.set(this.budget.connections);
      metrics.upstream.callerPrograms.set(this.budget.programs);
      metrics.upstream.readingBytes.set(this.reading.bytes);
    });
  }

  /** The pool of connections to a server. @param baseFolder from which relative paths start. */
  dispatcherOf(server: ServerName, config: ServerConfig, baseFolder: string): Dispatcher {
    return this.agents.of(config.addresses, ServerTls.of(server, config, baseFolder), config.proxy);
  }

  /** What becomes of a server, as long as it is configured. */
  diaryOf(server: string): Diary {
    const diary = this.#diaries.get(server) ?? new Diary();
    this.#diaries.set(server, diary);
    return diary;
  }

  /** Repairs of a server's messages, as long as it is configured. */
  repairsOf(server: ServerName): RepairCounts {
    const counts =
      this.#repairs.get(server) ?? new RepairCounts((repair) => this.#metrics.upstream.repaired(server, repair));
    this.#repairs.set(server, counts);
    return counts;
  }

  forget(server: ServerName): void {
    this.#diaries.delete(server);
    this.#repairs.delete(server);
  }

  async close(): Promise<void> {
    await this.agents.destroy();
  }
}
