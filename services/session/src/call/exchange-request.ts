/** What an exchange is given: the request, its time limits, who hears of it, and what it works with. */
import type { Bus } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeContext, ExchangeEvent, ExchangeId, ExchangeMethod, ExchangeOutcome, InputAnswer, InputKey, JsonObject, ServerName, WorkerId } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Adapters } from './adapters.ts';

export interface ExchangeObserver {
  progress(event: Extract<ExchangeEvent, { kind: 'progress' }>): void;
  log(params: JsonObject): void;
  /** The server sent a notification that no revision knows. */
  notification?(method: string, params: JsonObject | undefined): void;
  /** The adapter that keeps something for the session; undefined when it is gone. */
  affinity(worker: WorkerId | undefined): void;
  /** Its adapter is gone. */
  lost?(outcome: 'repeated' | 'unknown'): void;
  /** The server asks something of the client. Answer with `answerInput`. */
  input(event: Extract<ExchangeEvent, { kind: 'input' }>): void;
  /** A question was answered, by whomever. */
  readonly answered?: ((input: InputKey, answer: InputAnswer) => void) | undefined;
  /** The answer is not waited for any more. */
  inputWithdrawn(input: InputKey, reason: string): void;
  settled(outcome: ExchangeOutcome): void;
}

export interface TimeLimits {
  /** Milliseconds without an answer or progress. */
  readonly callMs: number;
  /** Milliseconds in all, less those in which the client was asked. */
  readonly maxMs: number;
  /** What the client of this request gives it in all, and what is left of that. */
  readonly own?: { readonly limitMs: number; readonly leftMs: number };
  /** Milliseconds a client has to answer a server's question. */
  readonly humanMs: number;
  /** Milliseconds a client may wait for the result of a task. */
  readonly taskMs: number;
}

/** What a request is about, for people: "tool" and its name, "resource" and its URI. */
export type Topic = readonly [noun: string, name: string];

export interface ExchangeRequest {
  readonly exchange: ExchangeId;
  readonly server: ServerName;
  readonly method: ExchangeMethod;
  readonly params: JsonObject;
  readonly subject: Topic;
  readonly limits: TimeLimits;
  readonly context: Omit<ExchangeContext, 'maxTimeMs'>;
  /** The worker whose adapter keeps something for the session; any will do when there is none or it is gone. */
  readonly affinity?: WorkerId | undefined;
  /** Doing it twice does no more than doing it once; follows from the method when left out. */
  readonly isRepeatable?: boolean;
  /** The server is told, and answers nothing. */
  readonly isNotification?: boolean;
}

/** The part of the host that an exchange needs. */
export interface ExchangeHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly adapters: Adapters;
  readonly metrics: Pick<Metrics, 'dropped'>;
}
