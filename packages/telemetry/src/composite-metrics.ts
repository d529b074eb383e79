/** Metrics of composite tools (`composites`). */
import { Instruments } from './instruments.ts';

export class CompositeMetrics extends Instruments {
  readonly #ended = this.counter(
    'omnibus_composite_runs_total',
    'Calls of composite tools that have ended, by tool and outcome: ok, tool_error (a step failed), cancelled, fault.',
    ['tool', 'outcome'],
  );
  readonly #calls = this.counter('omnibus_composite_calls_total', 'Calls that composite tools have made, by tool.', [
    'tool',
  ]);

  ended(tool: string, outcome: string, calls: number): void {
    this.#ended.inc({ tool, outcome });
    this.#calls.inc({ tool }, calls);
  }
}
