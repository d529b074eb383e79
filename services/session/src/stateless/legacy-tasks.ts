/**
 * Presents tasks of an older server (2025-11-25 basic/utilities/tasks) to clients of the tasks extension: the result comes with the state, and
 * questions of the task are listed in it and answered with `tasks/update`.
 *
 * An older server asks only during an open `tasks/result`, so the worker that first saw `input_required` keeps one open.
 *
 * Invariant M4: an update answers questions of the task it names, and of no other. The keys of questions are sealed, so that they cannot be
 * forged: they name the task, and the worker that waits for the answers.
 */
import {
  fault,
  isInputMethod,
  isObject,
  printable,
  withRelatedTask,
  type Caller,
  type ExchangeMethod,
  type ExchangeOutcome,
  type ExtensionTaskMethod,
  type GatewayFault,
  type JsonObject,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import type { Barrier } from '../call/barrier.ts';
import { modernDialect } from '../dialect/modern/dialect.ts';
import { Exchange } from '../call/exchange.ts';
import type { ExchangeObserver } from '../call/exchange-request.ts';
import { unchanged, type CallScreen, type CallTransform } from '../call/transform.ts';
import { transformOf } from '../call/transforms.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { inputRequest, modernError, modernResult, responseProblem } from '../dialect/modern/encode.ts';
import { extensionTask } from '../dialect/modern/tasks.ts';
import { inContext, TaskIds, type TaskAddress } from '../public-ids/task-ids.ts';
import { answer, answerResult, refuse, servedClientOf, type PendingReply } from './pending-reply.ts';
import type { KeptCalls } from './kept-calls.ts';
import type { StatelessHost } from './stateless-host.ts';
import { nameOf, sizeOf, type Input, type TaskRequest, type TaskWatch } from './legacy-task-requests.ts';

/** Milliseconds that a server has, after `tasks/result` was sent, to ask its question; after that the client gets the state without the question. */
const askMs = 500;
/** Keys of an update that are examined: a task cannot have more open questions (`exchange-questions.ts`). */
const maxKeys = 100;

/** Takes the questions of a task. */
type AskedOf = Pick<TaskWatch, 'questions'> & { readonly add: (event: Input) => void };

export class LegacyTasks {
  readonly #host: StatelessHost;
  readonly #worker: WorkerId;
  readonly #keptCalls: KeptCalls;
  readonly #watches = new Map<string, TaskWatch>();
  readonly #asking = new Map<SessionKey, TaskRequest>();
  #count = 0;

  /** @param keptCalls holds calls between requests. */
  constructor(host: StatelessHost, worker: WorkerId, keptCalls: KeptCalls) {
    this.#host = host;
    this.#worker = worker;
    this.#keptCalls = keptCalls;
  }

  /** Whether a request about a task waits for the server. */
  waits(key: SessionKey): boolean {
    return this.#asking.has(key);
  }

  /** A client has disconnected. @returns false when its request is none of these. */
  closed(key: SessionKey, reason: string): boolean {
    const asking = this.#asking.get(key);
    if (asking === undefined) return false;
    this.#asking.delete(key);
    asking.over();
    asking.exchange?.cancel(reason);
    return true;
  }

  /** Ends everything because the gateway stops; another worker asks the server again when a client does. */
  stop(reason: string): void {
    for (const watch of this.#watches.values()) this.#keptCalls.remove(watch);
    for (const { exchange } of this.#watches.values()) exchange.cancel(reason);
    this.#watches.clear();
  }

  /** Refuses requests for servers that their callers may not reach now, and keeps nothing open there. */
  barred(barrier: Barrier): void {
    const problemOf = (
      caller: Caller,
      { server, tool }: Pick<TaskAddress, 'server' | 'tool'>,
    ): GatewayFault | undefined => barrier.problemOf(this.#host.factsOf(caller), server, tool, true);
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

  /** Serves one request about a task. @param over called when it was answered, or its client has disconnected. */
  serve(
    given: PendingReply,
    method: ExtensionTaskMethod,
    task: TaskAddress,
    screen: CallScreen | undefined,
    over: () => void,
  ): void {
    const { key } = given.command;
    const waiter: PendingReply = {
      command: given.command,
      reply: (frame) => {
        if (!this.#asking.delete(key)) return; // Its client has disconnected.
        over();
        given.reply(frame);
      },
    };
    const asking: TaskRequest = { waiter, task, screen, over, exchange: undefined };
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
        this.#ask(asking, 'tasks/cancel', (outcome) =>
          outcome.kind === 'fault'
            ? refuse(waiter, outcome.fault)
            : answerResult(waiter, modernResult('tasks/cancel', {})),
        );
    }
  }

  #ask(asking: TaskRequest, method: ExchangeMethod, settled: (outcome: ExchangeOutcome) => void): void {
    asking.exchange = this.#exchange(asking, method, (outcome) => {
      asking.exchange = undefined;
      settled(outcome);
    });
  }

  #exchange(
    asking: TaskRequest,
    method: ExchangeMethod,
    settled: (outcome: ExchangeOutcome) => void,
    asked?: AskedOf,
  ): Exchange {
    const { nextExchangeId, timeLimits, whoFor } = this.#host;
    const { waiter, task } = asking;
    const { server, id } = task;
    const { key, caller, context } = waiter.command;
    const limits = timeLimits(server, undefined);
    const exchange: Exchange = new Exchange(
      this.#host,
      {
        exchange: nextExchangeId(),
        server,
        method,
        params: { taskId: id },
        subject: ['task', id],
        limits: method === 'tasks/result' ? { ...limits, callMs: limits.taskMs, maxMs: limits.taskMs } : limits,
        context: {
          ...modernDialect.contextOf(caller, key),
          ...whoFor(server, caller),
          ...inContext(task),
          logLevel: undefined,
          capabilities: offeredCapabilities(context.capabilities),
          wantsProgress: false,
        },
      },
      this.#observer(asking, method, settled, () => exchange, asked),
    );
    return exchange.begin();
  }

  #observer(
    { waiter, task, screen }: Pick<TaskRequest, 'waiter' | 'task' | 'screen'>,
    method: ExchangeMethod,
    settled: (outcome: ExchangeOutcome) => void,
    exchange: () => Exchange,
    asked: AskedOf | undefined,
  ): ExchangeObserver {
    const { server } = task;
    const transform = this.#transformOf({ waiter, task, screen }, method);
    return {
      progress: () => undefined,
      affinity: () => undefined,
      log: () => undefined,
      lost: (outcome) => this.#host.metrics.upstream.lost(server, outcome),
      input: (event) => {
        if (!isInputMethod(event.method))
          exchange().answerInput(event.input, {
            error: { code: -32_601, message: 'a client of this revision cannot be asked that' },
          });
        else
          transform.question(
            event,
            (shown) => asked?.add(shown),
            (answer) => exchange().answerInput(event.input, answer),
          );
      },
      inputWithdrawn: (withdrawn) => {
        const withdraw = (): void => {
          for (const [name, question] of asked?.questions ?? [])
            if (question.input === withdrawn) asked?.questions.delete(name);
        };
        transform.after(withdraw);
      },
      settled: (outcome) => {
        this.#host.watchers.taskAnswered(task, method, outcome);
        transform.outcome(outcome, settled);
      },
    };
  }

  #transformOf(
    { waiter, task, screen }: Pick<TaskRequest, 'waiter' | 'task' | 'screen'>,
    method: string,
  ): CallTransform {
    const client = servedClientOf(waiter, this.#host);
    return (
      transformOf(this.#host.transforms.on, { method, screen }, { server: task.server, task }, client) ?? unchanged
    );
  }

  #answerState(asking: TaskRequest, outcome: ExchangeOutcome): void {
    const { waiter } = asking;
    if (outcome.kind === 'fault') refuse(waiter, outcome.fault);
    else if (outcome.kind === 'error') answer(waiter, `"error":${JSON.stringify(modernError(outcome.error))}`);
    else if (outcome.result['status'] === 'completed' || outcome.result['status'] === 'failed')
      this.#answerEnded(asking, outcome.result);
    else if (outcome.result['status'] === 'input_required') this.#answerNeed(asking, outcome.result);
    else this.#answerTask(asking, outcome.result, {});
  }

  #answerTask({ waiter, task: { server, owner, place, tool } }: TaskRequest, task: JsonObject, more: JsonObject): void {
    const ids = new TaskIds(this.#host.sealer, waiter.command.caller.principal, { owner, place, tool });
    answerResult(waiter, modernResult('tasks/get', { ...extensionTask(ids.publicTask(server, task)), ...more }));
  }

  /** Answers for an ended task. A task that failed because its tool failed is `completed` in the extension; only a failed request is `failed`. */
  #answerEnded(asking: TaskRequest, task: JsonObject): void {
    this.#ask(asking, 'tasks/result', (outcome) => {
      if (outcome.kind === 'fault') refuse(asking.waiter, outcome.fault);
      else if (outcome.kind === 'error')
        this.#answerTask(asking, { ...task, status: 'failed' }, { error: modernError(outcome.error) });
      else
        this.#answerTask(
          asking,
          { ...task, status: 'completed' },
          { result: withRelatedTask(outcome.result, () => undefined) },
        );
    });
  }

  #answerNeed(asking: TaskRequest, task: JsonObject): void {
    const watch = this.#watches.get(nameOf(asking)) ?? this.#watch(asking);
    const tell = (): void => {
      limit.cancel();
      watch.asked.delete(tell);
      const inputRequests = Object.fromEntries(
        [...watch.questions].map(([key, { method, params }]) => [
          key,
          inputRequest(
            method,
            withRelatedTask(params, () => undefined),
          ),
        ]),
      );
      this.#answerTask(asking, task, { inputRequests });
    };
    const limit = this.#host.wheel.schedule(askMs, tell);
    watch.asked.add(tell);
    const refusal = this.#keptCalls.keep(watch, sizeOf(watch));
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
      this.#keptCalls.remove(watch);
      questions.clear();
      tell();
    };
    const exchange = this.#exchange(asking, 'tasks/result', end, {
      questions,
      add: (event) => {
        if ([...questions.values()].some(({ input }) => input === event.input)) return; // The adapter asks again after a loss of the bus.
        this.#count += 1;
        questions.set(this.#keyOf(asking, this.#count), event);
        if (this.#watches.get(name) === watch && this.#keptCalls.keep(watch, sizeOf(watch)) !== undefined)
          watch.drop('there is no room for what it was asked');
        else tell();
      },
    });
    const watch: TaskWatch = {
      exchange,
      questions,
      asked,
      begun: asking.waiter,
      task: asking.task,
      caller: asking.waiter.command.caller,
      drop: (reason) => {
        exchange.cancel(reason);
        end();
      },
    };
    this.#watches.set(name, watch);
    return watch;
  }

  #keyOf({ waiter, task: { server, id, owner } }: TaskRequest, count: number): string {
    return this.#host.sealer.seal(
      'task-input',
      JSON.stringify([this.#worker, count, server, id, owner, waiter.command.caller.principal]),
    );
  }

  /** The worker that holds a question of this task; undefined for a key of something else. */
  #holderOf({ waiter, task: { server, id, owner } }: TaskRequest, key: string): WorkerId | undefined {
    const opened = this.#host.sealer.open('task-input', key);
    if (opened === undefined) return undefined;
    const [worker, _count, ...of] = JSON.parse(opened) as [WorkerId, number, ...string[]];
    return JSON.stringify(of) === JSON.stringify([server, id, owner, waiter.command.caller.principal])
      ? worker
      : undefined;
  }

  /** Passes on the answers of an update. They may be partial, and unknown keys are ignored. */
  #update(asking: TaskRequest): void {
    const { waiter, screen } = asking;
    const { params = {} } = waiter.command.request;
    const responses = isObject(params['inputResponses']) ? params['inputResponses'] : {};
    const watch = this.#watches.get(nameOf(asking));
    const answers = [...(watch?.questions ?? [])].filter(([key]) => Object.hasOwn(responses, key)); // M4
    if (watch === undefined || answers.length === 0) {
      this.#passOn(asking, Object.keys(responses));
      return;
    }
    for (const [key, { method }] of answers) {
      const problem = responseProblem(method, responses[key]);
      if (problem === undefined) continue;
      refuse(waiter, fault('params.invalid', `params.inputResponses.${printable(key, 100)} ${problem}`));
      return;
    }
    const asker = this.#transformOf(asking, 'tasks/update').asker(watch.exchange);
    for (const [key, { input, method }] of answers) {
      watch.questions.delete(key);
      screen?.asks(input, method);
      asker.answerInput(input, { result: responses[key] as JsonObject });
    }
    answerResult(waiter, modernResult('tasks/update', {}));
  }

  /** Passes an update without an answer for a question here to the workers that its keys name. */
  #passOn(asking: TaskRequest, keys: readonly string[]): void {
    const holders = keys
      .slice(0, maxKeys)
      .map((key) => this.#holderOf(asking, key))
      .filter((worker) => worker !== undefined);
    const [holder] = holders;
    if (holder === undefined || holders.includes(this.#worker))
      answerResult(asking.waiter, modernResult('tasks/update', {}));
    else asking.waiter.reply({ kind: 'elsewhere', worker: holder });
  }
}
