/**
 * The client of a script that runs as a task. Its request is answered before the script ends, so progress becomes the task's message, and questions are kept in
 * the task: a client of the extension answers them with `tasks/update`; a client of 2025-11-25 is asked on the stream of its `tasks/result`.
 */
import {
  isInputMethod,
  relatedTo,
  type ExchangeEvent,
  type InputKey,
  type JsonRpcId,
  type ProgressEvent,
  type ServerName,
} from '@omnibus/protocol';
import { CallQuestions, canBeAsked } from '../../../call/call-questions.ts';
import type { CallStream, ForwardedCall } from '../../../call/client-port.ts';
import { InnerClient } from '../../../call/inner-client.ts';
import type { OuterCall } from '../../../call/outer-call.ts';
import type { Questioner } from '../../../call/transform.ts';

type InputEvent = Extract<ExchangeEvent, { kind: 'input' }>;

/** What a client tells its task. */
export interface HeardTask {
  readonly publicId: string;
  /** The progress token of a script whose client wants no progress. */
  readonly id: string;
  /** Whether the script is still able to reach the request with which it began, or a stream of its session. */
  readonly isHeard: boolean;
  progressed(event: ProgressEvent): void;
  /** There are more or fewer open questions. */
  asked(): void;
}

/** A question that no client was sent yet. */
interface Unsent<Stream extends CallStream> {
  readonly waits: Questioner;
  readonly input: InputKey;
  readonly send: (stream: Stream) => void;
}

export class TaskClient<Stream extends CallStream> extends InnerClient<Stream> {
  /** Its result is for a model. */
  override readonly isInner = false;
  readonly questions = new CallQuestions();
  readonly #outer: OuterCall<Stream>;
  readonly #task: HeardTask;
  readonly #waits = new Map<Questioner, Questioner>();
  /** Oldest first. */
  readonly #unsent = new Set<Unsent<Stream>>();
  /** The stream of the request that awaits the result. */
  #stream: Stream | undefined;

  constructor(outer: OuterCall<Stream>, task: HeardTask) {
    super(outer, () => undefined);
    this.#outer = outer;
    this.#task = task;
  }

  /** The client awaits the result on a stream of its session, and can be asked there. */
  awaitedOn(stream: CallStream): void {
    // Streams of one session have one type.
    this.#stream = stream as Stream;
    for (const { waits, input, send } of this.#unsent) if (this.questions.has(waits, input)) send(this.#stream);
    this.#unsent.clear();
  }

  override progressToken(token: JsonRpcId, event: ProgressEvent): JsonRpcId | undefined {
    this.#task.progressed(event);
    return token === this.#task.id || !this.#task.isHeard
      ? undefined
      : this.#outer.carrier.port.progressToken(token, event);
  }

  override ask(asker: Questioner, call: ForwardedCall<CallStream>, server: ServerName, event: InputEvent): void {
    const { input, method, params } = event;
    if (!isInputMethod(method) || !canBeAsked(this.capabilities, method, params)) {
      asker.answerInput(input, {
        error: { code: -32_601, message: `the client declared no capability for ${method}` },
      });
      return;
    }
    const waits = this.#waits.get(asker) ?? this.#waiting(asker);
    this.questions.add(waits, input, method, params);
    const send = (stream: Stream): void =>
      this.#outer.carrier.port.ask(waits, { ...call, stream }, server, {
        ...event,
        params: relatedTo(this.#task.publicId, params),
      });
    if (this.#stream === undefined) this.#unsent.add({ waits, input, send });
    else send(this.#stream);
    this.#task.asked();
  }

  #waiting(asker: Questioner): Questioner {
    const waits: Questioner = {
      id: asker.id,
      answerInput: (input, answer) => {
        this.#forget(waits, input);
        asker.answerInput(input, answer);
      },
      passInputProgress: (input, params) => asker.passInputProgress(input, params),
    };
    this.#waits.set(asker, waits);
    return waits;
  }

  #forget(waits: Questioner, input: InputKey): void {
    this.questions.withdraw(waits, input);
    for (const unsent of this.#unsent)
      if (unsent.waits === waits && unsent.input === input) this.#unsent.delete(unsent);
    this.#task.asked();
  }

  override inputWithdrawn(asker: Questioner, input: InputKey, reason: string): void {
    const waits = this.#waits.get(asker);
    if (waits === undefined) return;
    this.#forget(waits, input);
    if (this.#stream !== undefined) this.#outer.carrier.port.inputWithdrawn(waits, input, reason);
  }

  override askerEnded(asker: Questioner, reason: string): void {
    const waits = this.#waits.get(asker);
    this.#waits.delete(asker);
    if (waits === undefined) return;
    this.questions.withdrawAll(waits);
    if (this.#stream !== undefined) this.#outer.carrier.port.askerEnded(waits, reason);
    this.#task.asked();
  }
}
