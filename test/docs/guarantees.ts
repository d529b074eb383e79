/** The rows of `docs/reference/guarantees.md`: a fault, a kind of request, the outcome for its client, and the test that shows it. */

export interface Guarantee {
  /** The part that dies, and the moment. */
  readonly fault: string;
  readonly request: string;
  /** The revisions that the test uses; `all` if it is below them. */
  readonly era: string;
  readonly sees: string;
  /** How often a server executes the request. */
  readonly executed: 'once' | 'at most once' | 'once or twice';
  /** File and title, as the source has it. */
  readonly test: readonly [file: string, title: string];
}

const takeover = 'test/e2e/takeover.test.ts';
const survival = 'test/e2e/survival.test.ts';
const restart = 'test/e2e/restart.test.ts';
const workers = 'test/e2e/workers.test.ts';
const both = '2025-11-25, 2026-07-28';

export const guarantees: readonly Guarantee[] = [
  {
    fault: 'session worker killed; another one runs',
    request: 'a call, also one that is answered before another worker owns the session',
    era: both,
    sees: 'the answer; the next worker continues the call, or gets the answer that the backend worker keeps for ten seconds',
    executed: 'once',
    test: [
      takeover,
      'a client of %s gets the answers of its calls when their session worker is killed, and the server gets each call once',
    ],
  },
  {
    fault: 'session worker killed',
    request: 'a call that the client sends in that moment',
    era: both,
    sees: 'the answer',
    executed: 'once',
    test: [
      takeover,
      'calls of a client of %s that come while their worker dies reach the server once, and get answers',
    ],
  },
  {
    fault: 'session worker killed',
    request: 'a request about a task, also if its server is a program at one backend worker',
    era: both,
    sees: 'the answer; the task continues at its server',
    executed: 'once',
    test: [
      'test/outside/affinity-tasks.test.ts',
      'a task outlives its session worker: clients of both revisions find it, and get its result',
    ],
  },
  {
    fault: 'no part dies: a session worker starts, and the others give it idle sessions',
    request: 'the next request of a moved session, and its GET stream',
    era: '2025-11-25',
    sees: 'the answer; the stream continues',
    executed: 'once',
    test: [
      'services/session/src/ownership/balance.test.ts',
      'gets idle sessions of another one, with their open streams, and no session with an open request',
    ],
  },
  {
    fault: 'an edge sends a request to its session worker again, and the first copy arrives after the second one',
    request: 'a call',
    era: '2025-03-26',
    sees: 'the answer',
    executed: 'once',
    test: [
      'services/session/src/features/takeover/takeover.test.ts',
      'a POST that comes to its worker twice, the first copy after the second one, makes its call once',
    ],
  },
  {
    fault: 'session worker killed, and a backend worker is gone that had the call and gave late signs of life',
    request: 'a call',
    era: 'all',
    sees: 'unknown',
    executed: 'at most once',
    test: [
      'packages/bus/src/presence.test.ts',
      'workers of the last seconds are not all known, if one is gone after late signs of life',
    ],
  },
  {
    fault: 'session worker killed',
    request: 'a request that only reads, or a call of a tool with `idempotentHint` or `readOnlyHint`',
    era: '2025-11-25',
    sees: 'the answer; the next worker sends it again',
    executed: 'once or twice',
    test: [survival, 'SIGKILL: open requests are answered and never executed twice; reading requests are sent again'],
  },
  {
    fault: 'session worker killed',
    request: 'a subscription (`subscriptions/listen`)',
    era: '2026-07-28',
    sees: 'a second acknowledgement, and then notifications of changes',
    executed: 'once or twice',
    test: [survival, 'SIGKILL: requests without a session are answered too, and a subscription goes on'],
  },
  {
    fault: "session worker killed while a server waits for the client's answer",
    request: 'a call with a question of the server',
    era: '2025-11-25',
    sees: 'the question under another id; the answer to the first id is refused with `question.lost`',
    executed: 'once',
    test: [
      takeover,
      'a question that was open when the session worker died comes again, and its answer reaches the server',
    ],
  },
  {
    fault: 'session worker killed between two rounds',
    request: 'a call with a question of the server',
    era: '2026-07-28',
    sees: 'the answer, after the round; the next worker finds the call at its backend worker, which asks the question again',
    executed: 'once',
    test: [
      survival,
      "calls that wait for their client at a worker that is gone go on, whichever worker gets the client's answer",
    ],
  },
  {
    fault: 'session worker killed while a call waits for approvers',
    request: 'a call that a rule with `approvers` holds',
    era: '2026-07-28',
    sees: 'the outcome after the decision, whether approvers decide before or after the next worker has the call; they see the call once',
    executed: 'once',
    test: [
      'services/session/src/worker-approvals-takeover.test.ts',
      'approvers see a call once that outlives its session worker, and its server gets it once, if they approve it %s',
    ],
  },
  {
    fault: 'session worker killed while the backend worker of the call stops in an orderly way',
    request: 'a call',
    era: '2025-11-25',
    sees: 'the answer; the backend worker waits up to ten seconds for the next session worker to take it',
    executed: 'once',
    test: [takeover, 'a call at a backend worker that stops goes on there when its session worker is killed'],
  },
  {
    fault: 'session worker killed, and a backend worker that may have had the call is gone',
    request: 'a call',
    era: 'all',
    sees: 'unknown, unless a living backend worker has the call',
    executed: 'at most once',
    test: ['packages/bus/src/after-asking.test.ts', 'one is gone or silent'],
  },
  {
    fault: 'session worker killed',
    request:
      'a call that comes to an edge in the first second of that edge, which may not know all backend workers yet',
    era: 'all',
    sees: 'unknown, unless a backend worker says that it has the call, or the next session worker began more than a second before it',
    executed: 'at most once',
    test: [
      'services/session/src/features/takeover/takeover.test.ts',
      'a call that %s at the one backend worker that a young edge knows ends as far as that is known',
    ],
  },
  {
    fault: 'session worker does not run for more than four seconds',
    request: 'a call',
    era: '2025-11-25',
    sees: 'the answer; the worker cannot end the call when it runs again',
    executed: 'once',
    test: [
      takeover,
      'a worker that is frozen is replaced, the next one answers its call, and it ends none when it runs again',
    ],
  },
  {
    fault:
      'no part dies: an edge does not hear a living session worker, and another worker takes a session of that one',
    request: 'a call that runs there',
    era: '2025-11-25',
    sees: 'the answer; the edge of the call asks after it, at least every four seconds, and the next worker continues it',
    executed: 'once',
    test: [takeover, 'a call goes on when another worker takes its session from a living one'],
  },
  {
    fault:
      'session worker killed, and another worker takes the session from the next one, which asks the backend workers for its calls',
    request: 'a call',
    era: '2025-11-25',
    sees: 'the answer; the last of these workers continues the call, or makes it if no backend worker has it',
    executed: 'once',
    test: [
      'services/session/src/ownership/takeover.test.ts',
      'leaves a call that it asks the backend workers about to the next, which makes it once if none of them has it',
    ],
  },
  {
    fault: 'all session workers gone',
    request: 'a call',
    era: 'all',
    sees: 'unknown, after ten seconds without a new worker',
    executed: 'at most once',
    test: [
      'services/edge/src/delivery/session-delivery.test.ts',
      'a call whose worker is lost for good and that no other worker takes over is answered "outcome unknown"',
    ],
  },
  {
    fault: 'backend worker killed',
    request: 'a call',
    era: '2025-11-25',
    sees: 'unknown, within seconds; a request that only reads is sent again and answered',
    executed: 'at most once',
    test: [
      'test/e2e/replicas.test.ts',
      'SIGKILL: a writing call is answered with "outcome unknown", a reading one is sent again, and subscriptions go on',
    ],
  },
  {
    fault:
      'the only backend worker with a server killed; another one starts the server within ten seconds, as workers of `serve --workers` do',
    request: 'a call that comes after that',
    era: 'all',
    sees: 'the answer, when the server is there again',
    executed: 'once',
    test: [
      'services/session/src/call/exchange-watch.test.ts',
      'that comes %s the only backend was killed waits for another one, and is not lost with the first',
    ],
  },
  {
    fault: 'all backend workers with a server lose their connection to NATS, and come back within ten seconds',
    request: 'a call that comes meanwhile',
    era: 'all',
    sees: 'the answer, when one of them is back',
    executed: 'once',
    test: [
      'services/session/src/call/exchange-watch.test.ts',
      'waits for backends that have lost their connection to NATS, more than once',
    ],
  },
  {
    fault: 'connection to NATS lost more than once while an answer is on its way',
    request: 'a call',
    era: 'all',
    sees: 'the answer, if the backend worker still keeps it',
    executed: 'once',
    test: [
      'services/session/src/call/exchange.test.ts',
      'that another worker may take over continues at a backend worker that was cut off from NATS, when that worker listens again',
    ],
  },
  {
    fault:
      'the whole NATS is lost, with or without its store, and comes back; a backend worker finds it up to ten seconds later than the session worker',
    request: 'a call that this backend worker has',
    era: 'all',
    sees: 'the answer, as a rule; unknown if the backend worker does not come back in that time, and for single calls of the moment of the loss; a request that only reads is sent again and answered',
    executed: 'at most once',
    test: [
      'services/session/src/call/exchange-watch.test.ts',
      'at a backend that finds NATS eight seconds later than this worker is answered, and is interrupted when that one stays away',
    ],
  },
  {
    fault: 'the whole NATS is lost with its store, and comes back',
    request: 'calls of many clients, of which some are sent in the moment of the loss',
    era: '2025-11-25, 2026-07-28',
    sees: 'the answers; unknown for single calls of that moment; a request that only reads is sent again and answered',
    executed: 'at most once',
    test: [
      'test/chaos/chaos.test.ts',
      'no session is lost, no answer wrong or missing, nothing done twice, no child left behind, and with rules, limits, approvals, pins and a strict audit on, every call is on record',
    ],
  },
  {
    fault: 'connection to NATS lost while an answer is on its way',
    request: 'a call',
    era: 'all',
    sees: 'the answer, if the backend worker still keeps it',
    executed: 'once',
    test: [
      'services/session/src/call/exchange.test.ts',
      'that another worker may continue, and whose adapter seems lost, %s',
    ],
  },
  {
    fault: 'a NATS node of three dies, and the store of sessions elects a leader',
    request: 'a call in a session, at a worker that has lost its connection',
    era: '2025-11-25',
    sees: 'the answer, as soon as the other session workers say that they do not hold the session',
    executed: 'once',
    test: [
      'services/session/src/ownership/sessions.test.ts',
      'a request waits until the other workers have found NATS again, and not for the store',
    ],
  },
  {
    fault: 'a NATS node of three dies, and the store of sessions elects a leader',
    request: 'a call in a session that comes to an edge which does not know its worker, or lost it',
    era: '2025-11-25',
    sees: 'the answer of the worker that holds the session',
    executed: 'once',
    test: [
      'services/session/src/ownership/adoption.test.ts',
      'one that another worker holds is found there while the store elects a leader, though the edge that asks says that %s has lost it',
    ],
  },
  {
    fault: 'edge killed; the client resumes at another edge with `Last-Event-ID`',
    request: 'a call',
    era: '2025-11-25',
    sees: 'the messages after that event, and the answer',
    executed: 'once',
    test: [takeover, 'a client of a killed edge resumes the stream of its call at another edge by its last event id'],
  },
  {
    fault: 'edge killed; the client sends the same request again within 30 seconds',
    request: 'a call in a session, with the same id and body',
    era: '2025-11-25',
    sees: 'the answer; the request joins the call that runs, or gets its answer',
    executed: 'once',
    test: [
      takeover,
      'clients that send their calls again when their edge was killed get the answers, and the server gets each call once',
    ],
  },
  {
    fault:
      'none: the client loses its connection and sends the same request again within 30 seconds, also in one process',
    request: 'a call in a session, with the same id and body',
    era: '2025-06-18',
    sees: 'the answer',
    executed: 'once',
    test: [
      'services/session/src/streams/repeated.test.ts',
      'an answer that came while the client was away is given to the client that comes back, once',
    ],
  },
  {
    fault: 'edge killed, alone or with the session worker; the client sends the same request again with its key',
    request: 'a call with `dev.omnibus/repeatKey`',
    era: '2026-07-28',
    sees: 'the answer; the request joins the call that runs, or gets its answer',
    executed: 'once',
    test: [
      takeover,
      '%s killed: clients of 2026-07-28 that repeat their calls with a key get the answers, and the server gets each call once',
    ],
  },
  {
    fault: 'none: the client loses its connection and sends the same request again with its key, also in one process',
    request: 'a call with `dev.omnibus/repeatKey`',
    era: '2026-07-28',
    sees: 'the answer, for 60 seconds; later unknown',
    executed: 'once',
    test: [
      'services/session/src/stateless/repeated-calls.test.ts',
      'each request of the time gets an answer that came while the client was away, and a later one gets unknown',
    ],
  },
  {
    fault: 'edge killed, and then the session worker',
    request: 'a call that the client has sent again',
    era: 'all',
    sees: 'the stream of the first request, resumed by the next session worker, which never begins the call',
    executed: 'at most once',
    test: [
      'services/edge/src/delivery/session-delivery.test.ts',
      'the next owner of a session resumes the stream that a repeated call has joined, and does not begin the call',
    ],
  },
  {
    fault: 'session worker killed',
    request: 'a subscription to a resource, and the GET stream on which its notifications come',
    era: '2025-11-25',
    sees: 'further notifications, on the same stream',
    executed: 'once or twice',
    test: [survival, '%s: the session goes on, with its revision and capabilities'],
  },
  {
    fault: 'session worker killed; the client resumes a GET stream with `Last-Event-ID`',
    request: 'messages of servers that belong to no request',
    era: '2025-11-25',
    sees: 'the messages after that event, under consecutive numbers',
    executed: 'once',
    test: ['test/e2e/survival-streams.test.ts', 'SIGKILL: a GET stream goes on under its id, with consecutive numbers'],
  },
  {
    fault: 'all session workers killed, and another one started within ten seconds',
    request: 'a call that the client sends in that time',
    era: '2025-11-25',
    sees: 'the answer, when there is a worker',
    executed: 'once',
    test: [survival, 'a session waits while there is no worker at all, and goes on with the next'],
  },
  {
    fault: 'session worker killed',
    request: 'a read of a large result that this worker has stored',
    era: 'all',
    sees: 'the result',
    executed: 'once',
    test: [
      'test/e2e/stored-results.test.ts',
      'a stored result is read at another session worker after its own was killed',
    ],
  },
  {
    fault: 'edge killed between two rounds',
    request: 'a call with a question of the server',
    era: '2026-07-28',
    sees: 'the answer, by any other edge',
    executed: 'once',
    test: [
      takeover,
      'a call between two rounds of a client of 2026-07-28 goes on when the edge of the first round is killed',
    ],
  },
  {
    fault: 'edge killed; the client opens a GET stream at another edge',
    request: 'messages of servers that belong to no request',
    era: '2025-11-25',
    sees: 'the messages on the new stream',
    executed: 'once',
    test: [
      'test/outside/sessions-edges.test.ts',
      'SIGKILL: a client whose edge is gone opens a new stream and receives everything there; streams of the dead edge are removed',
    ],
  },
  {
    fault: 'edge of an HTTP+SSE stream does not respond; another edge gets the message of the client',
    request: 'a call of this client',
    era: '2024-11-05',
    sees: 'unknown',
    executed: 'at most once',
    test: [
      survival,
      'HTTP+SSE: any edge accepts a message for a stream, and answers with an error when the edge that holds the stream does not respond',
    ],
  },
  {
    fault: 'backend worker killed',
    request: 'a subscription (`subscriptions/listen`)',
    era: '2026-07-28',
    sees: 'further notifications; another backend worker subscribes at the server',
    executed: 'once or twice',
    test: [takeover, 'a subscription of a client of 2026-07-28 goes on when the backend worker is killed'],
  },
  {
    fault: 'backend worker killed that runs the program of a server',
    request: 'a request for a task of this server',
    era: both,
    sees: '`task.lost`, and never another task of the same id',
    executed: 'at most once',
    test: [
      'test/outside/affinity-tasks.test.ts',
      'a request for a task whose worker is gone gets task.lost, and never another task of the same id',
    ],
  },
  {
    fault: 'NATS loses its store, and then the session worker is killed',
    request: 'the next request of an open session',
    era: '2025-11-25',
    sees: 'the answer; workers write their records again',
    executed: 'once',
    test: [
      'test/nats/lost-store.test.ts',
      'a gateway that lost its store names the missing parts, restores them, and then survives the loss of a session worker',
    ],
  },
  {
    fault: 'session workers stop in an orderly way, one after the other',
    request: 'calls and lists',
    era: both,
    sees: 'the answers; each worker finishes its calls within `timeouts.drain`',
    executed: 'once',
    test: [survival, 'SIGTERM: workers are replaced one after the other, and no request of either era fails'],
  },
  {
    fault: 'session worker stops in an orderly way',
    request: 'a call that is longer than `timeouts.drain`',
    era: both,
    sees: 'the answer; the next worker continues the call',
    executed: 'once',
    test: [
      survival,
      'SIGTERM: calls that are longer than `timeouts.drain` continue at the next worker, as after a kill',
    ],
  },
  {
    fault: 'one process with `sessions.store` killed or stopped, and started again',
    request: 'the next request of an open session, by the official TypeScript and Python SDK clients',
    era: '2025-11-25',
    sees: 'the answer; the session goes on',
    executed: 'once',
    test: [restart, '%s: open sessions of the official SDK clients of both major versions go on'],
  },
  {
    fault: 'one process with `sessions.store` killed, and started again',
    request: 'a call that runs; its client resumes the stream with `Last-Event-ID`',
    era: '2025-11-25',
    sees: 'the messages after that event, and then unknown',
    executed: 'at most once',
    test: [
      restart,
      'SIGKILL: a client that resumes the stream of its call gets the messages that it has missed, and "outcome unknown"',
    ],
  },
  {
    fault: 'one process with `sessions.store` killed or stopped, and started again',
    request: 'a subscription to a resource',
    era: '2025-11-25',
    sees: 'a notification, since the client may have missed a change, and then notifications of later changes',
    executed: 'once or twice',
    test: [restart, '%s: a subscription and the stream for it are there again'],
  },
  {
    fault: 'one process with `sessions.store` killed or stopped between two rounds, and started again',
    request: 'a call at a server of 2026-07-28 with a question',
    era: '2026-07-28',
    sees: 'the answer, after the round',
    executed: 'once',
    test: [restart, '%s: a call between two rounds goes on at a server of 2026-07-28'],
  },
  {
    fault: 'one process with `sessions.store` stopped, and started again',
    request: 'a call that runs',
    era: '2025-11-25',
    sees: 'the answer; the process finishes its calls within `timeouts.drain`',
    executed: 'once',
    test: [restart, 'SIGTERM: an open call is finished by the process that stops'],
  },
  {
    fault: 'worker of `serve --workers` replaced with SIGHUP',
    request: 'a call',
    era: both,
    sees: 'the answer; the next worker serves first, and calls end within `timeouts.drain`',
    executed: 'once',
    test: [workers, 'are replaced one after the other on SIGHUP, and no request of either era fails'],
  },
  {
    fault: 'worker of `serve --workers` killed',
    request: 'a call that this worker has received',
    era: '2025-11-25',
    sees: 'the end of its connection, or unknown; the session goes on at another worker',
    executed: 'at most once',
    test: [workers, 'outlive each other: sessions of a killed worker go on at the other one, and it is started again'],
  },
];
