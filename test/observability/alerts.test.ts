/** Each alert fires when it should, does not fire otherwise, and has a page with instructions. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { alerts, runbookOf } from '@omnibus/deploy';
import { root } from '../support/processes.ts';

interface Case {
  /** Series in the notation of promtool, by the minute, and the labels of the expected alert. */
  readonly fires: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly silent: Readonly<Record<string, string>>;
}

const up = { server: 'github' };
const slowBuckets = (fast: string, all: string): Record<string, string> => ({
  'omnibus_upstream_call_duration_seconds_bucket{server="github",le="10"}': fast,
  'omnibus_upstream_call_duration_seconds_bucket{server="github",le="30"}': all,
  'omnibus_upstream_call_duration_seconds_bucket{server="github",le="+Inf"}': all,
});
const busBuckets = (fast: string, all: string): Record<string, string> => ({
  'omnibus_bus_round_trip_seconds_bucket{le="0.05"}': fast,
  'omnibus_bus_round_trip_seconds_bucket{le="0.1"}': all,
  'omnibus_bus_round_trip_seconds_bucket{le="+Inf"}': all,
});

const cases: Readonly<Record<string, Case>> = {
  OmnibusServerDown: {
    fires: { 'omnibus_upstream_state{server="github",state="ready"}': '0x30' },
    labels: up,
    silent: {
      'omnibus_upstream_state{server="github",state="ready",instance="a"}': '0x30',
      'omnibus_upstream_state{server="github",state="ready",instance="b"}': '1x30',
      'omnibus_upstream_state{server="sleeper",state="ready"}': '0x30',
      'omnibus_upstream_state{server="sleeper",state="asleep"}': '1x30',
    },
  },
  OmnibusServerFlapping: {
    fires: { 'omnibus_upstream_restarts_total{server="github"}': '0+1x30' },
    labels: up,
    silent: { 'omnibus_upstream_restarts_total{server="github"}': '0 1x29' },
  },
  OmnibusServerFailing: {
    fires: {
      'omnibus_upstream_calls_total{server="github",result="result"}': '0+80x30',
      'omnibus_upstream_calls_total{server="github",result="fault"}': '0+20x30',
    },
    labels: up,
    silent: {
      'omnibus_upstream_calls_total{server="github",result="result"}': '0+80x30',
      'omnibus_upstream_calls_total{server="github",result="tool_error"}': '0+20x30',
    },
  },
  OmnibusServerSlow: {
    fires: slowBuckets('0+80x30', '0+100x30'),
    labels: up,
    silent: slowBuckets('0+100x30', '0+100x30'),
  },
  OmnibusServerSaturated: {
    fires: { 'omnibus_upstream_waiting_calls{server="github"}': '3x30' },
    labels: up,
    silent: { 'omnibus_upstream_waiting_calls{server="github"}': '3 0 3 0 3 0 3 0 3 0 3 0 3 0 3 0 3 0 3 0 3' },
  },
  OmnibusCallsTimeOut: {
    fires: { 'omnibus_upstream_timeouts_total{server="github"}': '0+2x30' },
    labels: up,
    silent: { 'omnibus_upstream_timeouts_total{server="github"}': '0 1x29' },
  },
  OmnibusCallsLost: {
    fires: { 'omnibus_lost_calls_total{server="github",outcome="unknown"}': '0x15 3x15' },
    labels: up,
    silent: { 'omnibus_lost_calls_total{server="github",outcome="repeated"}': '0x15 3x15' },
  },
  OmnibusBusDisconnected: {
    fires: { 'omnibus_bus_connected{instance="a"}': '0x30' },
    labels: { instance: 'a' },
    silent: { 'omnibus_bus_connected{instance="a"}': '1x30' },
  },
  OmnibusBusSlow: { fires: busBuckets('0+10x30', '0+12x30'), labels: {}, silent: busBuckets('0+12x30', '0+12x30') },
  OmnibusSessionsTaken: {
    fires: { omnibus_sessions_taken_total: '0x15 4x15' },
    labels: {},
    silent: { omnibus_sessions_taken_total: '4x30' },
  },
  OmnibusSessionsRefused: {
    fires: { 'omnibus_refusals_total{reason="session.limit"}': '0+5x30' },
    labels: {},
    silent: { 'omnibus_refusals_total{reason="tool.unknown"}': '0+5x30' },
  },
  OmnibusReadersTooSlow: {
    fires: { omnibus_slow_readers_closed_total: '0+1x30' },
    labels: {},
    silent: { omnibus_slow_readers_closed_total: '0 1x29' },
  },
  OmnibusInternalFaults: {
    fires: { 'omnibus_faults_total{part="rejection"}': '0x15 1x15' },
    labels: { part: 'rejection' },
    silent: { 'omnibus_faults_total{part="rejection"}': '1x30' },
  },
  OmnibusBusUnreadable: {
    fires: { 'omnibus_bus_unreadable_total{family="session"}': '0x15 1x15' },
    labels: { family: 'session' },
    silent: { 'omnibus_bus_unreadable_total{family="session"}': '1x30' },
  },
  OmnibusConnectionsRefused: {
    fires: { 'omnibus_client_connections_refused_total{bound="address"}': '0+2x30' },
    labels: { bound: 'address' },
    silent: {
      'omnibus_client_connections_refused_total{bound="address"}': '0 3x29',
      'omnibus_client_connections_refused_total{bound="all"}': '20x30',
    },
  },
  OmnibusBodiesRefused: {
    fires: { 'omnibus_refusals_total{reason="gateway.busy"}': '0+3x30' },
    labels: { reason: 'gateway.busy' },
    silent: {
      'omnibus_refusals_total{reason="gateway.busy"}': '0+1x30',
      'omnibus_refusals_total{reason="message.invalid"}': '0+9x30',
    },
  },
  OmnibusSessionsTooFast: {
    fires: { 'omnibus_refusals_total{reason="session.rate"}': '0+3x30' },
    labels: {},
    silent: {
      'omnibus_refusals_total{reason="session.rate"}': '0+1x30',
      'omnibus_refusals_total{reason="session.unknown"}': '0+9x30',
    },
  },
  OmnibusSessionsShed: {
    fires: { 'omnibus_sessions_shed_total{kind="idle"}': '0x15 1x15' },
    labels: {},
    silent: { 'omnibus_sessions_shed_total{kind="unused"}': '0+9x30' },
  },
  OmnibusEntriesLeftOut: {
    fires: { 'omnibus_catalog_left_out_entries{server="github",instance="a"}': '2x30' },
    labels: up,
    silent: { 'omnibus_catalog_left_out_entries{server="github",instance="a"}': '0x30' },
  },
  OmnibusDefinitionsHeld: {
    fires: { 'omnibus_definitions_held{server="github",instance="a"}': '2x30' },
    labels: up,
    silent: { 'omnibus_definitions_held{server="github",instance="a"}': '0x30' },
  },
  OmnibusSchemaProblems: {
    fires: { 'omnibus_schema_problems_total{server="github",what="result"}': '0+2x30' },
    labels: { ...up, what: 'result' },
    silent: { 'omnibus_schema_problems_total{server="github",what="result"}': '0+1x30' },
  },
  OmnibusKeptTooMuch: {
    fires: { 'omnibus_kept_streams_dropped_total{bound="process"}': '0x15 1x15' },
    labels: {},
    silent: { 'omnibus_kept_streams_dropped_total{bound="session"}': '0+9x30' },
  },
  OmnibusProgramsRefused: {
    fires: { 'omnibus_refusals_total{reason="upstream.connections"}': '0x15 1x15' },
    labels: {},
    silent: { 'omnibus_refusals_total{reason="upstream.busy"}': '0+9x30' },
  },
  OmnibusCallersRefused: {
    fires: {
      'omnibus_auth_requests_total{way="token",outcome="auth.invalid"}': '0+60x30',
      'omnibus_auth_requests_total{way="token",outcome="verified"}': '0+100x30',
    },
    labels: { way: 'token' },
    silent: {
      'omnibus_auth_requests_total{way="token",outcome="auth.invalid"}': '0+60x30',
      'omnibus_auth_requests_total{way="key",outcome="auth.invalid"}': '0+10x30',
      'omnibus_auth_requests_total{way="token",outcome="verified"}': '0+900x30',
    },
  },
  OmnibusIssuerUnavailable: {
    fires: { 'omnibus_auth_requests_total{way="token",outcome="auth.unavailable"}': '0+3x30' },
    labels: { way: 'token' },
    silent: { 'omnibus_auth_requests_total{way="token",outcome="auth.invalid"}': '0+3x30' },
  },
  OmnibusSignInsRefused: {
    fires: { 'omnibus_sign_ins_total{way="password",outcome="refused"}': '0+3x30' },
    labels: { way: 'password' },
    silent: {
      'omnibus_sign_ins_total{way="password",outcome="refused"}': '0+1x30',
      'omnibus_sign_ins_total{way="password",outcome="good"}': '0+90x30',
    },
  },
  OmnibusTlsReloadRefused: {
    fires: { 'omnibus_tls_reloads_refused_total{instance="a"}': '0x15 1x15' },
    labels: { instance: 'a' },
    silent: { 'omnibus_tls_reloads_refused_total{instance="a"}': '1x30' },
  },
  OmnibusConfigurationRejected: {
    fires: { 'omnibus_config_last_reload_successful{instance="a"}': '0x30' },
    labels: { instance: 'a' },
    silent: { 'omnibus_config_last_reload_successful{instance="a"}': '1x30' },
  },
  OmnibusGuardrailFailing: {
    fires: { 'omnibus_guardrail_decisions_total{guardrail="judge",stage="requests",action="failed"}': '0+2x30' },
    labels: { guardrail: 'judge' },
    silent: {
      'omnibus_guardrail_decisions_total{guardrail="judge",stage="requests",action="failed"}': '0+1x30',
      'omnibus_guardrail_decisions_total{guardrail="judge",stage="requests",action="denied"}': '0+9x30',
    },
  },
  OmnibusAuditBehind: {
    fires: {
      'omnibus_audit_behind{instance="a",sink="file"}': '600x30',
      'omnibus_audit_ring{instance="a"}': '1000x30',
    },
    labels: { instance: 'a', sink: 'file' },
    silent: {
      'omnibus_audit_behind{instance="a",sink="file"}': '400x30',
      'omnibus_audit_ring{instance="a"}': '1000x30',
    },
  },
  OmnibusAuditFailing: {
    fires: { 'omnibus_audit_failing{instance="a",sink="file"}': '1x30' },
    labels: { instance: 'a', sink: 'file' },
    silent: { 'omnibus_audit_failing{instance="a",sink="file"}': '0x30' },
  },
  OmnibusAuditLost: {
    fires: { 'omnibus_audit_dropped_total{instance="a",sink="all"}': '0x15 1x15' },
    labels: { instance: 'a', sink: 'all' },
    silent: { 'omnibus_audit_dropped_total{instance="a",sink="all"}': '1x30' },
  },
  OmnibusEventLoopBlocked: {
    fires: { 'nodejs_eventloop_lag_p99_seconds{job="omnibus",instance="a"}': '0.5x30' },
    labels: { job: 'omnibus', instance: 'a' },
    silent: {
      'nodejs_eventloop_lag_p99_seconds{job="omnibus",instance="a"}': '0.02x30',
      'nodejs_eventloop_lag_p99_seconds{job="other"}': '0.5x30',
    },
  },
};

const at = '20m';

/** The series of one installation of several on the same Prometheus. */
function inNamespace(given: Readonly<Record<string, string>>, namespace: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).map(([series, values]) => [
      series.includes('{') ? series.replace('{', `{namespace="${namespace}",`) : `${series}{namespace="${namespace}"}`,
      values,
    ]),
  );
}
const inTwo = (expr: string): string => expr.replace('by (', 'by (namespace, ');

it.each(alerts)('$name fires when it should, and only then', async ({ name, severity }) => {
  const { fires, labels, silent } = cases[name] as Case;
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-alerts-'));
  const series = (given: Readonly<Record<string, string>>): object[] =>
    Object.entries(given).map(([of, values]) => ({ series: of, values }));
  // Only names and labels of firing alerts are compared, not their texts.
  const probe = {
    expr: `count by (alertname, ${[...Object.keys(labels), 'severity'].join(', ')}) (ALERTS{alertname="${name}", alertstate="firing"})`,
    eval_time: at,
  };
  const expected = `{${Object.entries({ alertname: name, ...labels, severity })
    .map(([key, value]) => `${key}="${value}"`)
    .join(', ')}}`;
  await writeFile(
    join(folder, 'test.yaml'),
    JSON.stringify({
      rule_files: [join(root, 'deploy/prometheus/alerts.yaml')],
      tests: [
        {
          name: 'one of two installations',
          interval: '1m',
          input_series: [...series(inNamespace(fires, 'a')), ...series(inNamespace(silent, 'b'))],
          promql_expr_test: [
            {
              ...probe,
              expr: inTwo(probe.expr),
              exp_samples: [{ labels: expected.replace('}', ', namespace="a"}'), value: 1 }],
            },
          ],
        },
        {
          name: 'fires',
          interval: '1m',
          input_series: series(fires),
          promql_expr_test: [{ ...probe, exp_samples: [{ labels: expected, value: 1 }] }],
        },
        {
          name: 'silent',
          interval: '1m',
          input_series: series(silent),
          promql_expr_test: [{ ...probe, exp_samples: [] }],
        },
      ],
    }),
  );
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(folder, 'test.yaml')], {
    encoding: 'utf8',
  });
  await rm(folder, { recursive: true, force: true });
  expect(`${stdout}${stderr}`).toContain('SUCCESS');
  expect(status).toBe(0);
});

it.each(alerts)('$name has a runbook: what it means, what to look at, what to do', async ({ name }) => {
  const file = join(root, 'docs/runbooks', runbookOf(name));
  expect(existsSync(file), `docs/runbooks/${runbookOf(name)}`).toBe(true);
  const page = await readFile(file, 'utf8');
  for (const heading of [`# ${name}`, '## Meaning', '## Look', '## Do']) expect(page).toContain(heading);
});
