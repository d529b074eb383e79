/** Metrics of servers and of the calls of them. Label values are of closed sets, as in `metrics.ts`: a tool has a name there only if its server lists it. */
import { repairs, type ListKind, type Repair, type ServerName } from '@omnibus/protocol';
import { Instruments } from './instruments.ts';
import type { Tally } from './series.ts';

export type CallResult = 'result' | 'tool_error' | 'error' | 'fault' | 'cancelled';
const callResults: readonly CallResult[] = ['result', 'tool_error', 'error', 'fault', 'cancelled'];

/** `sign_in`: the server is up, and refuses requests without a sign-in. */
export type UpstreamState = 'idle' | 'connecting' | 'ready' | 'backoff' | 'sign_in' | 'asleep' | 'stopped';
const upstreamStates: readonly UpstreamState[] = [
  'idle',
  'connecting',
  'ready',
  'backoff',
  'sign_in',
  'asleep',
  'stopped',
];
const credentialOutcomes = ['good', 'refused', 'unavailable'] as const;
type CredentialOutcome = (typeof credentialOutcomes)[number];
const circuitCauses = ['connection', 'faults', 'silence', 'attempt'] as const;
/** Why the circuit of a server opened; `attempt`: it already was open, and a reconnection failed. */
export type CircuitCause = (typeof circuitCauses)[number];

const schemaProblems = ['arguments', 'result', 'answer', 'question'] as const;
/** What did not fit its schema. */
export type SchemaProblem = (typeof schemaProblems)[number];

/** The handles one server's calls are counted with, held ready because looking a label up costs more than counting. */
export interface CallMeter {
  /**
   * @param seconds from the command's arrival at the backend to its last event.
   * @param tool by the name the server gave it in its list; undefined for other requests.
   */
  finished(result: CallResult, seconds: number, tool: string | undefined): void;
  /** @param seconds a call waited for a place; those that found one at once are not counted. */
  waited(seconds: number): void;
}

export interface CurrentState {
  readonly state: UpstreamState;
  readonly since: number;
}

const isTrying = (state: UpstreamState): boolean => state === 'idle' || state === 'connecting' || state === 'backoff';

/** Counts of calls since the process began. */
export interface CallCounts {
  readonly servers: readonly {
    readonly server: string;
    readonly calls: number;
    readonly failed: number;
    readonly seconds: number;
    readonly buckets: readonly number[];
  }[];
  readonly tools: readonly {
    readonly server: string;
    readonly tool: string;
    readonly calls: number;
    readonly failed: number;
    readonly seconds: number;
  }[];
}

/** Tools of one server with series of their own; the calls of all others are counted as "other". */
const maxTools = 500;

/** Counts that are not in the registry yet: they get there with the next scrape, which costs a call less than counting there. */
class ToolMeter {
  readonly calls: Record<CallResult, number> = { result: 0, tool_error: 0, error: 0, fault: 0, cancelled: 0 };
  seconds = 0;
}

/** The present load of a server. */
export interface UpstreamLoad {
  readonly running: number;
  readonly waiting: number;
  /** Calls that wait until their user has signed in. */
  readonly signIns: number;
  readonly connections: number;
}

export class UpstreamMetrics extends Instruments {
  readonly #calls = this.counter('omnibus_upstream_calls_total', 'Calls to an upstream server, by how they ended.', [
    'server',
    'result',
  ]);
  readonly #callSeconds = this.histogram(
    'omnibus_upstream_call_duration_seconds',
    'Time from the arrival of a call at the backend to its end, including the wait for a place.',
    ['server'],
  );
  readonly #toolCalls = this.counter(
    'omnibus_tool_calls_total',
    'Calls of a tool, by how they ended. Beyond 500 tools of a server, "other".',
    ['server', 'tool', 'result'],
  );
  readonly #toolSeconds = this.counter(
    'omnibus_tool_call_seconds_total',
    'Time spent in calls of a tool; divided by omnibus_tool_calls_total it is the mean time of a call.',
    ['server', 'tool'],
  );
  readonly #queueSeconds = this.histogram(
    'omnibus_upstream_queue_wait_seconds',
    'Time for which a call waited for a place at an upstream server; calls that found a place at once are not included.',
    ['server'],
  );
  readonly #timeouts = this.counter(
    'omnibus_upstream_timeouts_total',
    'Calls that a server did not answer within their time limit.',
    ['server'],
  );
  readonly #lost = this.counter(
    'omnibus_lost_calls_total',
    'Calls that lost their adapter, by outcome: retried (repeated), or answered with "outcome unknown" (unknown).',
    ['server', 'outcome'],
  );
  readonly #restarts = this.counter(
    'omnibus_upstream_restarts_total',
    'Connections to an upstream server that were lost and opened again.',
    ['server'],
  );
  readonly #schemaProblems = this.counter(
    'omnibus_schema_problems_total',
    'Values that did not match their schema or the shape of their message, by server and kind: arguments of tools and prompts, results, questions of the server, answers of clients to these.',
    ['server', 'what'],
  );
  readonly #credentials = this.counter(
    'omnibus_credential_requests_total',
    'Requests to an issuer for a token for an upstream server, by outcome: a token (good), a refusal, or no answer (unavailable).',
    ['server', 'outcome'],
  );
  readonly #circuit = this.counter(
    'omnibus_upstream_circuit_openings_total',
    'Openings of the circuit of an upstream server, by cause: its connection broke (connection), requests in a row and a ping failed (faults), it stopped answering (silence), or an attempt to reconnect failed (attempt).',
    ['server', 'cause'],
  );
  readonly #states = this.gauge(
    'omnibus_upstream_state',
    '1 for the state an upstream connection is in, 0 for the others. sign_in: the server is there, and each user has to sign in first.',
    ['server', 'state'],
  );
  readonly #paused = this.gauge(
    'omnibus_upstream_paused',
    '1 while a server is paused (omnibus pause): nothing new is sent to it. 0 for the others.',
    ['server'],
  );
  readonly #running = this.gauge('omnibus_upstream_in_flight_calls', 'Calls an upstream server is working on.', [
    'server',
  ]);
  readonly #waiting = this.gauge(
    'omnibus_upstream_waiting_calls',
    'Calls that wait for a place at an upstream server.',
    ['server'],
  );
  readonly #connections = this.gauge(
    'omnibus_upstream_caller_connections',
    'Connections to an upstream server that belong to a single caller or session; on stdio each has a program of its own.',
    ['server'],
  );
  readonly callerConnections = this.gauge(
    'omnibus_caller_connections',
    'Connections to all upstream servers that belong to a single caller or session; bounded by limits.maxCallerConnections.',
  );
  readonly callerPrograms = this.gauge(
    'omnibus_caller_programs',
    'Programs of all upstream servers that run for a single caller or session; bounded by limits.maxCallerPrograms.',
  );
  readonly #held = this.gauge(
    'omnibus_definitions_held',
    'Tools, prompts and resource templates of a server that clients are not shown because their definitions differ from the approved ones.',
    ['server'],
  );
  readonly #deviated = this.counter(
    'omnibus_definitions_changed_total',
    'Definitions of a server that were seen to differ from the approved ones, by effect: held back (held), shown with the approved texts (old-words), or shown as they are (shown).',
    ['server', 'effect'],
  );
  readonly #signInWaiting = this.gauge(
    'omnibus_sign_in_waiting_calls',
    'Calls that wait until their user has signed in at the server: 1,000 at most, and 250 of one user. Further ones are answered with the address of the sign-in.',
    ['server'],
  );
  readonly #signInsWanted = this.gauge(
    'omnibus_sign_ins_wanted',
    'Users that must sign in before they can see or call the tools of a server, among those with known lists.',
    ['server'],
  );
  readonly #vaultUnreadable = this.gauge(
    'omnibus_vault_unreadable_connections',
    'Connections of users to a server that cannot be decrypted because a key of the vault is missing.',
    ['server'],
  );
  readonly #leftOut = this.gauge(
    'omnibus_catalog_left_out_entries',
    'Entries of a server that are left out of its lists because they are invalid or exceed a limit.',
    ['server'],
  );
  readonly #repairs = this.counter(
    'omnibus_upstream_repairs_total',
    'Violations of the specification by a server that the gateway repaired because they were unambiguous, by kind.',
    ['server', 'repair'],
  );
  readonly #entries = this.gauge('omnibus_catalog_entries', 'Entries a server offers, by list.', ['server', 'kind']);
  readonly readingBytes = this.gauge(
    'omnibus_upstream_reading_bytes',
    'Bytes received of large answers of servers over HTTP that are not complete yet (limits.maxReadingBytes).',
  );
  readonly readingWaits = this.counter(
    'omnibus_upstream_reading_waits_total',
    'Times that reading a large answer of a server was paused until other answers were complete.',
  );
  readonly #current = new Map<ServerName, CurrentState>();
  readonly #tools = new Map<ServerName, Map<string, ToolMeter>>();

  callMeter(server: ServerName): CallMeter {
    const counters = Object.fromEntries(
      callResults.map((result) => [result, this.#calls.tally({ server, result })]),
    ) as Record<CallResult, Tally>;
    const seconds = this.#callSeconds.labels({ server });
    const waits = this.#queueSeconds.labels({ server });
    const tools = new Map<string, ToolMeter>();
    const meterOf = (name: string): ToolMeter => {
      const tool = tools.size < maxTools ? name : 'other';
      const meter = tools.get(tool) ?? new ToolMeter();
      tools.set(tool, meter);
      return meter;
    };
    this.#tools.set(server, tools);
    // Series start at 0: a missing series would look like a process that is not scraped.
    this.#restarts.inc({ server }, 0);
    this.#timeouts.inc({ server }, 0);
    for (const cause of circuitCauses) this.#circuit.inc({ server, cause }, 0);
    for (const outcome of ['repeated', 'unknown']) this.#lost.inc({ server, outcome }, 0);
    for (const result of callResults) this.#calls.inc({ server, result }, 0);
    return {
      finished(result, duration, tool) {
        counters[result].inc();
        seconds.observe(duration);
        if (tool === undefined) return;
        const meter = tools.get(tool) ?? meterOf(tool);
        meter.calls[result] += 1;
        meter.seconds += duration;
      },
      waited: (duration) => waits.observe(duration),
    };
  }

  timedOut(server: ServerName): void {
    this.#timeouts.inc({ server });
  }

  lost(server: ServerName, outcome: 'repeated' | 'unknown'): void {
    this.#lost.inc({ server, outcome });
  }

  state(server: ServerName, state: UpstreamState): void {
    const before = this.#current.get(server);
    if (before?.state === state) return;
    for (const other of upstreamStates) this.#states.set({ server, state: other }, other === state ? 1 : 0);
    // An attempt to connect again does not end a fault.
    const isSameFault = before !== undefined && isTrying(before.state) && isTrying(state);
    this.#current.set(server, { state, since: isSameFault ? before.since : Date.now() });
  }

  /** The state its first connection is in, and since when, in milliseconds since 1970; a server that cannot be connected to is so since the fault. */
  stateOf(server: ServerName): CurrentState | undefined {
    return this.#current.get(server);
  }

  schemaProblem(server: ServerName, what: SchemaProblem): void {
    this.#schemaProblems.inc({ server, what });
  }

  restarted(server: ServerName): void {
    this.#restarts.inc({ server });
  }

  signInsWanted(server: ServerName, users: number): void {
    this.#signInsWanted.set({ server }, users);
  }

  /** @param servers one for each connection that cannot be decrypted. */
  vaultUnreadable(servers: readonly string[]): void {
    this.#vaultUnreadable.reset();
    for (const server of servers) this.#vaultUnreadable.inc({ server });
  }

  credentialsAsked(server: ServerName, outcome: CredentialOutcome): void {
    this.#credentials.inc({ server, outcome });
  }

  circuitOpened(server: ServerName, cause: CircuitCause): void {
    this.#circuit.inc({ server, cause });
  }

  load(server: ServerName, { running, waiting, signIns, connections }: UpstreamLoad): void {
    this.#running.set({ server }, running);
    this.#waiting.set({ server }, waiting);
    this.#signInWaiting.set({ server }, signIns);
    this.#connections.set({ server }, connections);
  }

  /** @param servers all of them. @param paused those that are paused. */
  paused(servers: Iterable<string>, paused: ReadonlySet<string>): void {
    this.#paused.reset();
    for (const server of servers) this.#paused.set({ server }, paused.has(server) ? 1 : 0);
  }

  leftOut(server: ServerName, count: number): void {
    this.#leftOut.set({ server }, count);
  }

  repaired(server: ServerName, repair: Repair): void {
    this.#repairs.inc({ server, repair });
  }

  definitionsHeld(server: ServerName, count: number): void {
    this.#held.set({ server }, count);
  }

  definitionDeviated(server: ServerName, effect: 'held' | 'old-words' | 'shown'): void {
    this.#deviated.inc({ server, effect });
  }

  entries(server: ServerName, kind: ListKind, count: number): void {
    this.#entries.set({ server, kind }, count);
  }

  /** Removes a server that is no longer in the configuration. */
  forget(server: ServerName): void {
    for (const state of upstreamStates) this.#states.remove({ server, state });
    for (const result of callResults) this.#calls.remove({ server, result });
    this.#callSeconds.remove({ server });
    this.#queueSeconds.remove({ server });
    this.#timeouts.remove({ server });
    for (const cause of circuitCauses) this.#circuit.remove({ server, cause });
    for (const outcome of credentialOutcomes) this.#credentials.remove({ server, outcome });
    for (const outcome of ['repeated', 'unknown']) this.#lost.remove({ server, outcome });
    for (const tool of this.#tools.get(server)?.keys() ?? []) {
      this.#toolSeconds.remove({ server, tool });
      for (const result of callResults) this.#toolCalls.remove({ server, tool, result });
    }
    this.#tools.delete(server);
    this.#current.delete(server);
    this.#restarts.remove({ server });
    for (const what of schemaProblems) this.#schemaProblems.remove({ server, what });
    this.#running.remove({ server });
    this.#waiting.remove({ server });
    this.#signInWaiting.remove({ server });
    this.#signInsWanted.remove({ server });
    this.#connections.remove({ server });
    this.#leftOut.remove({ server });
    for (const repair of Object.keys(repairs)) this.#repairs.remove({ server, repair });
    this.#held.remove({ server });
    for (const effect of ['held', 'old-words', 'shown']) this.#deviated.remove({ server, effect });
    for (const kind of ['tools', 'prompts', 'resources', 'resourceTemplates']) this.#entries.remove({ server, kind });
  }

  /** For the API: of `buckets`, each counts the calls that took no longer than the bound of its place in `durationBuckets`. */
  async counts(): Promise<CallCounts> {
    this.flush();
    const [servers, tools, toolSeconds] = await Promise.all([
      this.serverCounts(),
      this.#toolCalls.get(),
      this.#toolSeconds.get(),
    ]);
    const spent = new Map(toolSeconds.values.map(({ labels, value }) => [`${labels.server}/${labels.tool}`, value]));
    return {
      servers,
      tools: [...Map.groupBy(tools.values, ({ labels }) => `${labels.server}/${labels.tool}`)].map(
        ([name, values]) => ({
          server: String(values[0]?.labels.server),
          tool: String(values[0]?.labels.tool),
          ...sums(values),
          seconds: spent.get(name) ?? 0,
        }),
      ),
    };
  }

  /** For the API: the same of servers alone, which costs no more with many tools. */
  async serverCounts(): Promise<CallCounts['servers']> {
    const [calls, seconds] = await Promise.all([this.#calls.get(), this.#callSeconds.get()]);
    const ofSeconds = Map.groupBy(seconds.values, ({ labels }) => String(labels.server));
    return [...Map.groupBy(calls.values, ({ labels }) => String(labels.server))].map(([server, values]) => {
      const times = ofSeconds.get(server) ?? [];
      const buckets = times
        .filter(
          ({ metricName, labels }) =>
            metricName?.endsWith('_bucket') === true && (labels as { readonly le?: string | number }).le !== '+Inf',
        )
        .map(({ value }) => value);
      return {
        server,
        ...sums(values),
        seconds: times.find(({ metricName }) => metricName?.endsWith('_sum') === true)?.value ?? 0,
        buckets,
      };
    });
  }

  /** Puts the counts since the last scrape into the registry. */
  flush(): void {
    for (const [server, tools] of this.#tools) for (const [tool, meter] of tools) this.#flush(server, tool, meter);
  }

  #flush(server: ServerName, tool: string, meter: ToolMeter): void {
    for (const result of callResults)
      if (meter.calls[result] > 0) this.#toolCalls.inc({ server, tool, result }, meter.calls[result]);
    if (meter.seconds > 0) this.#toolSeconds.inc({ server, tool }, meter.seconds);
    Object.assign(meter.calls, new ToolMeter().calls);
    meter.seconds = 0;
  }
}

/** The calls that some series count, and those of them that failed. */
function sums(
  values: readonly { readonly value: number; readonly labels: { readonly result?: string | number | undefined } }[],
): { readonly calls: number; readonly failed: number } {
  return {
    calls: values.reduce((sum, { value }) => sum + value, 0),
    failed: values.reduce((sum, { value, labels }) => (labels.result === 'result' ? sum : sum + value), 0),
  };
}
