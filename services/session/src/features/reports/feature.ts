/** Calls as taps, the log and the list of failures see them. */
import type { WorkerId } from '@omnibus/protocol';
import { Failures, Tap, type Logger } from '@omnibus/telemetry';
import type { SessionFeature } from '../../feature.ts';
import { CallReports, type CallReportOptions } from './call-reports.ts';

export interface ReportsOptions {
  /** Default: one that nothing can watch, for tests. */
  readonly tap?: Tap | undefined;
  readonly failures?: Failures | undefined;
  readonly log: Logger;
  readonly config: { readonly log: { readonly calls: CallReportOptions['level'] } };
}

export function reports({
  tap = noTap(),
  failures = new Failures(),
  log,
  config,
}: ReportsOptions): readonly SessionFeature[] {
  const calls = new CallReports({ tap, failures, log, level: config.log.calls });
  return [
    { name: 'failures', watchers: [calls.ofFailures] },
    {
      name: 'taps',
      get isOn() {
        return calls.reportsAll;
      },
      watchers: [calls.ofAll],
      start: ({ changed }) => tap.whenTurned(changed),
    },
  ];
}

function noTap(): Tap {
  const nothing = (): void => undefined;
  return new Tap({
    process: 'nobody' as WorkerId,
    clock: { schedule: () => ({ cancel: nothing }) },
    say: nothing,
    mayPayloads: () => false,
    metrics: { watches: { set: nothing }, dropped: { inc: nothing } },
  });
}
