/**
 * Guardrails of others: asks a webhook or a tool of a server about a message, in the words of SEP-2624 (`interceptor/invoke`). Each guardrail has a bounded number of
 * checks that run and wait, which callers share; one that does not answer in time has failed.
 */
import { Bulkhead, type DeadlineWheel } from '@omnibus/lifecycle';
import type { OutsideCheck } from '@omnibus/policy';
import type { JsonObject, Principal } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Wanted } from '../../call/permission.ts';
import { verdictOf } from './answers.ts';
import { askTool, type ToolHost } from './ask-tool.ts';
import { askWebhook } from './ask-webhook.ts';
import type { ScreenedMessage, Verdict } from './message.ts';

/** The caller and target of the message. */
export interface OutsideCaller {
  readonly principal: Principal;
  /** The owner of places for checks: the caller, or the address of an anonymous one. */
  readonly owner: string;
  readonly isKnown: boolean;
  readonly about: Pick<Wanted, 'kind' | 'server' | 'name'>;
}

export interface OutsideQuestion {
  /** The guardrail's id. */
  readonly id: string;
  readonly check: OutsideCheck;
  readonly message: ScreenedMessage;
  readonly payload: JsonObject;
  readonly caller: OutsideCaller;
}

export interface Outside {
  /** Asks about a message. @param hear is called once; it may be called before this returns. */
  ask(question: OutsideQuestion, hear: (verdict: Verdict) => void): void;
  /** Forgets all guardrails but these, each when its last check has ended. @param ids those of the configuration. */
  keep(ids: ReadonlySet<string>): void;
}

/** Checks that wait for each one that runs; a client that waits longer than a few checks take has given up. */
const waitingPerRunning = 4;

export interface OutsideChecksOptions {
  readonly wheel: DeadlineWheel;
  /** @returns undefined before the worker has started. */
  readonly tools: () => ToolHost | undefined;
  readonly metrics: Pick<Metrics, 'guardrailTimer' | 'guardrailChecks' | 'guardrailForgotten' | 'beforeScrape'>;
}

export class OutsideChecks implements Outside {
  readonly #options: OutsideChecksOptions;
  readonly #stopping = new AbortController();
  /** Guardrails of the configuration in force; earlier calls may still use others. */
  #kept: ReadonlySet<string> = new Set();
  /** By guardrail. One with a changed number of places starts empty; running checks of the old one end. */
  readonly #places = new Map<string, { readonly concurrency: number; readonly bulkhead: Bulkhead }>();

  constructor(options: OutsideChecksOptions) {
    this.#options = options;
    options.metrics.beforeScrape(() => {
      for (const [
        guardrail,
        {
          bulkhead: { running, waiting },
        },
      ] of this.#places) {
        options.metrics.guardrailChecks.set({ guardrail, state: 'running' }, running);
        options.metrics.guardrailChecks.set({ guardrail, state: 'waiting' }, waiting);
      }
    });
  }

  ask(question: OutsideQuestion, hear: (verdict: Verdict) => void): void {
    const { id, check, caller } = question;
    const { wheel, metrics } = this.#options;
    const timer = metrics.guardrailTimer(id);
    const began = performance.now();
    const over = new AbortController();
    let leave = (): void => undefined;
    let isOver = false;
    const end = (verdict: Verdict): void => {
      if (isOver) return;
      isOver = true;
      deadline.cancel();
      over.abort();
      leave();
      timer.observe((performance.now() - began) / 1_000);
      if (!this.#kept.has(id)) this.#forgetIdle(id);
      hear(verdict);
    };
    const deadline = wheel.schedule(check.timeoutMs, () =>
      end({ kind: 'failed', problem: `it did not answer within ${check.timeoutMs} ms` }),
    );
    const place = this.#placesOf(id, check.concurrency).enter(caller.owner, (taken) => {
      leave = () => taken.leave();
      this.#invoke(question, AbortSignal.any([over.signal, this.#stopping.signal])).then(
        (answer) => end(verdictOf(answer)),
        (error: unknown) => end({ kind: 'failed', problem: (error as Error).message }),
      );
    });
    if (place === undefined)
      end({ kind: 'failed', problem: `${check.concurrency * waitingPerRunning} messages wait for it already` });
    else if (isOver) place.leave();
    else leave = () => place.leave();
  }

  keep(ids: ReadonlySet<string>): void {
    this.#kept = ids;
    for (const id of [...this.#places.keys()]) if (!ids.has(id)) this.#forgetIdle(id);
  }

  /** Gives up all checks. */
  stop(): void {
    this.#stopping.abort();
  }

  #placesOf(id: string, concurrency: number): Bulkhead {
    const known = this.#places.get(id);
    if (known?.concurrency === concurrency) return known.bulkhead;
    const bulkhead = new Bulkhead({ concurrency, maxWaiting: concurrency * waitingPerRunning });
    this.#places.set(id, { concurrency, bulkhead });
    return bulkhead;
  }

  #forgetIdle(id: string): void {
    const { running, waiting } = this.#places.get(id)?.bulkhead ?? { running: 0, waiting: 0 };
    if (running + waiting > 0) return;
    this.#places.delete(id);
    this.#options.metrics.guardrailForgotten(id);
  }

  #invoke(
    {
      id,
      check: { asked, config, timeoutMs },
      message: { event, phase },
      payload,
      caller: { principal, isKnown, about },
    }: OutsideQuestion,
    signal: AbortSignal,
  ): Promise<unknown> {
    const params = {
      name: id,
      event,
      phase,
      payload,
      ...(config === undefined ? {} : { config }),
      timeoutMs,
      context: {
        principal: isKnown ? { type: 'user', id: principal } : { type: 'anonymous' },
        timestamp: new Date().toISOString(),
      },
      _meta: { 'omnibus.dev/about': { kind: about.kind, server: about.server, name: about.name } },
    };
    if (asked.kind === 'webhook') return askWebhook(asked.webhook, params, signal);
    const tools = this.#options.tools();
    return tools === undefined
      ? Promise.reject(new Error('this worker has not started'))
      : askTool(tools, asked, params, { timeoutMs, signal });
  }
}
