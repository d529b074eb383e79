/**
 * Every metric of the gateway. Label values are of closed sets: configured server names, methods of the protocol, states
 * and reasons of our own tables; never a string a client chose. `docs/metrics.md` is generated from this.
 */
import { version, type ErrorReason, type ListKind, type ServerName } from '@omnibus/protocol';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { adminActs, type AdminAct } from './admin-acts.ts';

/** Seconds; from a cache answer to a call that runs for minutes. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export type CallResult = 'result' | 'tool_error' | 'error' | 'fault' | 'cancelled';
export type UpstreamState = 'idle' | 'connecting' | 'ready' | 'backoff' | 'asleep' | 'stopped';
const upstreamStates: readonly UpstreamState[] = ['idle', 'connecting', 'ready', 'backoff', 'asleep', 'stopped'];
const dropReasons = ['response_unsolicited', 'notification_unknown', 'cancel_unknown', 'cancel_ambiguous', 'upstream_late', 'upstream_invalid', 'upstream_undelivered', 'queue_full', 'actor_event', 'bus_unknown', 'log_storm', 'update_storm'] as const;
type DropReason = (typeof dropReasons)[number];
/** Why a server was taken out of use; `attempt`: it already was, and could not be connected to again. */
const circuitCauses = ['connection', 'faults', 'silence', 'attempt'] as const;
const schemaProblems = ['arguments', 'result', 'answer'] as const;
/** What was held against a schema. */
export type SchemaProblem = (typeof schemaProblems)[number];

export type CircuitCause = (typeof circuitCauses)[number];
/** Where something failed that should not be able to. */
const faultParts = ['request', 'handler', 'observer', 'transport', 'deadline', 'rejection', 'exception'] as const;
export type FaultPart = (typeof faultParts)[number];
const callResults: readonly CallResult[] = ['result', 'tool_error', 'error', 'fault', 'cancelled'];

const callerWays = ['key', 'token', 'certificate', 'proxy', 'none'] as const;
const signInWays = ['password', 'provider'] as const;
const signInOutcomes = ['good', 'refused', 'throttled'] as const;
const tokenGrants = ['authorization_code', 'refresh_token', 'device_code'] as const;
export type SignInWay = (typeof signInWays)[number];
export type SignInOutcome = (typeof signInOutcomes)[number];

/** The handles one server's calls are counted with, held ready because looking a label up costs more than counting. */
export interface CallMeter {
  /**
   * @param seconds from the command's arrival at the backend to its last event.
   * @param tool by the name the server gave it in its list; undefined for what is no call of such a tool.
   */
  finished(result: CallResult, seconds: number, tool: string | undefined): void;
  /** @param seconds a call waited for a place; those that found one at once are not counted. */
  waited(seconds: number): void;
}

/** Tools of one server with series of their own; the calls of all others are counted as "other". */
const maxTools = 500;
const sessionStates = ['opening', 'awaitingInitialized', 'ready', 'draining'] as const;

/** What is not in the registry yet: it gets there with the next scrape, which costs a call less than counting there. */
class ToolMeter {
  readonly calls: Record<CallResult, number> = { result: 0, tool_error: 0, error: 0, fault: 0, cancelled: 0 };
  seconds = 0;
}

export class Metrics {
  readonly registry = new Registry();
  readonly #calls = this.#counter('omnibus_upstream_calls_total', 'Calls to an upstream server, by how they ended.', ['server', 'result']);
  readonly #callSeconds = this.#histogram('omnibus_upstream_call_duration_seconds', 'Time from a call reaching the backend to its end, waiting included.', ['server']);
  readonly #toolCalls = this.#counter('omnibus_tool_calls_total', 'Calls of a tool, by how they ended. Beyond 500 tools of a server, "other".', ['server', 'tool', 'result']);
  readonly #toolSeconds = this.#counter('omnibus_tool_call_seconds_total', 'Time spent in calls of a tool; divided by their number, how long one takes.', ['server', 'tool']);
  readonly #queueSeconds = this.#histogram('omnibus_upstream_queue_wait_seconds', 'Time a call waited for a place at an upstream server; calls that found one at once are not in it.', ['server']);
  readonly #timeouts = this.#counter('omnibus_upstream_timeouts_total', 'Calls that a server did not answer within their time limit.', ['server']);
  readonly #lost = this.#counter('omnibus_lost_calls_total', 'Calls whose adapter was gone, by what became of them: made again, or answered with "outcome unknown".', ['server', 'outcome']);
  readonly #requestSeconds = this.#histogram('omnibus_client_request_duration_seconds', 'Time from a client\'s request to the last byte of its answer, by method of the protocol; streams that stay open by their nature are not in it.', ['method']);
  readonly inFlight = this.#gauge('omnibus_client_requests_in_flight', 'Requests of clients that wait for their answer at this edge, standing streams among them.', []);
  readonly bufferedBytes = this.#gauge('omnibus_client_buffered_bytes', 'Bytes written to event streams that the network has not taken yet.', []);
  readonly unreadBytes = this.#gauge('omnibus_client_unread_bytes', 'Bytes of answers and streams that clients have not taken, where much of it waits (limits.maxUnreadBytes).', []);
  readonly bodyBytes = this.#gauge('omnibus_client_body_bytes', 'Bytes of bodies that are being read or served, but for those that came whole at once (limits.maxPendingBodyBytes).', []);
  readonly connections = this.#gauge('omnibus_client_connections', 'Connections of clients (limits.maxConnections).', []);
  readonly #connectionsRefused = this.#counter('omnibus_client_connections_refused_total', 'Connections of clients closed at once, by whose bound was reached: of all, or of one address.', ['bound']);
  readonly parkedCalls = this.#gauge('omnibus_parked_calls', 'Calls that wait between two requests of their client for an answer to what the server asked.', []);
  readonly requestsWithoutSession = this.#gauge('omnibus_requests_without_session', 'Requests without a session that wait for their answer at this worker.', []);
  readonly keptCalls = this.#gauge('omnibus_kept_calls', 'Calls kept for clients that may come back: parked ones, and answers that may be asked for again.', []);
  readonly keptBytes = this.#gauge('omnibus_kept_calls_bytes', 'Bytes of what kept calls were sent, asked or answered.', []);
  readonly listeners = this.#gauge('omnibus_listeners', 'Subscription streams (2026-07-28) at this worker.', []);
  readonly sessionsHandedOver = this.#counter('omnibus_sessions_handed_over_total', 'Sessions this worker gave up because it was told to stop.', []);
  readonly sessionsLost = this.#counter('omnibus_sessions_taken_total', 'Sessions that another worker took over while this one could not be reached.', []);
  readonly busRoundTrip = this.#histogram('omnibus_bus_round_trip_seconds', 'Time to the bus and back, measured every few seconds.', []);
  readonly busConnected = this.#gauge('omnibus_bus_connected', '1 while the bus can deliver, else 0.', []);
  readonly busReconnects = this.#gauge('omnibus_bus_reconnects', 'How often the bus was lost and found again.', []);
  readonly #build = this.#gauge('omnibus_build_info', 'Always 1; the version and the role of the process.', ['version', 'role']);
  readonly #requests = this.#counter('omnibus_client_requests_total', 'Requests of clients, by method of the protocol.', ['method']);
  readonly #refusals = this.#counter('omnibus_refusals_total', 'Requests the gateway itself answered with an error, by reason.', ['reason']);
  readonly #drops = this.#counter('omnibus_dropped_messages_total', 'Messages that had no receiver, by reason.', ['reason']);
  readonly #unreadable = this.#counter('omnibus_bus_unreadable_total', 'Messages and records on the bus that were no JSON, or not what their subject or bucket carries, by family of subjects or bucket; and large ones that did not arrive whole.', ['family']);
  readonly #foreignFormats = this.#counter('omnibus_bus_foreign_formats_total', 'Signs of life and records of another version of Omnibus that this one cannot read, by family of subjects or bucket: versions run together that are too far apart.', ['family']);
  readonly #faults = this.#counter('omnibus_faults_total', 'Bugs that were caught at a boundary, by which: the work on a client\'s message, the handler of a message of the bus, an observer of replies, a message of a server, a deadline, or nobody (a rejected promise, an exception).', ['part']);
  readonly #restarts = this.#counter('omnibus_upstream_restarts_total', 'Connections to an upstream server that were lost and opened again.', ['server']);
  readonly #schemaProblems = this.#counter('omnibus_schema_problems_total', 'What did not fit its schema at an upstream server: arguments of tools and prompts, results of tools, answers of clients to its questions.', ['server', 'what']);
  readonly #circuit = this.#counter('omnibus_upstream_circuit_openings_total', 'How often an upstream server was taken out of use, by cause: its connection went, requests in a row failed, it answered nothing any more, or an attempt to connect again failed.', ['server', 'cause']);
  readonly #states = this.#gauge('omnibus_upstream_state', '1 for the state an upstream connection is in, 0 for the others.', ['server', 'state']);
  readonly #running = this.#gauge('omnibus_upstream_in_flight_calls', 'Calls an upstream server is working on.', ['server']);
  readonly #waiting = this.#gauge('omnibus_upstream_waiting_calls', 'Calls that wait for a place at an upstream server.', ['server']);
  readonly #connections = this.#gauge('omnibus_upstream_caller_connections', 'Connections to an upstream server that are one caller\'s own; on stdio, programs.', ['server']);
  readonly callerConnections = this.#gauge('omnibus_caller_connections', 'The same of all servers; bounded by limits.maxCallerConnections.', []);
  readonly callerPrograms = this.#gauge('omnibus_caller_programs', 'Programs behind such connections; bounded by limits.maxCallerPrograms.', []);
  readonly #held = this.#gauge('omnibus_definitions_held', 'Tools, prompts and resource templates of a server that are kept from clients because their definitions are not as they were approved.', ['server']);
  readonly #deviated = this.#counter('omnibus_definitions_changed_total', 'Definitions of a server that were seen and are not as they were approved: held back, shown in the words that were approved (old-words), or shown as they are.', ['server', 'effect']);
  readonly #leftOut = this.#gauge('omnibus_catalog_left_out_entries', 'Entries a server offers that are in no list because they do not fit, or are too many.', ['server']);
  readonly #entries = this.#gauge('omnibus_catalog_entries', 'Entries a server offers, by list.', ['server', 'kind']);
  readonly #sessions = this.#gauge('omnibus_sessions', 'Sessions this worker holds, by state.', ['state']);
  readonly sessionsOpened = this.#counter('omnibus_sessions_opened_total', 'Sessions opened at this worker.', []);
  readonly sessionsAdopted = this.#counter('omnibus_sessions_adopted_total', 'Sessions taken over from a worker that is gone.', []);
  readonly sessionsExpired = this.#counter('omnibus_sessions_expired_total', 'Sessions ended because nothing happened in them for too long.', []);
  readonly sessionsShed = this.#counter('omnibus_sessions_shed_total', 'Sessions ended to make room for new ones, by whether they had ever been used; they are among the expired.', ['kind']);
  readonly preparedListBytes = this.#gauge('omnibus_prepared_list_bytes', 'Characters of lists that are kept prepared for callers who do not see everything (limits.maxPreparedListBytes).', []);
  readonly sessionBytes = this.#gauge('omnibus_session_bytes', 'Bytes kept of what clients declared and subscribed to (limits.maxSessionBytes).', []);
  readonly keptFrameBytes = this.#gauge('omnibus_kept_bytes', 'Bytes of messages kept for clients that come back to a stream or have none open (limits.maxKeptBytes).', []);
  readonly keptDropped = this.#counter('omnibus_kept_streams_dropped_total', 'Streams of which what was kept was let go before its time, by whose bound was reached: of a session, or of the process.', ['bound']);
  readonly streamsDetached = this.#counter('omnibus_client_streams_detached_total', 'Streams whose edge was gone, or did not read them any more, without having said so.', []);
  readonly streams = this.#gauge('omnibus_client_streams', 'Event streams open to clients (GET).', []);
  readonly streamsResumed = this.#counter('omnibus_client_streams_resumed_total', 'Streams that clients came back to after their worker was gone.', []);
  readonly readingBytes = this.#gauge('omnibus_upstream_reading_bytes', 'Bytes that have come of large answers of servers over HTTP which are not whole (limits.maxReadingBytes).', []);
  readonly readingWaits = this.#counter('omnibus_upstream_reading_waits_total', 'Times that a large answer of a server was not read any further until others were whole.', []);
  readonly tlsHandshakesFailed = this.#counter('omnibus_tls_handshakes_failed_total', 'Connections of clients that ended before TLS was there: no TLS was spoken, or no certificate shown that is required.', []);
  readonly tlsReloadsRefused = this.#counter('omnibus_tls_reloads_refused_total', 'Times that the changed files of TLS could not be used, and those from before stayed.', []);
  readonly #callers = this.#counter('omnibus_auth_requests_total', 'Requests whose caller was asked for, at the edge and at the admin port, by the way it is known (key, token, certificate, proxy, or none) and what came of it: verified, or the reason of the refusal.', ['way', 'outcome']);
  readonly #limited = this.#counter('omnibus_limits_refused_total', 'Calls that a rule of limits.rules refused, by the rule and what of it: the rate, the calls that run at once, the quota of calls or of bytes, or that it was unknown what is left.', ['limit', 'kind']);
  readonly limitKeys = this.#gauge('omnibus_limit_keys', 'Who and what limits are counted for at this worker: rates, calls that run, and quotas of which a part is leased.', ['table']);
  readonly #signIns = this.#counter('omnibus_sign_ins_total', 'Sign-ins at the authorization server of the gateway, by where the user is known (its file of users, or the OpenID provider) and what came of it.', ['way', 'outcome']);
  readonly #tokens = this.#counter('omnibus_oauth_tokens_issued_total', 'Times that the authorization server has given tokens to a client, by what for: a code, a refresh token, or a code that was typed on another device.', ['grant']);
  readonly oauthRefused = this.#counter('omnibus_oauth_tokens_refused_total', 'Times that the authorization server has given a client no tokens; a program that waits for its code to be typed is not counted.', []);
  readonly oauthRevoked = this.#counter('omnibus_oauth_grants_revoked_total', 'What users had allowed and is taken back: by them, because somebody is no user any more, or because a code or refresh token was used twice.', []);
  readonly oauthRegistered = this.#counter('omnibus_oauth_clients_registered_total', 'Clients that registered themselves.', []);
  readonly #adminActs = this.#counter('omnibus_admin_acts_total', 'Acts at the admin port that were let in, besides metrics and status.', ['act']);
  readonly #ruleRefusals = this.#counter('omnibus_policy_refusals_total', 'What rules (access) do not permit, by rule: denied to those who see it, hidden from those who do not, or only recorded.', ['outcome', 'rule']);
  readonly #adminRefusals = this.#counter('omnibus_admin_refusals_total', 'Requests to the admin port that were refused, by act and why: nobody is known by what they bring, or whoever it is has no role for that.', ['act', 'why']);
  readonly slowReaders = this.#counter('omnibus_slow_readers_closed_total', 'Streams closed because the client stopped reading.', []);

  constructor(options: { readonly processMetrics: boolean }) {
    for (const bound of ['all', 'address']) this.#connectionsRefused.inc({ bound }, 0);
    for (const way of callerWays) {
      this.#callers.inc({ way, outcome: 'verified' }, 0);
      this.#callers.inc({ way, outcome: way === 'none' ? 'auth.required' : 'auth.invalid' }, 0);
    }
    for (const way of signInWays) for (const outcome of signInOutcomes) this.#signIns.inc({ way, outcome }, 0);
    for (const grant of tokenGrants) this.#tokens.inc({ grant }, 0);
    for (const act of adminActs) {
      this.#adminActs.inc({ act }, 0);
      for (const why of ['unknown', 'role']) this.#adminRefusals.inc({ act, why }, 0);
    }
    for (const part of faultParts) this.#faults.inc({ part }, 0);
    for (const reason of dropReasons) this.#drops.inc({ reason }, 0);
    if (options.processMetrics) collectDefaultMetrics({ register: this.registry });
  }

  callMeter(server: ServerName): CallMeter {
    const counters = new Map(callResults.map((result) => [result, this.#calls.labels({ server, result })]));
    const seconds = this.#callSeconds.labels({ server });
    const waits = this.#queueSeconds.labels({ server });
    const tools = new Map<string, ToolMeter>();
    const meterOf = (name: string): ToolMeter => {
      const known = tools.get(name);
      if (known !== undefined) return known;
      const tool = tools.size < maxTools ? name : 'other';
      const meter = tools.get(tool) ?? new ToolMeter();
      tools.set(tool, meter);
      return meter;
    };
    this.#tools.set(server, tools);
    // A series that is not there cannot be told from one that nobody scrapes.
    this.#restarts.inc({ server }, 0);
    this.#timeouts.inc({ server }, 0);
    for (const cause of circuitCauses) this.#circuit.inc({ server, cause }, 0);
    for (const outcome of ['repeated', 'unknown']) this.#lost.inc({ server, outcome }, 0);
    for (const result of callResults) this.#calls.inc({ server, result }, 0);
    return {
      finished(result, duration, tool) {
        counters.get(result)?.inc();
        seconds.observe(duration);
        if (tool === undefined) return;
        const meter = meterOf(tool);
        meter.calls[result] += 1;
        meter.seconds += duration;
      },
      waited: (duration) => waits.observe(duration),
    };
  }

  describe(role: string): void {
    this.#build.set({ version, role }, 1);
  }

  sessionsByState(counts: Readonly<Record<string, number>>): void {
    for (const state of sessionStates) this.#sessions.set({ state }, counts[state] ?? 0);
  }

  timedOut(server: ServerName): void {
    this.#timeouts.inc({ server });
  }

  lost(server: ServerName, outcome: 'repeated' | 'unknown'): void {
    this.#lost.inc({ server, outcome });
  }

  /** @param method one of the protocol's; give "other" for anything else. */
  requestTimer(method: string): { observe(seconds: number): void } {
    return this.#requestSeconds.labels({ method });
  }

  /** @param method one of the protocol's; give "other" for anything else. */
  requestCounter(method: string): { inc(): void } {
    return this.#requests.labels({ method });
  }

  /** @param way and outcome of the closed sets of `identity/tally.ts`. */
  callersAsked(way: string, outcome: string, count: number): void {
    this.#callers.inc({ way, outcome }, count);
  }

  /** @param limit a rule's id. */
  limited(limit: string, kind: 'rate' | 'concurrency' | 'quota' | 'bytes' | 'unknown'): void {
    this.#limited.inc({ limit, kind });
  }

  signedIn(way: SignInWay, outcome: SignInOutcome): void {
    this.#signIns.inc({ way, outcome });
  }

  /** @param grant what a client has asked with; what is none of those that give tokens is not counted. */
  tokensIssued(grant: unknown): void {
    const name = String(grant).replace(/^urn:ietf:params:oauth:grant-type:/, '');
    if ((tokenGrants as readonly string[]).includes(name)) this.#tokens.inc({ grant: name });
  }

  adminActed(act: AdminAct): void {
    this.#adminActs.inc({ act });
  }

  adminRefused(act: AdminAct, why: 'unknown' | 'role' | 'unavailable'): void {
    this.#adminRefusals.inc({ act, why });
  }

  connectionRefused(bound: 'all' | 'address'): void {
    this.#connectionsRefused.inc({ bound });
  }

  /** @param rule by the id that the configuration gives it. */
  refusedByRule(outcome: 'denied' | 'hidden' | 'recorded', rule: string): void {
    this.#ruleRefusals.inc({ outcome, rule });
  }

  refused(reason: ErrorReason): void {
    this.#refusals.inc({ reason });
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

  upstreamState(server: ServerName, state: UpstreamState): void {
    for (const other of upstreamStates) this.#states.set({ server, state: other }, other === state ? 1 : 0);
  }

  schemaProblem(server: ServerName, what: SchemaProblem): void {
    this.#schemaProblems.inc({ server, what });
  }

  upstreamRestarted(server: ServerName): void {
    this.#restarts.inc({ server });
  }

  circuitOpened(server: ServerName, cause: CircuitCause): void {
    this.#circuit.inc({ server, cause });
  }

  upstreamLoad(server: ServerName, { running, waiting, connections }: { readonly running: number; readonly waiting: number; readonly connections: number }): void {
    this.#running.set({ server }, running);
    this.#waiting.set({ server }, waiting);
    this.#connections.set({ server }, connections);
  }

  catalogLeftOut(server: ServerName, count: number): void {
    this.#leftOut.set({ server }, count);
  }

  definitionsHeld(server: ServerName, count: number): void {
    this.#held.set({ server }, count);
  }

  definitionDeviated(server: ServerName, effect: 'held' | 'old-words' | 'shown'): void {
    this.#deviated.inc({ server, effect });
  }

  catalogEntries(server: ServerName, kind: ListKind, count: number): void {
    this.#entries.set({ server, kind }, count);
  }

  /** Forgets a server that was taken out of the configuration. */
  removeServer(server: ServerName): void {
    for (const state of upstreamStates) this.#states.remove({ server, state });
    for (const result of callResults) this.#calls.remove({ server, result });
    this.#callSeconds.remove({ server });
    this.#queueSeconds.remove({ server });
    this.#timeouts.remove({ server });
    for (const cause of circuitCauses) this.#circuit.remove({ server, cause });
    for (const outcome of ['repeated', 'unknown']) this.#lost.remove({ server, outcome });
    for (const tool of this.#tools.get(server)?.keys() ?? []) {
      this.#toolSeconds.remove({ server, tool });
      for (const result of callResults) this.#toolCalls.remove({ server, tool, result });
    }
    this.#tools.delete(server);
    this.#restarts.remove({ server });
    for (const what of schemaProblems) this.#schemaProblems.remove({ server, what });
    this.#running.remove({ server });
    this.#waiting.remove({ server });
    this.#connections.remove({ server });
    this.#leftOut.remove({ server });
    this.#held.remove({ server });
    for (const effect of ['held', 'old-words', 'shown']) this.#deviated.remove({ server, effect });
    for (const kind of ['tools', 'prompts', 'resources', 'resourceTemplates']) this.#entries.remove({ server, kind });
  }

  /** Runs before each scrape: for values that are read, not counted. */
  beforeScrape(collect: () => void): void {
    this.#collectors.push(collect);
  }

  async text(): Promise<string> {
    for (const collect of this.#collectors) collect();
    for (const [server, tools] of this.#tools) for (const [tool, meter] of tools) this.#flush(server, tool, meter);
    return this.registry.metrics();
  }

  #flush(server: ServerName, tool: string, meter: ToolMeter): void {
    for (const result of callResults) if (meter.calls[result] > 0) this.#toolCalls.inc({ server, tool, result }, meter.calls[result]);
    if (meter.seconds > 0) this.#toolSeconds.inc({ server, tool }, meter.seconds);
    Object.assign(meter.calls, new ToolMeter().calls);
    meter.seconds = 0;
  }

  readonly #collectors: (() => void)[] = [];
  /** The tools with series of their own, by server. */
  readonly #tools = new Map<ServerName, Map<string, ToolMeter>>();

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  #histogram<Label extends string>(name: string, help: string, labelNames: Label[]): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: durationBuckets, registers: [this.registry] });
  }
}
