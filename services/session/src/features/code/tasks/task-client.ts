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
import type { AwaitingStream } from '../../../call/own-tasks.ts';
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

/** A question that the client has not answered. */
interface OpenQuestion<Stream extends CallStream> {
  readonly waits: Questioner;
  readonly input: InputKey;
  readonly send: (stream: Stream) => void;
  /** Where the client was asked last; undefined if the request of that stream is over. */
  on: Stream | undefined;
  /** How often the client was asked. */
  copies: number;
}

/** Copies of one question that a client may answer. The first answer counts. */
const maxCopies = 4;

export class TaskClient<Stream extends CallStream> extends InnerClient<Stream> {
  /** Its result is for a model. */
  override readonly isInner = false;
  readonly questions = new CallQuestions();
  readonly #outer: OuterCall<Stream>;
  readonly #task: HeardTask;
  readonly #waits = new Map<Questioner, Questioner>();
  /** Oldest first. */
  readonly #open = new Set<OpenQuestion<Stream>>();
  /** The streams of the requests that await the result. The client is asked on the last one. */
  readonly #streams = new Set<Stream>();

  constructor(outer: OuterCall<Stream>, task: HeardTask) {
    super(outer, () => undefined);
    this.#outer = outer;
    this.#task = task;
  }

  /** The client awaits the result on a stream of its session, and can be asked there. */
  awaitedOn(stream: AwaitingStream): void {
    // Streams of one session have one type.
    const awaiting = stream as CallStream as Stream;
    stream.left = () => this.#left(awaiting);
    this.#streams.add(awaiting);
    for (const question of this.#open) this.#send(question);
  }

  /** A request that awaits the result is over. What was asked on its stream is asked again on another one. */
  #left(stream: Stream): void {
    this.#streams.delete(stream);
    for (const question of this.#open) {
      if (question.on !== stream) continue;
      question.on = undefined;
      this.#send(question);
    }
  }

  #send(question: OpenQuestion<Stream>): void {
    const stream = [...this.#streams].at(-1);
    if (stream === undefined || question.on !== undefined) return;
    if (question.copies === maxCopies) {
      this.#outer.carrier.port.inputWithdrawn(question.waits, question.input, 'it is asked again');
      question.copies = 0;
    }
    question.on = stream;
    question.copies += 1;
    question.send(stream);
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
    const question: OpenQuestion<Stream> = { waits, input, send, on: undefined, copies: 0 };
    this.#open.add(question);
    this.#send(question);
    this.#task.asked();
  }

  #waiting(asker: Questioner): Questioner {
    const waits: Questioner = {
      id: asker.id,
      answerInput: (input, answer) => {
        this.#forget(waits, input, 'it was answered');
        asker.answerInput(input, answer);
      },
      passInputProgress: (input, params) => asker.passInputProgress(input, params),
    };
    this.#waits.set(asker, waits);
    return waits;
  }

  #forget(waits: Questioner, input: InputKey, reason: string): void {
    this.questions.withdraw(waits, input);
    this.#close((open) => open.waits === waits && open.input === input);
    this.#outer.carrier.port.inputWithdrawn(waits, input, reason);
    this.#task.asked();
  }

  #close(isIt: (open: OpenQuestion<Stream>) => boolean): void {
    for (const open of this.#open) if (isIt(open)) this.#open.delete(open);
  }

  override inputWithdrawn(asker: Questioner, input: InputKey, reason: string): void {
    const waits = this.#waits.get(asker);
    if (waits !== undefined) this.#forget(waits, input, reason);
  }

  override askerEnded(asker: Questioner, reason: string): void {
    const waits = this.#waits.get(asker);
    this.#waits.delete(asker);
    if (waits === undefined) return;
    this.questions.withdrawAll(waits);
    this.#close((open) => open.waits === waits);
    this.#outer.carrier.port.askerEnded(waits, reason);
    this.#task.asked();
  }
}
