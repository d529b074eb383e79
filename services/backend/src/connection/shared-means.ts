/** What connections to all servers of one process share: how many there may be, how much is read at once, and what carries requests. */
import type { Limits } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { Agents } from '../transport/agents.ts';
import { ReadingBudget } from '../transport/reading-budget.ts';
import { ConnectionBudget } from './budget.ts';

export class SharedMeans {
  readonly budget: ConnectionBudget;
  readonly reading: ReadingBudget;
  readonly agents = new Agents();

  constructor(limits: Limits, metrics: Metrics) {
    this.budget = new ConnectionBudget(limits);
    this.reading = new ReadingBudget({ maxBytes: limits.maxReadingBytes, onWait: () => metrics.upstream.readingWaits.inc() });
    metrics.beforeScrape(() => {
      metrics.upstream.callerConnections.set(this.budget.connections);
      metrics.upstream.callerPrograms.set(this.budget.programs);
      metrics.upstream.readingBytes.set(this.reading.bytes);
    });
  }

  async close(): Promise<void> {
    await this.agents.destroy();
  }
}
