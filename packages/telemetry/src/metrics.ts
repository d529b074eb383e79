/**
 * Every metric of the gateway, with those of `upstream-metrics.ts` and `caller-metrics.ts`. Label values are of closed sets: configured server names, methods of the protocol, states
 * and reasons of our own tables; never a string a client chose. `docs/reference/metrics.md` is generated from this.
 */
import { version, type ErrorReason } from '@omnibus/protocol';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { AuditMetrics } from './audit-metrics.ts';
import { CallerMetrics } from './caller-metrics.ts';
import { CodeMetrics } from './code-metrics.ts';
import { CompositeMetrics } from './composite-metrics.ts';
import { Instruments } from './instruments.ts';
import {
  dropReasons,
  faultParts,
  type ApprovalFormOutcome,
  type ApprovalOutcome,
  type DropReason,
  type FaultPart,
} from './label-values.ts';
import type { MetricsSnapshot } from './merged-metrics.ts';
import { SearchMetrics } from './search-metrics.ts';
import { UpstreamMetrics } from './upstream-metrics.ts';
import { WorkerMetrics } from './worker-metrics.ts';

/** Milliseconds between two looks at the event loop: `nodejs_eventloop_lag_*` of an idle process is as long. Node's default of 10 takes half of the processor time of an idle process. */
const loopLookMs = 50;
const sessionStates = ['opening', 'awaitingInitialized', 'ready', 'draining'] as const;

export class Metrics extends Instruments {
  /** Metrics of servers and of calls to them. */
  readonly upstream = new UpstreamMetrics(this.registry);
  /** Metrics of callers, sign-ins and administrators. */
  readonly callers = new CallerMetrics(this.registry);
  readonly audit = new AuditMetrics(this.registry);
  readonly code = new CodeMetrics(this.registry);
  readonly search = new SearchMetrics(this.registry);
  readonly composites = new CompositeMetrics(this.registry);
  readonly workers = new WorkerMetrics(this.registry);
  readonly #requestSeconds = this.histogram(
    'omnibus_client_request_duration_seconds',
    "Time from a client's request to the last byte of its answer, by method of the protocol; standing streams are not included.",
    ['method'],
  );
  readonly inFlight = this.gauge(
    'omnibus_client_requests_in_flight',
    'Requests of clients that wait for their answer at this edge, standing streams among them.',
  );
  readonly bufferedBytes = this.gauge(
    'omnibus_client_buffered_bytes',
    'Bytes written to event streams that the network has not taken yet.',
  );
  readonly unreadBytes = this.gauge(
    'omnibus_client_unread_bytes',
    'Bytes of answers and streams that wait for clients to read them, counted where more than 64 KB wait (limits.maxUnreadBytes).',
  );
  readonly bodyBytes = this.gauge(
    'omnibus_client_body_bytes',
    'Bytes of request bodies that are being read or worked on, except bodies that arrived whole at once (limits.maxPendingBodyBytes).',
  );
  readonly connections = this.gauge('omnibus_client_connections', 'Connections of clients (limits.maxConnections).');
  readonly #connectionsRefused = this.counter(
    'omnibus_client_connections_refused_total',
    'Connections of clients that were closed at once because a bound was reached, by bound: of all clients (all) or of one address (address).',
    ['bound'],
  );
  readonly parkedCalls = this.gauge(
    'omnibus_parked_calls',
    'Calls that wait between two requests of their client, which is to answer a question of the server.',
  );
  readonly requestsWithoutSession = this.gauge(
    'omnibus_requests_without_session',
    'Requests without a session that wait for their answers at this worker.',
  );
  readonly keptCalls = this.gauge(
    'omnibus_kept_calls',
    'Calls kept for clients that may come back: parked calls, and answers that clients may ask for again.',
  );
  readonly keptBytes = this.gauge(
    'omnibus_kept_calls_bytes',
    'Bytes of the requests, questions and answers of kept calls.',
  );
  readonly listeners = this.gauge('omnibus_listeners', 'Subscription streams (2026-07-28) at this worker.');
  readonly sessionsHandedOver = this.counter(
    'omnibus_sessions_handed_over_total',
    'Sessions that this worker handed over while stopping.',
  );
  readonly sessionsBalanced = this.counter(
    'omnibus_sessions_balanced_total',
    'Idle sessions that this worker gave to session workers with fewer.',
  );
  readonly sessionsLost = this.counter(
    'omnibus_sessions_taken_total',
    'Sessions that another worker took over while this one could not be reached.',
  );
  readonly busRoundTrip = this.histogram(
    'omnibus_bus_round_trip_seconds',
    'Time to the bus and back, measured every few seconds.',
  );
  readonly busConnected = this.gauge('omnibus_bus_connected', '1 while the bus can deliver, else 0.');
  readonly busReconnects = this.gauge('omnibus_bus_reconnects', 'How often the bus was lost and found again.');
  readonly #build = this.gauge('omnibus_build_info', 'Always 1; the version and the role of the process.', [
    'version',
    'role',
  ]);
  readonly #requests = this.counter(
    'omnibus_client_requests_total',
    'Requests of clients, by method of the protocol.',
    ['method'],
  );
  readonly #refusals = this.counter(
    'omnibus_refusals_total',
    'Requests the gateway itself answered with an error, by reason.',
    ['reason'],
  );
  readonly #drops = this.counter('omnibus_dropped_messages_total', 'Messages that had no receiver, by reason.', [
    'reason',
  ]);
  readonly #unreadable = this.counter(
    'omnibus_bus_unreadable_total',
    'Messages and records on the bus that were not JSON, did not have the shape that their subject or bucket demands, or were large and did not arrive completely, by family of subjects or bucket.',
    ['family'],
  );
  readonly #foreignFormats = this.counter(
    'omnibus_bus_foreign_formats_total',
    'Signs of life and records of another version of Omnibus that this one cannot read, by family of subjects or bucket; such versions must not run together.',
    ['family'],
  );
  readonly #faults = this.counter(
    'omnibus_faults_total',
    "Bugs that were caught at a boundary, by part: the work on a client's message (request), the handler of a message on the bus (handler), an observer of replies (observer), a message of a server (transport), a deadline, a record of the audit (audit), or no boundary at all (rejection, exception).",
    ['part'],
  );
  readonly #sessions = this.gauge('omnibus_sessions', 'Sessions this worker holds, by state.', ['state']);
  readonly sessionsOpened = this.counter('omnibus_sessions_opened_total', 'Sessions opened at this worker.');
  readonly sessionsAdopted = this.counter(
    'omnibus_sessions_adopted_total',
    'Sessions taken over from a worker that is gone.',
  );
  readonly sessionsExpired = this.counter(
    'omnibus_sessions_expired_total',
    'Sessions that ended because they were idle for too long.',
  );
  readonly sessionsShed = this.counter(
    'omnibus_sessions_shed_total',
    'Sessions that were ended to make room for new ones, by kind: idle after use (idle), or never used (unused). They are counted among the expired ones too.',
    ['kind'],
  );
  readonly sessionBytes = this.gauge(
    'omnibus_session_bytes',
    'Bytes of declarations and subscriptions of clients (limits.maxSessionBytes).',
  );
  readonly results = {
    bounded: this.counter(
      'omnibus_results_bounded_total',
      'Results of tools over their bound (option `results`), by what became of the whole: stored, or not since it was larger than all room (too_large) or the store failed (failed).',
      ['outcome'],
    ),
    storedBytes: this.counter('omnibus_results_stored_bytes_total', 'Bytes of results that were stored.'),
    savedTokens: this.counter(
      'omnibus_results_saved_tokens_total',
      'Tokens (characters / 4) of results over their bound, less those of their previews.',
    ),
    reads: this.counter(
      'omnibus_result_reads_total',
      'Reads of stored results, by outcome: read, unknown (expired, of another caller, or made up), invalid (the range is none), limited (`bytes` of a limit are used up), or failed.',
      ['outcome'],
    ),
  } as const;
  readonly keptAnswerBytes = this.gauge(
    'omnibus_kept_answer_bytes',
    'Bytes of answers kept for session workers that continue calls of a worker that is gone (limits.maxKeptAnswerBytes).',
  );
  readonly keptFrameBytes = this.gauge(
    'omnibus_kept_bytes',
    'Bytes of messages kept for clients that resume a stream or have none open, and of open requests whose clients have disconnected (limits.maxKeptBytes).',
  );
  readonly keptDropped = this.counter(
    'omnibus_kept_streams_dropped_total',
    'Streams that lost stored messages early, by the exceeded bound: of a session, or of the process.',
    ['bound'],
  );
  readonly streamsDetached = this.counter(
    'omnibus_client_streams_detached_total',
    'Streams that were detached because their edge was gone or no longer read them, without having said so.',
  );
  readonly streams = this.gauge('omnibus_client_streams', 'Event streams open to clients (GET).');
  readonly streamsResumed = this.counter(
    'omnibus_client_streams_resumed_total',
    'Streams that clients resumed after the worker that began them was gone.',
  );
  readonly tlsHandshakesFailed = this.counter(
    'omnibus_tls_handshakes_failed_total',
    'Connections of clients that ended in the TLS handshake, for example because the client did not speak TLS or did not show a required certificate.',
  );
  readonly tlsReloadsRefused = this.counter(
    'omnibus_tls_reloads_refused_total',
    'Times that changed TLS files could not be used, so that the previous certificate stayed in use.',
  );
  readonly configSuccessful = this.gauge(
    'omnibus_config_last_reload_successful',
    '1 while the configuration that was read last is in use; 0 while something is wrong with it, so that the one before stays in use.',
  );
  readonly configAppliedAt = this.gauge(
    'omnibus_config_last_reload_success_timestamp_seconds',
    'When the current configuration took effect, in seconds since 1970.',
  );
  readonly #limited = this.counter(
    'omnibus_limits_refused_total',
    'Calls that a rule of limits.rules refused, by rule and cause: the rate, concurrency, the quota of calls or of bytes, or an unknown remainder.',
    ['limit', 'kind'],
  );
  readonly limitKeys = this.gauge(
    'omnibus_limit_keys',
    'Keys that this worker counts limits for: rates, running calls, tasks that outlive their calls, and quotas with a leased part.',
    ['table'],
  );
  readonly preparedListBytes = this.gauge(
    'omnibus_prepared_list_bytes',
    'Characters of cached lists for callers that may see a part only (limits.maxPreparedListBytes).',
  );
  readonly waitingApprovals = this.gauge(
    'omnibus_approvals_waiting',
    'Calls that wait for an approval at this worker (limits.maxWaitingApprovals).',
  );
  readonly #approvals = this.counter(
    'omnibus_approvals_total',
    'Approvals of calls that rules (access) require, by approver and outcome: asked, approved, refused, expired, withdrawn, used, impossible, limit, void, reused (a call that an earlier approval for a time covers).',
    ['by', 'outcome'],
  );
  readonly decisions = this.counter(
    'omnibus_decisions_total',
    'Decisions of the external decision point (access.decisions) about calls and entries of lists: permitted, denied, or failed, which counts as denied.',
    ['about', 'outcome'],
  );
  /** Messages to approvers that were dropped. */
  readonly approvalsUntold = this.counter(
    'omnibus_approvals_untold_total',
    'Messages of calls that wait for approvers that the webhook (access.approvals.webhook) did not take.',
  );
  readonly #approvalForms = this.counter(
    'omnibus_approval_forms_total',
    'Forms for approvals in MCP clients of approvers (access.approvals.clients), by outcome: shown, approved, refused, left to other approvers, withdrawn since the call waits no more, failed at the client, or too late; skipped: calls without a form because too many wait.',
    ['outcome'],
  );
  readonly #ruleRefusals = this.counter(
    'omnibus_policy_refusals_total',
    'Requests that rules (access) do not permit, by rule: denied (the caller may see the target), hidden (it may not), or only recorded.',
    ['outcome', 'rule'],
  );
  readonly #guarded = this.counter(
    'omnibus_guardrail_decisions_total',
    'Messages with a finding of a guardrail, by guardrail, kind of message (requests, results, questions, lists) and outcome: denied, changed, labelled, failed (it could not inspect the message), or only recorded.',
    ['guardrail', 'stage', 'action'],
  );
  readonly #labels = this.counter(
    'omnibus_conversation_labels_total',
    'Labels that conversations have got, by label and server: from a result, or from a guardrail that labels.',
    ['label', 'server'],
  );
  readonly #guardrailSeconds = this.histogram(
    'omnibus_guardrail_check_seconds',
    'Time that a check by a webhook or a tool takes, waiting for a place included, by guardrail.',
    ['guardrail'],
  );
  readonly guardrailChecks = this.gauge(
    'omnibus_guardrail_checks',
    'Checks by webhooks and tools at this worker, by guardrail: running (its `concurrency`), or waiting (four times as many at most).',
    ['guardrail', 'state'],
  );
  readonly slowReaders = this.counter(
    'omnibus_slow_readers_closed_total',
    'Streams closed because the client stopped reading.',
  );
  readonly #collectors: (() => void)[] = [];

  constructor(options: { readonly processMetrics: boolean }) {
    super(new Registry());
    for (const bound of ['all', 'address']) this.#connectionsRefused.inc({ bound }, 0);
    for (const part of faultParts) this.#faults.inc({ part }, 0);
    for (const reason of dropReasons) this.#drops.inc({ reason }, 0);
    if (options.processMetrics)
      collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: loopLookMs });
  }

  describe(role: string): void {
    this.#build.set({ version, role }, 1);
  }

  sessionsByState(counts: Readonly<Record<string, number>>): void {
    for (const state of sessionStates) this.#sessions.set({ state }, counts[state] ?? 0);
  }

  /** @param method one of the protocol's; give "other" for anything else. */
  requestTimer(method: string): { observe(seconds: number): void } {
    return this.#requestSeconds.labels({ method });
  }

  /** @param method one of the protocol's; give "other" for anything else. */
  requestCounter(method: string): { inc(): void } {
    return this.#requests.tally({ method });
  }

  connectionRefused(bound: 'all' | 'address'): void {
    this.#connectionsRefused.inc({ bound });
  }

  refused(reason: ErrorReason): void {
    this.#refusals.inc({ reason });
  }

  /** @param limit a rule's id. */
  limited(limit: string, kind: 'rate' | 'concurrency' | 'quota' | 'bytes' | 'unknown'): void {
    this.#limited.inc({ limit, kind });
  }

  approval(by: 'caller' | 'approvers', outcome: ApprovalOutcome): void {
    this.#approvals.inc({ by, outcome });
  }

  approvalForm(outcome: ApprovalFormOutcome): void {
    this.#approvalForms.inc({ outcome });
  }

  /** @param rule by the id that the configuration gives it. */
  refusedByRule(outcome: 'denied' | 'hidden' | 'recorded', rule: string): void {
    this.#ruleRefusals.inc({ outcome, rule });
  }

  /** @param guardrail by the id that the configuration gives it. */
  guarded(guardrail: string, stage: string, action: string): void {
    this.#guarded.inc({ guardrail, stage, action });
  }

  /** @param labels as rules and guardrails of the configuration name them. */
  labelled(labels: readonly { readonly label: string; readonly server: string }[]): void {
    for (const { label, server } of labels) this.#labels.inc({ label, server });
  }

  /** @param guardrail by the id that the configuration gives it. */
  guardrailTimer(guardrail: string): { observe(seconds: number): void } {
    return this.#guardrailSeconds.labels({ guardrail });
  }

  /** Removes the measurements of checks of a removed guardrail; its decisions stay counted. */
  guardrailForgotten(guardrail: string): void {
    this.#guardrailSeconds.remove({ guardrail });
    for (const state of ['running', 'waiting']) this.guardrailChecks.remove({ guardrail, state });
  }

  /** Results over their bound, and the tokens of them that clients did not get. */
  async savedByResults(): Promise<{ readonly results: number; readonly tokens: number }> {
    const [results, tokens] = await Promise.all(
      [this.results.bounded, this.results.savedTokens].map(async (counter) =>
        (await counter.get()).values.reduce((sum, { value }) => sum + value, 0),
      ),
    );
    return { results: results ?? 0, tokens: tokens ?? 0 };
  }

  dropped(reason: DropReason): void {
    this.#drops.inc({ reason });
  }

  /** @param family of subjects, or a bucket or journal: of a closed set. */
  unreadable(family: string): void {
    this.#unreadable.inc({ family });
  }

  /** @param family of subjects, or a bucket: of a closed set. */
  foreignFormat(family: string): void {
    this.#foreignFormats.inc({ family });
  }

  faulted(part: FaultPart): void {
    this.#faults.inc({ part });
  }

  /** Runs before each scrape: for values that are read, not counted. */
  beforeScrape(collect: () => void): void {
    this.#collectors.push(collect);
  }

  async text(): Promise<string> {
    this.#collect();
    return this.registry.metrics();
  }

  /** The metrics as JSON, for `mergedMetrics` in another process. */
  snapshot(): Promise<MetricsSnapshot> {
    this.#collect();
    return this.registry.getMetricsAsJSON();
  }

  #collect(): void {
    for (const collect of this.#collectors) collect();
    this.upstream.flush();
  }
}
