/** Metrics of scripts that models run (`listing: code`). */
import type { Registry } from 'prom-client';
import { Instruments } from './instruments.ts';

export class CodeMetrics extends Instruments {
  readonly #ended = this.counter(
    'omnibus_code_runs_total',
    'Scripts of run_code that have ended, by outcome: ok, tool_error (the script failed or reached a bound), cancelled, fault; or busy: refused by code.runs or code.runsPerCaller.',
    ['outcome'],
  );
  readonly running = this.gauge('omnibus_code_runs', 'Scripts of run_code that run now.');
  readonly #seconds = this.histogram('omnibus_code_run_seconds', 'Duration of scripts of run_code.');
  readonly #calls = this.counter('omnibus_code_calls_total', 'Calls of tools that scripts of run_code have made.');

  constructor(registry: Registry) {
    super(registry);
    this.running.set(0);
  }

  ended(outcome: string): void {
    this.#ended.inc({ outcome });
  }

  took(durationMs: number, calls: number): void {
    this.#seconds.observe(durationMs / 1_000);
    this.#calls.inc(calls);
  }
}
