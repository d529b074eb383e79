/**
 * The alerts. `deploy/prometheus/alerts.json` is made from this by `npm run docs`; each has a page in `docs/runbooks/` and a
 * test by `promtool` that it fires when it should and is silent when not.
 */
interface Alert {
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  readonly expr: string;
  readonly for: string;
  readonly summary: string;
  readonly description: string;
}

const failing = 'sum by (server) (rate(omnibus_upstream_calls_total{result=~"error|fault"}[5m])) / sum by (server) (rate(omnibus_upstream_calls_total[5m]))';

export const alerts: readonly Alert[] = [
  {
    name: 'OmnibusServerDown', severity: 'critical', for: '2m', expr: 'max by (server) (omnibus_upstream_state{state="ready"}) == 0',
    summary: 'Server {{ $labels.server }} is down', description: 'No process is connected to it, and its tools have left every list.',
  },
  {
    name: 'OmnibusServerFlapping', severity: 'warning', for: '0m', expr: 'sum by (server) (increase(omnibus_upstream_restarts_total[15m])) > 5',
    summary: 'Server {{ $labels.server }} keeps breaking', description: 'It was lost and connected again {{ $value | humanize }} times in a quarter of an hour.',
  },
  {
    name: 'OmnibusServerFailing', severity: 'warning', for: '5m', expr: `${failing} > 0.1`,
    summary: 'Calls of server {{ $labels.server }} fail', description: '{{ $value | humanizePercentage }} of its calls end in an error of the server or of the gateway.',
  },
  {
    name: 'OmnibusServerSlow', severity: 'warning', for: '10m', expr: 'histogram_quantile(0.95, sum by (le, server) (rate(omnibus_upstream_call_duration_seconds_bucket[5m]))) > 10',
    summary: 'Server {{ $labels.server }} is slow', description: 'One call in twenty takes longer than {{ $value | humanizeDuration }}.',
  },
  {
    name: 'OmnibusServerSaturated', severity: 'warning', for: '5m', expr: 'min_over_time(sum by (server) (omnibus_upstream_waiting_calls)[1m:15s]) > 0',
    summary: 'Calls queue up for server {{ $labels.server }}', description: 'There has been a queue for five minutes; it works on as many calls as `concurrency` allows.',
  },
  {
    name: 'OmnibusCallsTimeOut', severity: 'warning', for: '0m', expr: 'sum by (server) (increase(omnibus_upstream_timeouts_total[10m])) > 10',
    summary: 'Server {{ $labels.server }} does not answer in time', description: '{{ $value | humanize }} calls were given up in ten minutes.',
  },
  {
    name: 'OmnibusCallsLost', severity: 'warning', for: '0m', expr: 'sum by (server) (increase(omnibus_lost_calls_total{outcome="unknown"}[10m])) > 0',
    summary: 'Calls of server {{ $labels.server }} were lost with a process', description: '{{ $value | humanize }} calls were answered with "outcome unknown" in ten minutes: a process died under them.',
  },
  {
    name: 'OmnibusBusDisconnected', severity: 'critical', for: '1m', expr: 'omnibus_bus_connected == 0',
    summary: '{{ $labels.instance }} cannot reach NATS', description: 'It serves nobody until it can.',
  },
  {
    name: 'OmnibusBusSlow', severity: 'warning', for: '5m', expr: 'histogram_quantile(0.95, sum by (le) (rate(omnibus_bus_round_trip_seconds_bucket[5m]))) > 0.05',
    summary: 'NATS is slow', description: 'A message to NATS and back takes {{ $value | humanizeDuration }}; each call makes several such ways.',
  },
  {
    name: 'OmnibusSessionsTaken', severity: 'warning', for: '0m', expr: 'sum(increase(omnibus_sessions_taken_total[10m])) > 0',
    summary: 'A session worker was taken for gone', description: 'It was cut off or did not run for seconds, and others took over {{ $value | humanize }} of its sessions.',
  },
  {
    name: 'OmnibusSessionsRefused', severity: 'critical', for: '1m', expr: 'sum(rate(omnibus_refusals_total{reason="session.limit"}[5m])) > 0',
    summary: 'New sessions are refused', description: 'Workers hold as many sessions as `limits.maxSessions` allows.',
  },
  {
    name: 'OmnibusReadersTooSlow', severity: 'warning', for: '0m', expr: 'sum(increase(omnibus_slow_readers_closed_total[15m])) > 10',
    summary: 'Clients do not read what they are sent', description: '{{ $value | humanize }} streams were closed in a quarter of an hour because too much was waiting for their reader.',
  },
  {
    name: 'OmnibusInternalFaults', severity: 'warning', for: '0m', expr: 'sum by (part) (increase(omnibus_faults_total[10m])) > 0',
    summary: 'A bug was caught in Omnibus', description: '{{ $value | humanize }} times in ten minutes, at the boundary "{{ $labels.part }}".',
  },
  {
    name: 'OmnibusEventLoopBlocked', severity: 'warning', for: '5m', expr: 'nodejs_eventloop_lag_p99_seconds{job=~".*omnibus.*"} > 0.25',
    summary: '{{ $labels.instance }} is overloaded', description: 'Work waits {{ $value | humanizeDuration }} for the processor.',
  },
];

/** The page of an alert in `docs/runbooks/`. */
export function runbookOf(name: string): string {
  return `${name.replace(/^Omnibus/, '').replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}.md`;
}

/** What Prometheus loads. */
export function alertRules(): object {
  return {
    groups: [{
      name: 'omnibus',
      rules: alerts.map(({ name, severity, expr, for: lasting, summary, description }) => ({
        alert: name, expr, for: lasting, labels: { severity }, annotations: { summary, description, runbook: `docs/runbooks/${runbookOf(name)}` },
      })),
    }],
  };
}
