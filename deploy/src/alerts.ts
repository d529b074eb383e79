/**
 * The alerts. `deploy/prometheus/alerts.yaml` is made from this by `npm run docs`; each has a page in `docs/runbooks/` and a
 * test by `promtool` that it fires when it should and is silent when not.
 *
 * Every expression keeps `job` and `namespace`, which Prometheus gives to what it scrapes: several installations on one Prometheus may have servers of the same
 * name, and one that is up must not hide the other that is down. A label that is not there is the same for all.
 */
interface Alert {
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  readonly expr: string;
  readonly for: string;
  readonly summary: string;
  readonly description: string;
}

const failing =
  'sum by (job, namespace, server) (rate(omnibus_upstream_calls_total{result=~"error|fault"}[5m])) / sum by (job, namespace, server) (rate(omnibus_upstream_calls_total[5m]))';

export const alerts: readonly Alert[] = [
  {
    name: 'OmnibusServerDown',
    severity: 'critical',
    for: '2m',
    expr: 'max by (job, namespace, server) (omnibus_upstream_state{state=~"ready|asleep|sign_in"}) == 0',
    summary: 'Server {{ $labels.server }} is down',
    description: 'No process of the gateway is connected to the server, and its tools have left every list.',
  },
  {
    name: 'OmnibusServerFlapping',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, server) (increase(omnibus_upstream_restarts_total[15m])) > 5',
    summary: 'Server {{ $labels.server }} keeps breaking',
    description: 'It was lost and connected again {{ $value | humanize }} times in a quarter of an hour.',
  },
  {
    name: 'OmnibusServerFailing',
    severity: 'warning',
    for: '5m',
    expr: `${failing} > 0.1`,
    summary: 'Calls of server {{ $labels.server }} fail',
    description: '{{ $value | humanizePercentage }} of its calls end in an error of the server or of the gateway.',
  },
  {
    name: 'OmnibusServerSlow',
    severity: 'warning',
    for: '10m',
    expr: 'histogram_quantile(0.95, sum by (job, namespace, le, server) (rate(omnibus_upstream_call_duration_seconds_bucket[5m]))) > 10',
    summary: 'Server {{ $labels.server }} is slow',
    description: 'One call in twenty takes longer than {{ $value | humanizeDuration }}.',
  },
  {
    name: 'OmnibusServerSaturated',
    severity: 'warning',
    for: '5m',
    expr: 'min_over_time(sum by (job, namespace, server) (omnibus_upstream_waiting_calls)[1m:15s]) > 0',
    summary: 'Calls queue up for server {{ $labels.server }}',
    description: 'There has been a queue for five minutes; it works on as many calls as `concurrency` allows.',
  },
  {
    name: 'OmnibusCallsTimeOut',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, server) (increase(omnibus_upstream_timeouts_total[10m])) > 10',
    summary: 'Server {{ $labels.server }} does not answer in time',
    description: '{{ $value | humanize }} calls timed out in ten minutes.',
  },
  {
    name: 'OmnibusCallsLost',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, server) (increase(omnibus_lost_calls_total{outcome="unknown"}[10m])) > 0',
    summary: 'Calls of server {{ $labels.server }} were lost with a process',
    description:
      '{{ $value | humanize }} calls were answered with "outcome unknown" in ten minutes: a process died under them.',
  },
  {
    name: 'OmnibusBusDisconnected',
    severity: 'critical',
    for: '1m',
    expr: 'omnibus_bus_connected == 0',
    summary: '{{ $labels.instance }} cannot reach NATS',
    description: 'It serves no client until it can.',
  },
  {
    name: 'OmnibusBusSlow',
    severity: 'warning',
    for: '5m',
    expr: 'histogram_quantile(0.95, sum by (job, namespace, le) (rate(omnibus_bus_round_trip_seconds_bucket[5m]))) > 0.05',
    summary: 'NATS is slow',
    description: 'A message to NATS and back takes {{ $value | humanizeDuration }}; each call makes several such ways.',
  },
  {
    name: 'OmnibusSessionsTaken',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace) (increase(omnibus_sessions_taken_total[10m])) > 0',
    summary: 'Sessions of a worker that seemed gone were taken over',
    description:
      'A session worker was cut off or did not run for seconds, and others took over {{ $value | humanize }} of its sessions.',
  },
  {
    name: 'OmnibusSessionsRefused',
    severity: 'critical',
    for: '1m',
    expr: 'sum by (job, namespace) (rate(omnibus_refusals_total{reason="session.limit"}[5m])) > 0',
    summary: 'New sessions are refused',
    description:
      'Session workers hold as many sessions as `limits.maxSessions` allows, or a caller as many as `limits.maxSessionsPerPrincipal` does.',
  },
  {
    name: 'OmnibusReadersTooSlow',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace) (increase(omnibus_slow_readers_closed_total[15m])) > 10',
    summary: 'Clients do not read what they are sent',
    description:
      '{{ $value | humanize }} streams were closed in a quarter of an hour because too much was waiting for their reader.',
  },
  {
    name: 'OmnibusInternalFaults',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, part) (increase(omnibus_faults_total[10m])) > 0',
    summary: 'A bug was caught in Omnibus',
    description: '{{ $value | humanize }} times in ten minutes, at the boundary "{{ $labels.part }}".',
  },
  {
    name: 'OmnibusBusUnreadable',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, family) (increase(omnibus_bus_unreadable_total[10m])) > 0',
    summary: 'Something on the bus cannot be read',
    description: '{{ $value | humanize }} messages or records of "{{ $labels.family }}" in ten minutes were malformed.',
  },
  {
    name: 'OmnibusConnectionsRefused',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, bound) (increase(omnibus_client_connections_refused_total[10m])) > 10',
    summary: 'Connections of clients are refused',
    description:
      '{{ $value | humanize }} connections were closed at once in ten minutes: the bound for "{{ $labels.bound }}" is reached.',
  },
  {
    name: 'OmnibusBodiesRefused',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, reason) (increase(omnibus_refusals_total{reason=~"gateway.busy|message.too_large|http.timeout"}[10m])) > 20',
    summary: 'Request bodies of clients are refused',
    description: '{{ $value | humanize }} bodies were refused in ten minutes, for the reason {{ $labels.reason }}.',
  },
  {
    name: 'OmnibusSessionsTooFast',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace) (increase(omnibus_refusals_total{reason="session.rate"}[10m])) > 20',
    summary: 'Somebody opens sessions too fast',
    description:
      '{{ $value | humanize }} new sessions were refused in ten minutes because their address had opened too many.',
  },
  {
    name: 'OmnibusSessionsShed',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace) (increase(omnibus_sessions_shed_total{kind="idle"}[10m])) > 0',
    summary: 'Sessions are ended to make room for new ones',
    description:
      '{{ $value | humanize }} sessions that had been used were ended in ten minutes: workers hold as many as they may.',
  },
  {
    name: 'OmnibusEntriesLeftOut',
    severity: 'warning',
    for: '10m',
    expr: 'max by (job, namespace, server) (omnibus_catalog_left_out_entries) > 0',
    summary: 'Not everything that {{ $labels.server }} offers is shown',
    description:
      '{{ $value | humanize }} of its tools, prompts and resources are left out of lists because they are invalid or exceed a limit.',
  },
  {
    name: 'OmnibusDefinitionsHeld',
    severity: 'warning',
    for: '5m',
    expr: 'max by (job, namespace, server) (omnibus_definitions_held) > 0',
    summary: 'Definitions of {{ $labels.server }} wait for approval',
    description:
      '{{ $value | humanize }} of its tools, prompts and resource templates differ from the approved ones, and are not shown to clients.',
  },
  {
    name: 'OmnibusSchemaProblems',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, server, what) (increase(omnibus_schema_problems_total[15m])) > 20',
    summary: 'Values sent by or to {{ $labels.server }} do not match their schemas',
    description:
      'This happened {{ $value | humanize }} times in a quarter of an hour, with values of the kind "{{ $labels.what }}".',
  },
  {
    name: 'OmnibusKeptTooMuch',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace) (increase(omnibus_kept_streams_dropped_total{bound="process"}[10m])) > 0',
    summary: 'Clients cannot resume their streams',
    description:
      'The kept messages of {{ $value | humanize }} streams were dropped in ten minutes: workers keep as much as `limits.maxKeptBytes` allows.',
  },
  {
    name: 'OmnibusProgramsRefused',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace) (increase(omnibus_refusals_total{reason="upstream.connections"}[10m])) > 0',
    summary: 'Callers do not get a program or connection of their own',
    description:
      '{{ $value | humanize }} requests were refused in ten minutes because all programs or connections that the limits allow are in use.',
  },
  {
    name: 'OmnibusCallersRefused',
    severity: 'warning',
    for: '5m',
    expr: 'sum by (job, namespace, way) (rate(omnibus_auth_requests_total{outcome!="verified"}[5m])) > 0.5 and sum by (job, namespace, way) (rate(omnibus_auth_requests_total{outcome!="verified"}[5m])) / ignoring (way) group_left sum by (job, namespace) (rate(omnibus_auth_requests_total[5m])) > 0.2',
    summary: 'Many requests have no valid credential',
    description:
      '{{ $value | humanize }} requests a second with the way "{{ $labels.way }}" are refused, more than a fifth of all.',
  },
  {
    name: 'OmnibusIssuerUnavailable',
    severity: 'critical',
    for: '0m',
    expr: 'sum by (job, namespace, way) (increase(omnibus_auth_requests_total{outcome="auth.unavailable"}[5m])) > 5',
    summary: 'An issuer of tokens does not answer',
    description:
      '{{ $value | humanize }} requests were refused in five minutes because their token could not be checked.',
  },
  {
    name: 'OmnibusSignInsRefused',
    severity: 'warning',
    for: '0m',
    expr: 'sum by (job, namespace, way) (increase(omnibus_sign_ins_total{outcome=~"refused|throttled"}[10m])) > 20',
    summary: 'Many sign-ins fail',
    description: '{{ $value | humanize }} sign-ins by {{ $labels.way }} failed in ten minutes.',
  },
  {
    name: 'OmnibusTlsReloadRefused',
    severity: 'critical',
    for: '0m',
    expr: 'sum by (job, namespace, instance) (increase(omnibus_tls_reloads_refused_total[1h])) > 0',
    summary: '{{ $labels.instance }} cannot use its changed certificate',
    description: 'Clients are still shown the previous certificate, which may be about to expire.',
  },
  {
    name: 'OmnibusConfigurationRejected',
    severity: 'warning',
    for: '1m',
    expr: 'min by (job, namespace, instance) (omnibus_config_last_reload_successful) == 0',
    summary: '{{ $labels.instance }} cannot use its changed configuration',
    description:
      'Something is wrong with the changed file, so the configuration from before stays in use. A process that starts now with the changed file ends at once.',
  },
  {
    name: 'OmnibusGuardrailFailing',
    severity: 'critical',
    for: '0m',
    expr: 'sum by (job, namespace, guardrail) (increase(omnibus_guardrail_decisions_total{action="failed"}[5m])) > 5',
    summary: 'The guardrail {{ $labels.guardrail }} cannot check messages',
    description:
      '{{ $value | humanize }} checks have failed in five minutes. These messages were denied, or passed unchecked where the guardrail has `onFailure: allow`.',
  },
  {
    name: 'OmnibusAuditFailing',
    severity: 'critical',
    for: '2m',
    expr: 'max by (job, namespace, instance, sink) (omnibus_audit_failing) == 1',
    summary: 'The audit of {{ $labels.instance }} cannot be written',
    description:
      'Its sink {{ $labels.sink }} takes no records. They wait until the ring is full; then they are lost, and counted.',
  },
  {
    name: 'OmnibusAuditBehind',
    severity: 'warning',
    for: '1m',
    expr: 'max by (job, namespace, instance, sink) (omnibus_audit_behind) > on (job, namespace, instance) group_left () 0.5 * max by (job, namespace, instance) (omnibus_audit_ring)',
    summary: 'The audit of {{ $labels.instance }} is behind',
    description:
      '{{ $value | humanize }} records wait for the sink {{ $labels.sink }}, more than half of the ring (audit.ring). When the ring is full, the process drops records and counts them.',
  },
  {
    name: 'OmnibusAuditLost',
    severity: 'critical',
    for: '0m',
    expr: 'sum by (job, namespace, instance, sink) (increase(omnibus_audit_dropped_total[10m])) > 0',
    summary: 'Records of the audit were lost',
    description:
      '{{ $value | humanize }} records of {{ $labels.instance }} had no place in the ring in ten minutes (sink: {{ $labels.sink }}).',
  },
  {
    name: 'OmnibusEventLoopBlocked',
    severity: 'warning',
    for: '5m',
    expr: 'nodejs_eventloop_lag_p99_seconds{job=~".*omnibus.*"} > 0.25',
    summary: '{{ $labels.instance }} is overloaded',
    description: 'Work waits {{ $value | humanizeDuration }} for the processor.',
  },
];

/** Where the pages are in a checkout; the chart makes links of them (`monitoring.runbooks`). */
const runbooks = 'docs/runbooks/';

/** The page of an alert in `docs/runbooks/`. */
export function runbookOf(name: string): string {
  return `${name
    .replace(/^Omnibus/, '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
    .toLowerCase()}.md`;
}

/** What Prometheus loads. */
export function alertRules(): object {
  return {
    groups: [
      {
        name: 'omnibus',
        rules: alerts.map(({ name, severity, expr, for: lasting, summary, description }) => ({
          alert: name,
          expr,
          for: lasting,
          labels: { severity },
          annotations: { summary, description, runbook: `${runbooks}${runbookOf(name)}` },
        })),
      },
    ],
  };
}
