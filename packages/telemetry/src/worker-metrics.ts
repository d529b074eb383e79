/** Metrics of a supervisor of workers (`omnibus serve --workers`). */
import { Instruments } from './instruments.ts';

export class WorkerMetrics extends Instruments {
  readonly restarts = this.counter(
    'omnibus_worker_restarts_total',
    'Workers that have ended unexpectedly and were started again (`serve --workers`).',
  );
}
