/** Metrics of the audit. A sink is named by its kind and its number in the configuration. */
import { Instruments } from './instruments.ts';

export class AuditMetrics extends Instruments {
  readonly records = this.counter('omnibus_audit_records_total', 'Records that this process has added to its chain.');
  readonly #written = this.counter('omnibus_audit_written_total', 'Records that a sink has taken.', ['sink']);
  readonly #dropped = this.counter(
    'omnibus_audit_dropped_total',
    'Records that a sink will never have because the ring was full. Sink "all": records that no sink has, which the chain notes as a gap; otherwise records that an optional sink has missed.',
    ['sink'],
  );
  readonly #failures = this.counter(
    'omnibus_audit_failures_total',
    'Times that a sink began to fail, that a checkpoint could not be written (sink "checkpoint"), or that another program wrote under the name of this process (sink "chain").',
    ['sink'],
  );
  readonly #behind = this.gauge('omnibus_audit_behind', 'Records that wait for a sink (audit.ring).', ['sink']);
  readonly #failing = this.gauge(
    'omnibus_audit_failing',
    '1 while a sink accepts no records, or does not confirm them, else 0.',
    ['sink'],
  );
  readonly ring = this.gauge('omnibus_audit_ring', 'Records that may wait for sinks (audit.ring).');
  readonly refusals = this.counter(
    'omnibus_audit_refusals_total',
    'Calls that were not sent because no record of them could be stored (audit.strict).',
  );

  /** @param sinks of the configuration, by kind and number. */
  describe(sinks: readonly string[]): void {
    for (const sink of sinks) {
      this.#written.inc({ sink }, 0);
      this.#failures.inc({ sink }, 0);
      this.#dropped.inc({ sink }, 0);
    }
    this.#dropped.inc({ sink: 'all' }, 0);
  }

  written(sink: string, records: number): void {
    this.#written.inc({ sink }, records);
  }

  /** @param sink "all" for records that the chain counts as a gap. */
  dropped(sink: string, records: number): void {
    this.#dropped.inc({ sink }, records);
  }

  failed(sink: string): void {
    this.#failures.inc({ sink });
  }

  behind(sink: string, records: number, isFailing: boolean): void {
    this.#behind.set({ sink }, records);
    this.#failing.set({ sink }, isFailing ? 1 : 0);
  }
}
