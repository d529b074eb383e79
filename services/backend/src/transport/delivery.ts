/**
 * Posts messages that expect no answer: notifications, and answers to a server's requests. An answer is posted again after most failures: because of its
 * id a second one does no harm, while the server would wait without end for a missing one.
 */
import { mediaTypeOf, type JsonRpcMessage } from '@omnibus/protocol';
import type { MessageLimits } from './incoming.ts';
import type { ReadingShare } from './reading-budget.ts';
import { connectionProblem, describeStatus } from './problems.ts';
import { ResponseReader, silentObserver } from './response-reader.ts';

export interface DeliveryOptions {
  readonly limits: MessageLimits;
  readonly reading: ReadingShare;
  readonly post: (body: string, reader: ResponseReader) => void;
  /** Called with messages that some servers send in the response to such a POST. */
  readonly message: (value: unknown) => void;
  readonly delivered: (message: JsonRpcMessage) => void;
  /** The session in which a message is posted now; left out where the wire has none. */
  readonly sessionId?: () => string | undefined;
  /** A good answer names another session than that in which its message was posted. */
  readonly renamed?: (session: string) => void;
  /** The message was refused or could not be delivered, and is not posted again. */
  readonly failed: (message: JsonRpcMessage, problem: string) => void;
}

interface Sent {
  readonly message: JsonRpcMessage;
  readonly body: string;
  readonly settled: () => void;
}

const nothing = (): void => undefined;
/** Pauses in milliseconds before an answer is posted again. */
const pausesMs = [200, 1_000, 3_000];

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Of POSTs that the server has not answered. */
  readonly #readers = new Set<ResponseReader>();
  #isClosed = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** @param settled runs once, when the server has answered the POST or no longer can. */
  deliver(message: JsonRpcMessage, settled: () => void = nothing): void {
    this.#post({ message, body: JSON.stringify(message), settled }, isAnswer(message) ? pausesMs : []);
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const reader of this.#readers) reader.letEnd();
  }

  #post(sent: Sent, pauses: readonly number[]): void {
    const { limits, reading, post, delivered, failed } = this.#options;
    const { message, body, settled } = sent;
    const again = (problem: string): void => {
      const [pause, ...later] = pauses;
      if (this.#isClosed) return;
      if (pause === undefined) {
        failed(message, problem);
        settled();
        return;
      }
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#post(sent, later);
      }, pause);
      this.#timers.add(timer);
    };
    const reader = new ResponseReader(
      {
        ...silentObserver,
        sessionId: this.#options.sessionId?.(),
        renamed: (status, session) => {
          if (status < 300) this.#options.renamed?.(session);
        },
        started: (status, { 'content-type': type }) => {
          // Some servers never end the response. An event stream may bring messages as long as it is open.
          if (status >= 300 || mediaTypeOf(type) !== 'text/event-stream') reader.letEnd();
          if (status < 300) settled();
        },
        message: (value) => this.#options.message(value),
        ended: (response) => {
          const { status } = response;
          this.#readers.delete(reader);
          if (status < 300) delivered(message);
          else if (status >= 500 || status === 429) again(describeStatus(response));
          else {
            failed(message, describeStatus(response));
            settled();
          }
        },
        failed: (error, isSent) => {
          this.#readers.delete(reader);
          again(connectionProblem(error, isSent));
        },
      },
      limits,
      reading,
    );
    this.#readers.add(reader);
    post(body, reader);
  }
}

function isAnswer(message: JsonRpcMessage): boolean {
  return !('method' in message) && message.id !== undefined;
}

/** The name of a message in the log: its method, or that it is an answer. */
export function nameOf(message: JsonRpcMessage): string {
  return 'method' in message ? message.method : 'an answer to what the server asked';
}
