/**
 * Every metric of the gateway. Label values are of closed sets: configured server names, methods of the protocol, states
 * and reasons of our own tables; never a string a client chose. `docs/metrics.md` is generated from this.
 */
import type { ErrorReason, ListKind, ServerName } from '@omnibus/protocol';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds; from a cache answer to a call that runs for minutes. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export type CallResult = 'result' | 'tool_error' | 'error' | 'fault' | 'cancelled';
export type UpstreamState = 'idle' | 'connecting' | 'ready' | 'backoff' | 'stopped';
const upstreamStates: readonly UpstreamState[] = ['idle', 'connecting', 'ready', 'backoff', 'stopped'];
export type DropReason = 'response_unsolicited' | 'notification_unknown' | 'cancel_unknown' | 'cancel_ambiguous' | 'upstream_late' | 'upstream_invalid' | 'queue_full' | 'actor_event';
const callResults: readonly CallResult[] = ['result', 'tool_error', 'error', 'fault', 'cancelled'];

/** The handles one server's calls are counted with, held ready because looking a label up costs more than counting. */
export interface CallMeter {
  /** @param seconds from the command's arrival at the backend to its last event. */
  finished(result: CallResult, seconds: number): void;
}

export class Metrics {
  readonly registry = new Registry();
  readonly #calls = this.#counter('omnibus_upstream_calls_total', 'Calls to an upstream server, by how they ended.', ['server', 'result']);
  readonly #callSeconds = this.#histogram('omnibus_upstream_call_duration_seconds', 'Time from a call reaching the backend to its end, waiting included.', ['server']);
  readonly #requests = this.#counter('omnibus_client_requests_total', 'Requests of clients, by method of the protocol.', ['method']);
  readonly #refusals = this.#counter('omnibus_refusals_total', 'Requests the gateway itself answered with an error, by reason.', ['reason']);
  readonly #drops = this.#counter('omnibus_dropped_messages_total', 'Messages that had no receiver, by reason.', ['reason']);
  readonly #restarts = this.#counter('omnibus_upstream_restarts_total', 'Connections to an upstream server that were lost and opened again.', ['server']);
  readonly #states = this.#gauge('omnibus_upstream_state', '1 for the state an upstream connection is in, 0 for the others.', ['server', 'state']);
  readonly #inFlight = this.#gauge('omnibus_upstream_in_flight_calls', 'Calls an upstream server is working on.', ['server']);
  readonly #waiting = this.#gauge('omnibus_upstream_waiting_calls', 'Calls that wait for a place at an upstream server.', ['server']);
  readonly #entries = this.#gauge('omnibus_catalog_entries', 'Entries a server offers, by list.', ['server', 'kind']);
  readonly sessions = this.#gauge('omnibus_sessions', 'Sessions this worker holds.', []);
  readonly sessionsOpened = this.#counter('omnibus_sessions_opened_total', 'Sessions opened at this worker.', []);
  readonly sessionsAdopted = this.#counter('omnibus_sessions_adopted_total', 'Sessions taken over from a worker that is gone.', []);
  readonly sessionsExpired = this.#counter('omnibus_sessions_expired_total', 'Sessions ended because nothing happened in them for too long.', []);
  readonly streams = this.#gauge('omnibus_client_streams', 'Event streams open to clients (GET).', []);
  readonly streamsResumed = this.#counter('omnibus_client_streams_resumed_total', 'Streams of a worker that is gone that clients came back to.', []);
  readonly slowReaders = this.#counter('omnibus_slow_readers_closed_total', 'Streams closed because the client stopped reading.', []);

  constructor(options: { readonly processMetrics: boolean }) {
    if (options.processMetrics) collectDefaultMetrics({ register: this.registry });
  }

  callMeter(server: ServerName): CallMeter {
    const counters = new Map(callResults.map((result) => [result, this.#calls.labels({ server, result })]));
    const seconds = this.#callSeconds.labels({ server });
    return {
      finished(result, duration) {
        counters.get(result)?.inc();
        seconds.observe(duration);
      },
    };
  }

  /** @param method one of the protocol's; give "other" for anything else. */
  requestCounter(method: string): { inc(): void } {
    return this.#requests.labels({ method });
  }

  refused(reason: ErrorReason): void {
    this.#refusals.inc({ reason });
  }

  dropped(reason: DropReason): void {
    this.#drops.inc({ reason });
  }

  upstreamState(server: ServerName, state: UpstreamState): void {
    for (const other of upstreamStates) this.#states.set({ server, state: other }, other === state ? 1 : 0);
  }

  upstreamRestarted(server: ServerName): void {
    this.#restarts.inc({ server });
  }

  upstreamLoad(server: ServerName, running: number, waiting: number): void {
    this.#inFlight.set({ server }, running);
    this.#waiting.set({ server }, waiting);
  }

  catalogEntries(server: ServerName, kind: ListKind, count: number): void {
    this.#entries.set({ server, kind }, count);
  }

  /** Forgets a server that was taken out of the configuration. */
  removeServer(server: ServerName): void {
    for (const state of upstreamStates) this.#states.remove({ server, state });
    for (const result of callResults) this.#calls.remove({ server, result });
    this.#callSeconds.remove({ server });
    this.#restarts.remove({ server });
    this.#inFlight.remove({ server });
    this.#waiting.remove({ server });
    for (const kind of ['tools', 'prompts', 'resources', 'resourceTemplates']) this.#entries.remove({ server, kind });
  }

  /** Runs before each scrape: for values that are read, not counted. */
  beforeScrape(collect: () => void): void {
    this.#collectors.push(collect);
  }

  async text(): Promise<string> {
    for (const collect of this.#collectors) collect();
    return this.registry.metrics();
  }

  readonly #collectors: (() => void)[] = [];

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
