/**
 * Tasks of an older server (2025-11-25 basic/utilities/tasks) as a client of the tasks extension sees them: results are read
 * with the state, and what the task needs is shown with it and answered by `tasks/update`.
 *
 * An older server asks only on an open `tasks/result`, so one is kept open by the worker that first saw the need. The keys of
 * its questions name that worker, to which the answers belong.
 */
import {
  carriedExtensions, fault, isObject, isToken, withRelatedTask,
  type ExchangeEvent, type ExchangeMethod, type ExchangeOutcome, type JsonObject, type ServerName, type SessionKey, type WorkerId,
} from '@omnibus/protocol';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { inputRequest, modernError, modernResult, responseProblem } from '../dialect/modern/encode.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { SessionHost } from '../host.ts';
import { TaskIds } from '../task-ids.ts';
import { answer, answerResult, refuse, type Waiter } from './waiter.ts';

type Input = Extract<ExchangeEvent, { kind: 'input' }>;

/** A server and its own id of a task. */
type TaskAddress = readonly [server: ServerName, taskId: string];

/** A `tasks/result` that is open because the task needs something. */
interface Watch {
  readonly exchange: Exchange;
  readonly questions: Map<string, Input>;
  /** Called when the first question is there, or the task has gone on without. */
  asked: () => void;
}

/** A server that needs something says so when it is asked for the result; it has this long to do so. */
const askMs = 500;
const maxWatches = 1_000;

export class TaskFacade {
  readonly #host: SessionHost;
  readonly #worker: WorkerId;
  readonly #watches = new Map<string, Watch>();
  readonly #asking = new Set<SessionKey>();
  #count = 0;

  constructor(host: SessionHost, worker: WorkerId) {
    this.#host = host;
    this.#worker = worker;
  }

  /** Whether a request waits for what a server says of a task. */
  waits(key: SessionKey): boolean {
    return this.#asking.has(key);
  }

  serve(given: Waiter, method: 'tasks/get' | 'tasks/update' | 'tasks/cancel', server: ServerName, id: string): void {
    const { key } = given.command;
    this.#asking.add(key);
    const waiter: Waiter = {
      command: given.command,
      reply: (frame) => {
        this.#asking.delete(key);
        given.reply(frame);
      },
    };
    switch (method) {
      case 'tasks/get':
        this.#ask(waiter, 'tasks/get', [server, id], (outcome) => this.#answerState(waiter, server, id, outcome));
        return;
      case 'tasks/update':
        this.#update(waiter);
        return;
      case 'tasks/cancel':
        // One that has ended cannot be cancelled there; here that is no error.
        this.#ask(waiter, 'tasks/cancel', [server, id], (outcome) => (outcome.kind === 'fault' ? refuse(waiter, outcome.fault) : answerResult(waiter, modernResult('tasks/cancel', {}))));
    }
  }

  #ask(waiter: Waiter, method: ExchangeMethod, [server, taskId]: TaskAddress, settled: (outcome: ExchangeOutcome) => void, input?: (event: Input) => void): Exchange {
    const { nextExchangeId, timeLimits } = this.#host;
    const { key, caller, context } = waiter.command;
    const limits = timeLimits(server, undefined);
    return new Exchange(this.#host, {
      exchange: nextExchangeId(), server, method, params: { taskId }, subject: ['task', taskId],
      limits: method === 'tasks/result' ? { ...limits, callMs: limits.taskMs, maxMs: limits.taskMs } : limits,
      context: { principal: caller.principal, session: key, standsAlone: true, logLevel: undefined, capabilities: offeredCapabilities(context.capabilities, carriedExtensions), wantsProgress: false },
    }, {
      progress: () => undefined, bound: () => undefined,
      log: () => undefined,
      input: (event) => input?.(event),
      inputWithdrawn: (withdrawn) => {
        for (const { questions } of this.#watches.values()) for (const [name, question] of questions) if (question.input === withdrawn) questions.delete(name);
      },
      settled,
    });
  }

  #answerState(waiter: Waiter, server: ServerName, id: string, outcome: ExchangeOutcome): void {
    if (outcome.kind === 'fault') refuse(waiter, outcome.fault);
    else if (outcome.kind === 'error') answer(waiter, `"error":${JSON.stringify(modernError(outcome.error))}`);
    else if (outcome.result['status'] === 'completed' || outcome.result['status'] === 'failed') this.#answerEnded(waiter, server, id, outcome.result);
    else if (outcome.result['status'] === 'input_required') this.#answerNeed(waiter, server, id, outcome.result);
    else this.#answerTask(waiter, server, outcome.result, {});
  }

  #answerTask(waiter: Waiter, server: ServerName, task: JsonObject, more: JsonObject): void {
    const ids = new TaskIds(this.#host.sealer, waiter.command.caller.principal);
    answerResult(waiter, modernResult('tasks/get', { ...extensionTask(ids.publicTask(server, task)), ...more }));
  }

  /** What the older revision calls failed because the tool failed is completed here; only a failed request is failed. */
  #answerEnded(waiter: Waiter, server: ServerName, id: string, task: JsonObject): void {
    this.#ask(waiter, 'tasks/result', [server, id], (outcome) => {
      if (outcome.kind === 'fault') refuse(waiter, outcome.fault);
      else if (outcome.kind === 'error') this.#answerTask(waiter, server, { ...task, status: 'failed' }, { error: modernError(outcome.error) });
      else this.#answerTask(waiter, server, { ...task, status: 'completed' }, { result: withRelatedTask(outcome.result, () => undefined) });
    });
  }

  #answerNeed(waiter: Waiter, server: ServerName, id: string, task: JsonObject): void {
    const name = `${server} ${waiter.command.caller.principal} ${id}`;
    const present = this.#watches.get(name);
    if (present === undefined && this.#watches.size >= maxWatches) {
      refuse(waiter, fault('session.busy'));
      return;
    }
    const watch = present ?? this.#watch(name, waiter, server, id);
    const tell = (): void => {
      limit.cancel();
      watch.asked = () => undefined;
      const inputRequests = Object.fromEntries([...watch.questions].map(([key, { method, params }]) => [key, inputRequest(method, withRelatedTask(params, () => undefined))]));
      this.#answerTask(waiter, server, task, { inputRequests });
    };
    const limit = this.#host.wheel.schedule(askMs, tell);
    if (watch.questions.size > 0) tell();
    else watch.asked = tell;
  }

  #watch(name: string, waiter: Waiter, server: ServerName, id: string): Watch {
    const questions = new Map<string, Input>();
    const exchange = this.#ask(waiter, 'tasks/result', [server, id], () => {
      this.#watches.delete(name);
      watch.asked();
    }, (event) => {
      this.#count += 1;
      questions.set(`${this.#worker}.${this.#count}`, event);
      watch.asked();
    });
    const watch: Watch = { exchange, questions, asked: () => undefined };
    this.#watches.set(name, watch);
    return watch;
  }

  /** Answers may be partial, and keys that mean nothing any more are ignored. */
  #update(waiter: Waiter): void {
    const { params = {} } = waiter.command.request;
    const responses = isObject(params['inputResponses']) ? params['inputResponses'] : {};
    const holders = Object.keys(responses).map((key) => key.split('.', 1)[0] as WorkerId).filter((worker) => isToken(worker) && worker.startsWith('session-'));
    const [holder] = holders;
    if (holder !== undefined && !holders.includes(this.#worker)) {
      waiter.reply({ kind: 'elsewhere', worker: holder });
      return;
    }
    for (const { exchange, questions } of this.#watches.values()) {
      for (const [key, { input, method }] of [...questions]) {
        if (!(key in responses)) continue;
        const problem = responseProblem(method, responses[key]);
        if (problem !== undefined) {
          refuse(waiter, fault('params.invalid', `params.inputResponses.${key} ${problem}`));
          return;
        }
        questions.delete(key);
        exchange.answerInput(input, { result: responses[key] as JsonObject });
      }
    }
    answerResult(waiter, modernResult('tasks/update', {}));
  }
}

/** A task of 2025-11-25 in the extension's words. */
export function extensionTask({ ttl, pollInterval, ...task }: JsonObject): JsonObject {
  return { ...task, ttlMs: ttl ?? null, ...(pollInterval === undefined ? {} : { pollIntervalMs: pollInterval }) };
}
