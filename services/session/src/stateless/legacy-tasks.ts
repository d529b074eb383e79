/**
 * Tasks of an older server (2025-11-25 basic/utilities/tasks) as a client of the tasks extension sees them: results are read
 * with the state, and what the task needs is shown with it and answered by `tasks/update`.
 *
 * An older server asks only on an open `tasks/result`, so one is kept open by the worker that first saw the need.
 *
 * Invariant M4: an update answers questions of the task it names, and of no other. The keys of questions are sealed: they name the
 * task, and the worker to which the answers belong, and nobody can make one.
 */
import type { Blocks } from '@omnibus/bus';
import type { Redaction } from '@omnibus/policy';
import {
  carriedExtensions, fault, isInputMethod, isObject, printable, withRelatedTask,
  type Caller, type ExchangeEvent, type ExchangeMethod, type ExchangeOutcome, type ExtensionTaskMethod, type GatewayFault, type JsonObject, type SessionKey, type WorkerId,
} from '@omnibus/protocol';
import { clientOf } from '../call/client-of.ts';
import { Exchange } from '../call/exchange.ts';
import { redactedOutcome } from '../call/redacted.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { inputRequest, modernError, modernResult, responseProblem } from '../dialect/modern/encode.ts';
import { extensionTask } from '../dialect/modern/tasks.ts';
import { inContext, TaskIds, type TaskAddress } from '../public-ids/task-ids.ts';
import { answer, answerResult, refuse, type PendingReply } from './pending-reply.ts';
import type { Kept, Shelf } from './shelf.ts';
import type { StatelessHost } from './stateless-host.ts';

type Input = Extract<ExchangeEvent, { kind: 'input' }>;

/** A request that waits for what a server says of a task. */
interface TaskRequest {
  readonly waiter: PendingReply;
  readonly task: TaskAddress;
  /** What is taken out of what its server says. */
  readonly redaction: Redaction | undefined;
  /** It has been answered, or its client has gone. */
  readonly over: () => void;
  /** Undefined while nothing is asked of the server for it. */
  exchange: Exchange | undefined;
}

/** A `tasks/result` that is open because the task needs something. */
interface TaskWatch extends Kept {
  readonly task: TaskAddress;
  readonly exchange: Exchange;
  readonly questions: Map<string, Input>;
  /** Who wants to know when the first question is there, or the task has gone on without. */
  readonly asked: Set<() => void>;
}

/** A server that needs something says so when it is asked for the result; it has this long to do so before the client is told of the need without the question. */
const askMs = 500;
/** Keys of an update that are looked at to find whose they are: a task has no more questions open (`exchange-questions.ts`). */
const maxKeys = 100;

export class LegacyTasks {
  readonly #host: StatelessHost;
  readonly #worker: WorkerId;
  readonly #shelf: Shelf;
  readonly #watches = new Map<string, TaskWatch>();
  readonly #asking = new Map<SessionKey, TaskRequest>();
  #count = 0;

  /** @param shelf where what is kept open between requests has its place. */
  constructor(host: StatelessHost, worker: WorkerId, shelf: Shelf) {
    this.#host = host;
    this.#worker = worker;
    this.#shelf = shelf;
  }

  /** Whether a request waits for what a server says of a task. */
  waits(key: SessionKey): boolean {
    return this.#asking.has(key);
  }

  /** @returns false when it is none of these requests. */
  closed(key: SessionKey, reason: string): boolean {
    const asking = this.#asking.get(key);
    if (asking === undefined) return false;
    this.#asking.delete(key);
    asking.over();
    asking.exchange?.cancel(reason);
    return true;
  }

  /** The gateway stops: whoever asks again has the task's needs found out anew. */
  stop(reason: string): void {
    for (const watch of this.#watches.values()) this.#shelf.remove(watch);
    for (const { exchange } of this.#watches.values()) exchange.cancel(reason);
    this.#watches.clear();
  }

  /** Whoever waits for a blocked server is told so, and nothing is kept open there. */
  blocked(blocks: Blocks): void {
    const problemOf = (caller: Caller, { server, tool }: Pick<TaskAddress, 'server' | 'tool'>): GatewayFault | undefined => blocks.problemOf(this.#host.factsOf(caller), server, tool);
    for (const { waiter, task, exchange } of [...this.#asking.values()]) {
      const problem = problemOf(waiter.command.caller, task);
      if (problem === undefined) continue;
      exchange?.cancel(problem.message);
      refuse(waiter, problem);
    }
    for (const watch of [...this.#watches.values()]) {
      const problem = problemOf(watch.caller, watch.task);
      if (problem !== undefined) watch.drop(problem.message);
    }
  }

  /** @param over the request has been answered, or its client has gone. */
  serve(given: PendingReply, method: ExtensionTaskMethod, task: TaskAddress, redaction: Redaction | undefined, over: () => void): void {
    const { key } = given.command;
    const waiter: PendingReply = {
      command: given.command,
      reply: (frame) => {
        if (!this.#asking.delete(key)) return; // Its client has gone.
        over();
        given.reply(frame);
      },
    };
    const asking: TaskRequest = { waiter, task, redaction, over, exchange: undefined };
    this.#asking.set(key, asking);
    switch (method) {
      case 'tasks/get':
        this.#ask(asking, 'tasks/get', (outcome) => this.#answerState(asking, outcome));
        return;
      case 'tasks/update':
        this.#update(asking);
        return;
      case 'tasks/cancel':
        // One that has ended cannot be cancelled there; here that is no error.
        this.#ask(asking, 'tasks/cancel', (outcome) => (outcome.kind === 'fault' ? refuse(waiter, outcome.fault) : answerResult(waiter, modernResult('tasks/cancel', {}))));
    }
  }

  #ask(asking: TaskRequest, method: ExchangeMethod, settled: (outcome: ExchangeOutcome) => void): void {
    asking.exchange = this.#exchange(asking, method, (outcome) => {
      asking.exchange = undefined;
      settled(outcome);
    });
  }

  #exchange({ waiter, task, redaction }: TaskRequest, method: ExchangeMethod, settled: (outcome: ExchangeOutcome) => void, asked?: Pick<TaskWatch, 'questions'> & { readonly add: (event: Input) => void }): Exchange {
    const { nextExchangeId, timeLimits, whoFor } = this.#host;
    const { server, id } = task;
    const { key, caller, context } = waiter.command;
    const limits = timeLimits(server, undefined);
    const exchange: Exchange = new Exchange(this.#host, {
      exchange: nextExchangeId(), server, method, params: { taskId: id }, subject: ['task', id],
      limits: method === 'tasks/result' ? { ...limits, callMs: limits.taskMs, maxMs: limits.taskMs } : limits,
      context: {
        principal: caller.principal, ...whoFor(server, caller), session: key, ...inContext(task), standsAlone: true, ...clientOf(caller), logLevel: undefined,
        capabilities: offeredCapabilities(context.capabilities, carriedExtensions), wantsProgress: false,
      },
    }, {
      progress: () => undefined, affinity: () => undefined,
      log: () => undefined,
      lost: (outcome) => this.#host.metrics.upstream.lost(server, outcome),
      input: (event) => (isInputMethod(event.method) ? asked?.add(redaction === undefined ? event : { ...event, params: redaction.said(event.params) }) : exchange.answerInput(event.input, { error: { code: -32_601, message: 'a client of this revision cannot be asked that' } })),
      inputWithdrawn: (withdrawn) => {
        for (const [name, question] of asked?.questions ?? []) if (question.input === withdrawn) asked?.questions.delete(name);
      },
      settled: (outcome) => settled(redactedOutcome(outcome, redaction)),
    });
    return exchange.begin();
  }

  #answerState(asking: TaskRequest, outcome: ExchangeOutcome): void {
    const { waiter } = asking;
    if (outcome.kind === 'fault') refuse(waiter, outcome.fault);
    else if (outcome.kind === 'error') answer(waiter, `"error":${JSON.stringify(modernError(outcome.error))}`);
    else if (outcome.result['status'] === 'completed' || outcome.result['status'] === 'failed') this.#answerEnded(asking, outcome.result);
    else if (outcome.result['status'] === 'input_required') this.#answerNeed(asking, outcome.result);
    else this.#answerTask(asking, outcome.result, {});
  }

  #answerTask({ waiter, task: { server, owner, place, tool } }: TaskRequest, task: JsonObject, more: JsonObject): void {
    const ids = new TaskIds(this.#host.sealer, waiter.command.caller.principal, { owner, place, tool });
    answerResult(waiter, modernResult('tasks/get', { ...extensionTask(ids.publicTask(server, task)), ...more }));
  }

  /** What the older revision calls failed because the tool failed is completed here; only a failed request is failed. */
  #answerEnded(asking: TaskRequest, task: JsonObject): void {
    this.#ask(asking, 'tasks/result', (outcome) => {
      if (outcome.kind === 'fault') refuse(asking.waiter, outcome.fault);
      else if (outcome.kind === 'error') this.#answerTask(asking, { ...task, status: 'failed' }, { error: modernError(outcome.error) });
      else this.#answerTask(asking, { ...task, status: 'completed' }, { result: withRelatedTask(outcome.result, () => undefined) });
    });
  }

  #answerNeed(asking: TaskRequest, task: JsonObject): void {
    const watch = this.#watches.get(nameOf(asking)) ?? this.#watch(asking);
    const tell = (): void => {
      limit.cancel();
      watch.asked.delete(tell);
      const inputRequests = Object.fromEntries([...watch.questions].map(([key, { method, params }]) => [key, inputRequest(method, withRelatedTask(params, () => undefined))]));
      this.#answerTask(asking, task, { inputRequests });
    };
    const limit = this.#host.wheel.schedule(askMs, tell);
    watch.asked.add(tell);
    const refusal = this.#shelf.keep(watch, sizeOf(watch));
    if (refusal !== undefined) {
      limit.cancel();
      watch.asked.clear();
      watch.drop('there is no room for what it may be asked');
      refuse(asking.waiter, refusal);
    } else if (watch.questions.size > 0) tell();
  }

  #watch(asking: TaskRequest): TaskWatch {
    const name = nameOf(asking);
    const questions = new Map<string, Input>();
    const asked = new Set<() => void>();
    const tell = (): void => {
      for (const each of [...asked]) each();
    };
    const end = (): void => {
      if (this.#watches.get(name) === watch) this.#watches.delete(name);
      this.#shelf.remove(watch);
      questions.clear();
      tell();
    };
    const exchange = this.#exchange(asking, 'tasks/result', end, {
      questions,
      add: (event) => {
        if ([...questions.values()].some(({ input }) => input === event.input)) return; // Asked again after the bus was gone.
        this.#count += 1;
        questions.set(this.#keyOf(asking, this.#count), event);
        if (this.#watches.get(name) === watch && this.#shelf.keep(watch, sizeOf(watch)) !== undefined) watch.drop('there is no room for what it was asked');
        else tell();
      },
    });
    const watch: TaskWatch = {
      exchange, questions, asked, task: asking.task, caller: asking.waiter.command.caller,
      drop: (reason) => {
        exchange.cancel(reason);
        end();
      },
    };
    this.#watches.set(name, watch);
    return watch;
  }

  #keyOf({ waiter, task: { server, id, owner } }: TaskRequest, count: number): string {
    return this.#host.sealer.seal('task-input', JSON.stringify([this.#worker, count, server, id, owner, waiter.command.caller.principal]));
  }

  /** The worker that holds a question of this task; undefined for a key that is none of its. */
  #holderOf({ waiter, task: { server, id, owner } }: TaskRequest, key: string): WorkerId | undefined {
    const opened = this.#host.sealer.open('task-input', key);
    if (opened === undefined) return undefined;
    const [worker, _count, ...of] = JSON.parse(opened) as [WorkerId, number, ...string[]];
    return JSON.stringify(of) === JSON.stringify([server, id, owner, waiter.command.caller.principal]) ? worker : undefined;
  }

  /** Answers may be partial, and keys that mean nothing any more are ignored. */
  #update(asking: TaskRequest): void {
    const { waiter } = asking;
    const { params = {} } = waiter.command.request;
    const responses = isObject(params['inputResponses']) ? params['inputResponses'] : {};
    const watch = this.#watches.get(nameOf(asking));
    const answered = [...(watch?.questions ?? [])].filter(([key]) => Object.hasOwn(responses, key)); // M4
    if (watch === undefined || answered.length === 0) {
      this.#passOn(asking, Object.keys(responses));
      return;
    }
    for (const [key, { method }] of answered) {
      const problem = responseProblem(method, responses[key]);
      if (problem === undefined) continue;
      refuse(waiter, fault('params.invalid', `params.inputResponses.${printable(key, 100)} ${problem}`));
      return;
    }
    for (const [key, { input }] of answered) {
      watch.questions.delete(key);
      watch.exchange.answerInput(input, { result: responses[key] as JsonObject });
    }
    answerResult(waiter, modernResult('tasks/update', {}));
  }

  /** None of the answers is to a question that is open here: another worker may have asked it. */
  #passOn(asking: TaskRequest, keys: readonly string[]): void {
    const holders = keys.slice(0, maxKeys).map((key) => this.#holderOf(asking, key)).filter((worker) => worker !== undefined);
    const [holder] = holders;
    if (holder === undefined || holders.includes(this.#worker)) answerResult(asking.waiter, modernResult('tasks/update', {}));
    else asking.waiter.reply({ kind: 'elsewhere', worker: holder });
  }
}

/** What its questions take up while they are kept. */
function sizeOf({ questions }: Pick<TaskWatch, 'questions'>): number {
  return JSON.stringify([...questions.values()]).length;
}

function nameOf({ waiter, task: { server, id, owner } }: TaskRequest): string {
  const { principal }: Caller = waiter.command.caller;
  return JSON.stringify([server, id, owner, principal]);
}
