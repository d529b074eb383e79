/**
 * The Grafana dashboards. `deploy/grafana/` is made from this by `npm run docs`; a test runs the query of every panel against
 * a Prometheus that watches a gateway at work, and none may be empty.
 */

export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: 'timeseries' | 'stat' | 'table';
  /** Of Grafana: `reqps`, `s`, `bytes`, `short`, `percentunit`, … */
  readonly unit: string;
  /** PromQL with the name of each series. */
  readonly queries: readonly (readonly [legend: string, query: string])[];
  /** Of the 24 columns. */
  readonly width: number;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly hasServer: boolean;
  readonly panels: readonly Panel[];
}

/** The window of rates; Grafana makes it fit the resolution and the scrape interval. */
const window = '$__rate_interval';
const rate = (metric: string, labels = ''): string => `rate(${metric}${labels === '' ? '' : `{${labels}}`}[${window}])`;
const quantile = (part: number, metric: string, by: string, labels = ''): string =>
  `histogram_quantile(${part}, sum by (${by === '' ? 'le' : `le, ${by}`}) (${rate(`${metric}_bucket`, labels)}))`;
const quantiles = (metric: string, labels = ''): [string, string][] =>
  [0.5, 0.95, 0.99].map((part) => [`p${part * 100}`, quantile(part, metric, '', labels)]);

const graph = (title: string, unit: string, queries: Panel['queries'], description: string, width = 8): Panel => ({
  kind: 'timeseries',
  title,
  unit,
  queries,
  description,
  width,
});
const stat = (title: string, unit: string, query: string, description: string): Panel => ({
  kind: 'stat',
  title,
  unit,
  queries: [['', query]],
  description,
  width: 4,
});
const table = (title: string, unit: string, query: string, description: string, width = 12): Panel => ({
  kind: 'table',
  title,
  unit,
  queries: [['', query]],
  description,
  width,
});

const server = 'server="$server"';
/** @param reasons a pattern; `or vector(0)` is needed after it, since a reason nobody met has no series. */
const refusals = (reasons: string): string => rate('omnibus_refusals_total', `reason=~"${reasons}"`);

const whole: readonly Dashboard[] = [
  {
    uid: 'omnibus-overview',
    title: 'Omnibus / Overview',
    hasServer: false,
    description: 'How much the servers are used, and whether they answer.',
    panels: [
      stat('Requests', 'reqps', `sum(${rate('omnibus_client_requests_total')})`, 'Requests of clients a second.'),
      stat('Sessions', 'short', 'sum(omnibus_sessions)', 'Sessions of clients, in all states.'),
      stat(
        'Servers up',
        'short',
        'count(max by (job, namespace, server) (omnibus_upstream_state{state=~"ready|asleep|sign_in"}) == 1)',
        'Servers that at least one process is connected to, or would be with the next call.',
      ),
      stat(
        'Servers down',
        'short',
        'count(max by (job, namespace, server) (omnibus_upstream_state{state=~"ready|asleep|sign_in"}) == 0) or vector(0)',
        'Servers no process is connected to: their tools are not in any list.',
      ),
      stat(
        'Failed calls',
        'percentunit',
        `sum(${rate('omnibus_upstream_calls_total', 'result=~"error|fault"')}) / sum(${rate('omnibus_upstream_calls_total')})`,
        'Share of the calls that ended in an error of the server or of the gateway. Results with `isError` do not count.',
      ),
      stat('Event streams', 'short', 'sum(omnibus_client_streams)', 'Streams clients listen on.'),
      graph(
        'Requests by method',
        'reqps',
        [['{{method}}', `sum by (method) (${rate('omnibus_client_requests_total')})`]],
        'What clients ask for.',
      ),
      graph(
        'Time to answer',
        's',
        quantiles('omnibus_client_request_duration_seconds'),
        'From a request to the last byte of its answer, all methods.',
      ),
      graph(
        'Calls by result',
        'reqps',
        [['{{result}}', `sum by (result) (${rate('omnibus_upstream_calls_total')})`]],
        'How calls to servers end.',
      ),
      graph(
        'Refusals by reason',
        'reqps',
        [['{{reason}}', `sum by (reason) (${rate('omnibus_refusals_total')}) or vector(0)`]],
        'Requests that the gateway itself answered with an error; docs/reference/errors.md says what each reason means.',
      ),
      graph(
        'Time by server, p95',
        's',
        [['{{server}}', quantile(0.95, 'omnibus_upstream_call_duration_seconds', 'server')]],
        'Time of a call, including the wait for a place.',
      ),
      graph(
        'In flight by server',
        'short',
        [['{{server}}', 'sum by (server) (omnibus_upstream_in_flight_calls)']],
        'Calls servers work on.',
      ),
      table(
        'Most used tools',
        'reqps',
        `topk(20, sum by (server, tool) (${rate('omnibus_tool_calls_total')}))`,
        'Calls a second.',
      ),
      table(
        'Slowest tools',
        's',
        `topk(20, sum by (server, tool) (${rate('omnibus_tool_call_seconds_total')}) / sum by (server, tool) (${rate('omnibus_tool_calls_total')}) > 0)`,
        'Mean time of a call.',
      ),
    ],
  },
  {
    uid: 'omnibus-server',
    title: 'Omnibus / One server',
    hasServer: true,
    description: 'One server behind the gateway, in depth.',
    panels: [
      stat(
        'Connected',
        'short',
        `max(omnibus_upstream_state{${server}, state="ready"})`,
        '1 when at least one process is connected.',
      ),
      stat('Calls', 'reqps', `sum(${rate('omnibus_upstream_calls_total', server)})`, 'Calls a second.'),
      stat('In flight', 'short', `sum(omnibus_upstream_in_flight_calls{${server}})`, 'Calls it works on.'),
      stat(
        'Waiting',
        'short',
        `sum(omnibus_upstream_waiting_calls{${server}})`,
        'Calls that wait for a place: see `concurrency`.',
      ),
      stat(
        'Restarts',
        'short',
        `sum(increase(omnibus_upstream_restarts_total{${server}}[1h]))`,
        'Connections that were lost and opened again in the last hour.',
      ),
      stat('Tools', 'short', `max(omnibus_catalog_entries{${server}, kind="tools"})`, "Tools in the server's list."),
      graph(
        'Calls by result',
        'reqps',
        [['{{result}}', `sum by (result) (${rate('omnibus_upstream_calls_total', server)})`]],
        'result and tool_error are answers of the tool; error is one of the server, fault one of the gateway.',
      ),
      graph(
        'Time',
        's',
        quantiles('omnibus_upstream_call_duration_seconds', server),
        'Time of a call, including the wait for a place.',
      ),
      graph(
        'State of connections',
        'short',
        [['{{state}}', `sum by (state) (omnibus_upstream_state{${server}})`]],
        'Processes by the state of their connection.',
      ),
      graph(
        'Wait for a place, p95',
        's',
        [['p95', `${quantile(0.95, 'omnibus_upstream_queue_wait_seconds', '', server)} >= 0 or vector(0)`]],
        'Time for which calls waited for a place, of those that had to wait.',
      ),
      graph(
        'Time-outs and losses',
        'reqps',
        [
          ['timed out', `sum(${rate('omnibus_upstream_timeouts_total', server)})`],
          ['lost, {{outcome}}', `sum by (outcome) (${rate('omnibus_lost_calls_total', server)})`],
        ],
        'Calls that the server did not answer in time, and calls whose adapter was gone.',
      ),
      graph(
        'Circuit openings',
        'short',
        [['{{cause}}', `sum by (cause) (increase(omnibus_upstream_circuit_openings_total{${server}}[5m]))`]],
        'How often a process took the server out of use in the last five minutes: its connection broke, five requests in a row failed, it stopped answering, or an attempt to reconnect failed.',
      ),
      graph(
        'Cancellations',
        'reqps',
        [['cancelled', `sum(${rate('omnibus_upstream_calls_total', `${server}, result="cancelled"`)})`]],
        'Calls that were cancelled by clients, or because their time was over.',
      ),
      graph(
        'Entries',
        'short',
        [['{{kind}}', `max by (kind) (omnibus_catalog_entries{${server}})`]],
        'Tools, prompts, resources and templates of the server.',
        8,
      ),
      table(
        'Tools by use',
        'reqps',
        `sum by (tool) (${rate('omnibus_tool_calls_total', server)})`,
        'Calls a second.',
        8,
      ),
      table(
        'Tools by time',
        's',
        `sum by (tool) (${rate('omnibus_tool_call_seconds_total', server)}) / sum by (tool) (${rate('omnibus_tool_calls_total', server)}) > 0`,
        'Mean time of a call.',
        8,
      ),
    ],
  },
  {
    uid: 'omnibus-bus',
    title: 'Omnibus / Bus and actors',
    hasServer: false,
    description: 'The processes of the gateway, their sessions and streams, and the bus between them.',
    panels: [
      stat('Processes', 'short', 'count(omnibus_build_info)', 'Processes of all roles.'),
      stat(
        'Cut off from the bus',
        'short',
        'count(omnibus_bus_connected == 0) or vector(0)',
        'Processes that cannot reach NATS.',
      ),
      stat(
        'Bus round trip, p95',
        's',
        quantile(0.95, 'omnibus_bus_round_trip_seconds', ''),
        'Time of a message to NATS and back.',
      ),
      stat(
        'Parked calls',
        'short',
        'sum(omnibus_parked_calls)',
        'Calls that wait for an answer between two requests of their client.',
      ),
      stat(
        'Waiting approvals',
        'short',
        'sum(omnibus_approvals_waiting)',
        'Calls that wait for an approval that a rule demands (`omnibus approvals`).',
      ),
      stat(
        'Bytes buffered',
        'bytes',
        'sum(omnibus_client_buffered_bytes)',
        'Bytes written to streams that the network has not taken yet.',
      ),
      stat(
        'Requests in flight',
        'short',
        'sum(omnibus_client_requests_in_flight)',
        'Requests of clients without an answer, including standing streams.',
      ),
      graph(
        'Processes by role',
        'short',
        [['{{role}} {{version}}', 'count by (role, version) (omnibus_build_info)']],
        'Processes that Prometheus scrapes, by role and version.',
      ),
      graph(
        'Sessions by state',
        'short',
        [['{{state}}', 'sum by (state) (omnibus_sessions)']],
        'Sessions of all session workers.',
      ),
      graph(
        'Sessions by worker',
        'short',
        [['{{instance}}', 'sum by (instance) (omnibus_sessions)']],
        'How evenly sessions are distributed over workers.',
      ),
      graph(
        'Sessions come and go',
        'ops',
        [
          ['opened', `sum(${rate('omnibus_sessions_opened_total')})`],
          ['expired', `sum(${rate('omnibus_sessions_expired_total')})`],
          ['handed over', `sum(${rate('omnibus_sessions_handed_over_total')})`],
          ['balanced', `sum(${rate('omnibus_sessions_balanced_total')})`],
          ['adopted', `sum(${rate('omnibus_sessions_adopted_total')})`],
          ['taken by another', `sum(${rate('omnibus_sessions_taken_total')})`],
        ],
        'Adopted: taken over from a worker that was stopped or is gone.',
      ),
      graph(
        'Bus round trip',
        's',
        quantiles('omnibus_bus_round_trip_seconds'),
        'Time of a message to NATS and back, of all processes.',
      ),
      graph(
        'Reconnects',
        'short',
        [['{{instance}}', 'omnibus_bus_reconnects']],
        'How often each process has lost NATS and reconnected.',
      ),
      graph(
        'Streams',
        'short',
        [
          ['open', 'sum(omnibus_client_streams)'],
          ['resumed elsewhere, in 5 min', 'sum(increase(omnibus_client_streams_resumed_total[5m]))'],
          ['closed for not reading, in 5 min', 'sum(increase(omnibus_slow_readers_closed_total[5m]))'],
        ],
        'Event streams that clients have open, and what became of others.',
      ),
      graph(
        'Dropped messages',
        'ops',
        [['{{reason}}', `sum by (reason) (${rate('omnibus_dropped_messages_total')})`]],
        'Messages that had no receiver.',
      ),
      graph(
        'Faults',
        'ops',
        [['{{part}}', `sum by (part) (${rate('omnibus_faults_total')})`]],
        'Bugs that were caught at a boundary.',
      ),
      graph(
        'Event loop, p99',
        's',
        [['{{instance}}', 'nodejs_eventloop_lag_p99_seconds']],
        'How long work waits for the processor. Of an idle process it is the pause between two looks, 50 ms.',
      ),
      graph('Processor', 'percentunit', [['{{instance}}', rate('process_cpu_seconds_total')]], 'Share of one core.'),
      graph('Memory', 'bytes', [['{{instance}}', 'process_resident_memory_bytes']], 'Resident memory of each process.'),
      graph('Heap', 'bytes', [['{{instance}}', 'nodejs_heap_size_used_bytes']], 'Heap used by JavaScript objects.'),
    ],
  },
  {
    uid: 'omnibus-limits',
    title: 'Omnibus / What is kept and refused',
    hasServer: false,
    description: 'What the gateway keeps for clients, and which requests, messages and entries it refuses.',
    panels: [
      stat(
        'Connections of clients',
        'short',
        'sum(omnibus_client_connections)',
        'Open connections; each edge allows limits.maxConnections.',
      ),
      stat(
        'Programs of callers',
        'short',
        'sum(omnibus_caller_programs)',
        'Programs that run for a single caller; each process allows limits.maxCallerPrograms.',
      ),
      stat(
        'Kept for clients',
        'bytes',
        'sum(omnibus_kept_bytes)',
        'Messages kept for clients that come back; each worker allows limits.maxKeptBytes.',
      ),
      stat(
        'Entries left out',
        'short',
        'sum(max by (server) (omnibus_catalog_left_out_entries))',
        'Tools, prompts and resources that servers offer and clients are not shown.',
      ),
      stat(
        'Unreadable, in an hour',
        'short',
        'sum(increase(omnibus_bus_unreadable_total[1h])) or vector(0)',
        'Messages and records on the bus that could not be read.',
      ),
      stat(
        'Refused, in an hour',
        'short',
        'sum(increase(omnibus_refusals_total[1h])) or vector(0)',
        'Requests that the gateway itself answered with an error, for any reason.',
      ),
      graph(
        'Refused connections',
        'ops',
        [['{{bound}}', `sum by (bound) (${rate('omnibus_client_connections_refused_total')})`]],
        'Connections closed at once, by the bound that was reached: of all clients, or of one address.',
      ),
      graph(
        'Refused bodies and requests',
        'ops',
        [
          [
            '{{reason}}',
            `sum by (reason) (${refusals('(message|batch|http|host|origin|gateway|header|envelope)[.].+')}) or vector(0)`,
          ],
        ],
        'Requests that were refused before any work: bodies that are too large, too deep, too many at once or not a message, and requests with a wrong header or path.',
      ),
      graph(
        'Sessions opened and refused',
        'ops',
        [
          ['opened', `sum(${rate('omnibus_sessions_opened_total')})`],
          ['{{reason}}', `sum by (reason) (${refusals('session[.](rate|limit|missing|unknown)')}) or vector(0)`],
          ['ended for new ones, {{kind}}', `sum by (kind) (${rate('omnibus_sessions_shed_total')}) or vector(0)`],
        ],
        'New sessions, and requests refused because their address opens sessions too fast (rate), there are too many (limit), or the session is missing or unknown.',
      ),
      graph(
        'Refused for want of room',
        'ops',
        [
          [
            '{{reason}}',
            `sum by (reason) (${refusals('upstream[.](busy|connections)|(session|gateway)[.]busy|(request|parked|listen|stream|input)[.]limit')}) or vector(0)`,
          ],
        ],
        'Requests that found every place taken: at a server, in a session, or of their kind.',
      ),
      graph(
        'Programs and connections of callers',
        'short',
        [
          ['programs', 'sum(omnibus_caller_programs)'],
          ['connections', 'sum(omnibus_caller_connections)'],
          [
            'refused, in 5 min',
            'sum(increase(omnibus_refusals_total{reason="upstream.connections"}[5m])) or vector(0)',
          ],
        ],
        'Programs and connections that belong to a single caller, and requests that were refused because all that the limits allow are in use.',
      ),
      graph(
        'Connections of callers by server',
        'short',
        [['{{server}}', 'sum by (server) (omnibus_upstream_caller_connections) or vector(0)']],
        'Connections that belong to a single caller; on stdio each has a program.',
      ),
      graph(
        'Left out by server',
        'short',
        [['{{server}}', 'max by (server) (omnibus_catalog_left_out_entries)']],
        'Entries that are invalid or exceed a limit; the log has the reasons.',
      ),
      graph(
        'Held back by server',
        'short',
        [
          ['{{server}}', 'max by (server) (omnibus_definitions_held) or vector(0)'],
          ['changes of {{server}}', 'sum by (server) (increase(omnibus_definitions_changed_total[5m])) or vector(0)'],
        ],
        'Definitions of servers that nobody has approved; omnibus definitions shows them.',
      ),
      graph(
        'Schema problems',
        'ops',
        [['{{server}}, {{what}}', `sum by (server, what) (${rate('omnibus_schema_problems_total')}) or vector(0)`]],
        'Arguments, results and answers that did not match their schema.',
      ),
      graph(
        'Refused by rules',
        'ops',
        [['{{outcome}} by {{rule}}', `sum by (outcome, rule) (${rate('omnibus_policy_refusals_total')}) or vector(0)`]],
        'Requests that rules under access do not permit: denied, hidden, or only recorded.',
      ),
      graph(
        'Refused by limits',
        'ops',
        [['{{kind}} of {{limit}}', `sum by (kind, limit) (${rate('omnibus_limits_refused_total')}) or vector(0)`]],
        'Calls beyond limits.rules, by rule; omnibus usage shows who used how much.',
      ),
      graph(
        'Approvals',
        'ops',
        [
          ['{{outcome}}, by {{by}}', `sum by (outcome, by) (${rate('omnibus_approvals_total')}) or vector(0)`],
          ['messages that nobody took', `sum(${rate('omnibus_approvals_untold_total')}) or vector(0)`],
        ],
        'Calls that rules have approved first, and what became of them.',
      ),
      graph(
        'Guardrails',
        'ops',
        [
          [
            '{{action}} by {{guardrail}}, {{stage}}',
            `sum by (action, guardrail, stage) (${rate('omnibus_guardrail_decisions_total')}) or vector(0)`,
          ],
        ],
        'Messages in which guardrails have found something. failed: the check could not be made, and the message was denied unless the guardrail has onFailure: allow.',
      ),
      graph(
        'Guardrail checks, p95',
        's',
        [['{{guardrail}}', `${quantile(0.95, 'omnibus_guardrail_check_seconds', 'guardrail')} or vector(0)`]],
        'Time of a check by a webhook or a tool, including the wait for a place: every call that is checked takes so much longer.',
      ),
      graph(
        'Guardrail checks at once',
        'short',
        [['{{guardrail}}, {{state}}', 'sum by (guardrail, state) (omnibus_guardrail_checks) or vector(0)']],
        'Checks by webhooks and tools that run and that wait, of all session workers. Beyond four waiting ones for each place, checks fail at once.',
      ),
      graph(
        'Unreadable on the bus',
        'ops',
        [['{{family}}', `sum by (family) (${rate('omnibus_bus_unreadable_total')}) or vector(0)`]],
        'Messages and records that could not be read, by family of subjects or bucket.',
      ),
      graph(
        'Kept bytes',
        'bytes',
        [
          ['for clients that come back', 'sum(omnibus_kept_bytes)'],
          ['calls between two requests', 'sum(omnibus_kept_calls_bytes)'],
          ['said by clients of themselves', 'sum(omnibus_session_bytes)'],
        ],
        'What session workers keep for clients; each kind is bounded for each worker and for each client or session.',
      ),
      graph(
        'Bytes on their way',
        'bytes',
        [
          ['bodies', 'sum(omnibus_client_body_bytes)'],
          ['answers not read', 'sum(omnibus_client_unread_bytes)'],
          ['streams not read', 'sum(omnibus_client_buffered_bytes)'],
        ],
        'Bytes of requests that edges are working on, and of answers that clients have not read.',
      ),
      graph(
        'Let go before its time',
        'ops',
        [['{{bound}}', `sum by (bound) (${rate('omnibus_kept_streams_dropped_total')}) or vector(0)`]],
        'Streams that clients can no longer resume, by the bound that was reached: of a session, or of the process.',
      ),
    ],
  },
  {
    uid: 'omnibus-callers',
    title: 'Omnibus / Who asks',
    hasServer: false,
    description:
      "How callers prove who they are, which requests are refused and why, and what the gateway's own authorization server does. No caller is named.",
    panels: [
      stat(
        'Known callers',
        'reqps',
        `sum(${rate('omnibus_auth_requests_total', 'outcome="verified"')})`,
        'Requests a second whose caller was verified.',
      ),
      stat(
        'Refused',
        'percentunit',
        `(sum(${rate('omnibus_auth_requests_total', 'outcome!="verified"')}) / sum(${rate('omnibus_auth_requests_total')})) >= 0 or vector(0)`,
        'Share of the requests whose caller was not verified.',
      ),
      stat(
        'Sign-ins, in an hour',
        'short',
        'sum(increase(omnibus_sign_ins_total{outcome="good"}[1h]))',
        "Sign-ins at the gateway's own authorization server.",
      ),
      stat(
        'Tokens, in an hour',
        'short',
        'sum(increase(omnibus_oauth_tokens_issued_total[1h]))',
        'Times that a client was issued tokens.',
      ),
      stat(
        'Taken back, in an hour',
        'short',
        'sum(increase(omnibus_oauth_grants_revoked_total[1h]))',
        'Consents of users that were revoked.',
      ),
      stat(
        'Acts at the admin port, in an hour',
        'short',
        'sum(increase(omnibus_admin_acts_total[1h]))',
        'Acts of administrators, without reads of metrics and status.',
      ),
      graph(
        'Known by',
        'reqps',
        [['{{way}}', `sum by (way) (${rate('omnibus_auth_requests_total', 'outcome="verified"')})`]],
        'Requests by the way their caller was verified.',
      ),
      graph(
        'Refused by',
        'reqps',
        [
          [
            '{{way}}, {{outcome}}',
            `sum by (way, outcome) (${rate('omnibus_auth_requests_total', 'outcome!="verified"')})`,
          ],
        ],
        'Refused requests by way and reason. A client that begins to sign in sends one request with way none, refused with auth.required. auth.unavailable: an issuer does not answer.',
      ),
      graph(
        'Sign-ins',
        'ops',
        [['{{way}}, {{outcome}}', `sum by (way, outcome) (${rate('omnibus_sign_ins_total')})`]],
        'Sign-ins by way and outcome. throttled: too many attempts for a name or an address.',
      ),
      graph(
        'Tokens',
        'ops',
        [
          ['{{grant}}', `sum by (grant) (${rate('omnibus_oauth_tokens_issued_total')})`],
          ['refused', `sum(${rate('omnibus_oauth_tokens_refused_total')})`],
        ],
        'Tokens issued, by what the client redeemed, and refusals.',
      ),
      graph(
        'Clients and grants',
        'ops',
        [
          ['registered', `sum(${rate('omnibus_oauth_clients_registered_total')})`],
          ['taken back', `sum(${rate('omnibus_oauth_grants_revoked_total')})`],
        ],
        'Clients that registered themselves, and consents that were revoked.',
      ),
      graph(
        'Admin port',
        'ops',
        [
          ['{{act}}', `sum by (act) (${rate('omnibus_admin_acts_total')})`],
          ['refused, {{why}}', `sum by (why) (${rate('omnibus_admin_refusals_total')})`],
        ],
        'Acts that were done, and acts that were refused: unknown: the caller is not known; role: the caller has no role that permits the act.',
      ),
      graph(
        'Audit',
        'ops',
        [
          ['records', `sum(${rate('omnibus_audit_records_total')}) or vector(0)`],
          ['taken by {{sink}}', `sum by (sink) (${rate('omnibus_audit_written_total')}) or vector(0)`],
          ['lost, {{sink}}', `sum by (sink) (${rate('omnibus_audit_dropped_total')}) or vector(0)`],
        ],
        'Records that were made, records that sinks have taken, and records that were lost because the ring was full.',
      ),
      graph(
        'Audit behind',
        'short',
        [
          ['{{sink}}', 'max by (sink) (omnibus_audit_behind) or vector(0)'],
          ['failing, {{sink}}', 'max by (sink) (omnibus_audit_failing) or vector(0)'],
          ['failures, {{sink}}', `sum by (sink) (${rate('omnibus_audit_failures_total')}) or vector(0)`],
          ['calls not sent', `sum(${rate('omnibus_audit_refusals_total')}) or vector(0)`],
        ],
        'Records that wait for a sink, in the process that is most behind, and calls that were not sent because no record of them could be stored (audit.strict).',
      ),
      graph(
        'TLS',
        'ops',
        [
          ['handshakes failed', `sum(${rate('omnibus_tls_handshakes_failed_total')})`],
          ['changed files refused', `sum(${rate('omnibus_tls_reloads_refused_total')})`],
        ],
        'Connections that ended in the TLS handshake, and changed TLS files that could not be used.',
      ),
    ],
  },
];

/** Names of metrics of the gateway and of its processes. A name ends where its labels or the next part of the expression begin. */
const metric = /\b((?:omnibus|nodejs|process)_\w+)(?:\{([^}]*)\})?/g;

/** Restricts each metric of an expression to the chosen installations. */
function scoped(query: string): string {
  return query.replaceAll(
    metric,
    (_whole, name: string, labels: string | undefined) =>
      `${name}{job=~"$job", namespace=~"$namespace"${labels === undefined || labels === '' ? '' : `, ${labels}`}}`,
  );
}

/** Every panel shows the installations that are chosen, since several may be scraped by one Prometheus. */
export const dashboards: readonly Dashboard[] = whole.map((dashboard) => ({
  ...dashboard,
  panels: dashboard.panels.map((panel) => ({
    ...panel,
    queries: panel.queries.map(([legend, query]) => [legend, scoped(query)] as const),
  })),
}));
