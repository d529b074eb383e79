/**
 * The scripts of one worker that run as tasks (2025-11-25 basic/utilities/tasks, and the extension `io.modelcontextprotocol/tasks`). A task ends with its
 * worker, like every script, and with the session that began it.
 */
import {
  fault,
  isObject,
  relatedTo,
  toErrorObject,
  type GatewayFault,
  type JsonObject,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Barrier } from '../../../call/barrier.ts';
import type { CallStream } from '../../../call/client-port.ts';
import { WaitingRequest } from '../../../call/open-requests.ts';
import type { OuterCall } from '../../../call/outer-call.ts';
import type { OwnTaskAnswer, OwnTaskRequest, OwnTasks, TaskProgress } from '../../../call/own-tasks.ts';
import { ScriptTask, timesOf, type TaskOutcome } from './script-task.ts';

/** Tasks that have ended and are kept, of one caller and in all; beyond that those that ended first are forgotten. */
const maxPerCaller = 16;
const maxKept = 256;
/** Milliseconds that a task is kept at least after its end. */
const keepMs = 60_000;
/** Milliseconds in which a script may answer a client of the extension at once. A longer one becomes a task. */
const directMs = 1_000;

/** A task, whatever the streams of its client. */
type KeptTask = Pick<ScriptTask, keyof ScriptTask>;

export class ScriptTasks implements OwnTasks {
  readonly #worker: WorkerId;
  /** By id; those that have ended are in the order of their ends. */
  readonly #tasks = new Map<string, KeptTask>();
  /** The same by session, in the order in which they began. */
  readonly #ofSessions = new Map<SessionKey, Set<KeptTask>>();

  constructor(worker: WorkerId) {
    this.#worker = worker;
  }

  /** Whether a client asks for a task, or takes one. */
  takes<Stream extends CallStream>({ carrier: { port }, params }: OuterCall<Stream>): boolean {
    const mode = port.taskMode();
    return mode === 'offered' || (mode === 'requested' && isObject(params['task']));
  }

  /** @param begin begins the script, which answers the call that it gets. */
  begin<Stream extends CallStream>(outer: OuterCall<Stream>, begin: (inner: OuterCall<CallStream>) => void): void {
    const task = new ScriptTask(outer, this.#worker);
    begin(task.outer);
    const { stream, id, carrier } = outer;
    // Nothing is kept of a script that was refused before it began.
    if (task.outcome?.kind === 'fault') {
      stream.refuse(id, task.outcome.fault);
      return;
    }
    this.#add(task);
    void task.ended.then(() => this.#ended(task, carrier.host.wheel));
    if (carrier.port.taskMode() === 'requested') answerWith(task, outer);
    else this.#answerSoon(task, outer);
  }

  /** Answers with the outcome if it comes at once, else with the task. */
  #answerSoon<Stream extends CallStream>(task: KeptTask, outer: OuterCall<Stream>): void {
    const { stream, id, carrier } = outer;
    const waiting = new WaitingRequest(
      outer,
      (reason) => {
        task.cancel(reason);
        stream.leaveUnanswered();
      },
      (gatewayFault) => {
        task.cancel(gatewayFault.message);
        carrier.messages.answerFault(stream, id, gatewayFault);
      },
    );
    carrier.open.add(waiting);
    const settle = (): void => {
      if (!carrier.open.remove(waiting)) return;
      const { outcome } = task;
      if (outcome === undefined) answerWith(task, outer);
      else if (outcome.kind === 'result') answerResult(outer, outcome.result);
      else stream.refuse(id, faultOf(outcome));
      carrier.open.lookIdle();
    };
    const later = carrier.host.wheel.schedule(directMs, settle);
    void task.ended.then(() => {
      later.cancel();
      settle();
    });
  }

  #ended(task: KeptTask, wheel: DeadlineWheel): void {
    const { id, share, createdAt, ttl } = task;
    if (!this.#tasks.delete(id)) return;
    this.#tasks.set(id, task);
    // Its client gets the outcome instead of the task.
    if (task.isAwaited) {
      this.#forget(task);
      return;
    }
    task.expiry = wheel.schedule(Math.max(keepMs, createdAt + ttl - Date.now()), () => this.#forget(task));
    this.#bound((each) => each.share === share, maxPerCaller);
    this.#bound(() => true, maxKept);
  }

  /** Forgets those of some tasks that ended first. */
  #bound(isOne: (task: KeptTask) => boolean, max: number): void {
    const ended = [...this.#tasks.values()].filter((task) => task.outcome !== undefined && isOne(task));
    for (const task of ended.slice(0, Math.max(0, ended.length - max))) this.#forget(task);
  }

  #add(task: KeptTask): void {
    const { id, session } = task;
    this.#tasks.set(id, task);
    if (session === undefined) return;
    const own = this.#ofSessions.get(session) ?? new Set();
    this.#ofSessions.set(session, own.add(task));
  }

  #forget(task: KeptTask): void {
    const { id, session, expiry } = task;
    expiry?.cancel();
    this.#tasks.delete(id);
    if (session === undefined) return;
    const own = this.#ofSessions.get(session);
    own?.delete(task);
    if (own?.size === 0) this.#ofSessions.delete(session);
  }

  // --- requests about tasks ----------------------------------------------------------------------------------------------------

  serve(request: OwnTaskRequest): OwnTaskAnswer {
    const {
      task: { id, owner, place },
      session,
      gone,
    } = request;
    if (session !== undefined && owner !== session)
      return { fault: fault('task.unknown', 'a task of run_code belongs to the session that began it') };
    if (place !== undefined && place.worker !== this.#worker)
      return session === undefined && gone !== place.worker ? { elsewhere: place.worker } : lost(request);
    const task = this.#tasks.get(id);
    if (task === undefined || task.session !== session || !task.isFor(request)) return { fault: fault('task.unknown') };
    return session === undefined ? ofExtension(task, request) : ofSession(task, request);
  }

  list(session: SessionKey, mayHave: OwnTaskRequest['mayHave']): readonly JsonObject[] {
    return [...(this.#ofSessions.get(session) ?? [])]
      .filter((each) => each.isFor({ endpoint: each.endpoint, mayHave }))
      .map(({ task }) => task);
  }

  useOf(session: SessionKey): 'running' | 'kept' | undefined {
    let use: 'running' | 'kept' | undefined;
    for (const task of this.#ofSessions.get(session) ?? []) {
      if (task.outcome === undefined) return 'running';
      use = 'kept';
    }
    return use;
  }

  sessionLeft(session: SessionKey): void {
    for (const task of this.#ofSessions.get(session) ?? []) task.lose();
  }

  taskProgressed(session: SessionKey, notice: TaskProgress): void {
    for (const task of this.#ofSessions.get(session) ?? []) task.taskProgressed(notice);
  }

  barred(barrier: Barrier): void {
    for (const task of this.#tasks.values()) task.barred(barrier);
  }

  /** Its tasks end with a session. */
  sessionEnded(session: SessionKey): void {
    for (const task of this.#ofSessions.get(session) ?? []) {
      task.cancel('its session has ended');
      this.#forget(task);
    }
  }

  stop(): void {
    for (const task of this.#tasks.values()) {
      task.lose();
      this.#forget(task);
    }
  }
}

function answerWith<Stream extends CallStream>(task: KeptTask, outer: OuterCall<Stream>): void {
  task.answered();
  answerResult(outer, { task: task.task });
}

function answerResult<Stream extends CallStream>({ carrier, stream, id }: OuterCall<Stream>, result: JsonObject): void {
  const answer = carrier.port.dialect.answerOf('tools/call', { kind: 'result', result }, false);
  carrier.messages.write(stream, id, stream.completed?.(answer) ?? answer);
}

const faultOf = (outcome: Exclude<TaskOutcome, { kind: 'result' }>): GatewayFault =>
  outcome.kind === 'fault' ? outcome.fault : fault('params.invalid', 'the task was cancelled, so it has no result');

function ofSession(task: KeptTask, { method, stream }: OwnTaskRequest): OwnTaskAnswer {
  const { outcome } = task;
  switch (method) {
    case 'tasks/result':
      if (outcome === undefined) {
        if (stream !== undefined) task.awaitedOn(stream);
        return { until: task.ended };
      }
      if (outcome.kind === 'result') return { result: relatedTo(task.publicId, outcome.result) };
      return outcome.kind === 'fault' ? { outcome: outcome.fault } : { fault: faultOf(outcome) };
    case 'tasks/cancel':
      if (outcome !== undefined)
        return { fault: fault('params.invalid', 'the task has ended, so it cannot be cancelled') };
      task.cancel('its client has cancelled the task');
      return { result: task.task };
    default:
      return { result: task.task };
  }
}

function ofExtension(task: KeptTask, { method, params }: OwnTaskRequest): OwnTaskAnswer {
  switch (method) {
    case 'tasks/update': {
      const problem = task.update(params['inputResponses']);
      return problem === undefined ? { result: {} } : { fault: fault('params.invalid', problem) };
    }
    case 'tasks/cancel':
      // One that has ended cannot be cancelled; here that is no error.
      task.cancel('its client has cancelled the task');
      return { result: {} };
    default:
      return { result: task.extended };
  }
}

/** The worker that ran the script is gone, and no other one runs it again. */
function lost({ method, task: { id }, params, session }: OwnTaskRequest): OwnTaskAnswer {
  const gatewayFault = fault('code.lost');
  if (method !== 'tasks/get') return { fault: gatewayFault };
  const state = { taskId: params['taskId'], status: 'failed', statusMessage: gatewayFault.message, ...timesOf(id) };
  return { result: session === undefined ? { ...state, error: toErrorObject(gatewayFault) } : state };
}
