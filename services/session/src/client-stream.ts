/** Where the messages to one HTTP request of the client go. */
import { errorText, toErrorObject, type GatewayFault, type JsonRpcId, type StreamFrame } from '@omnibus/protocol';

/** The answer to one POST. Closed by the answer to the last request in it. */
export class PostStream {
  readonly #reply: (frame: StreamFrame) => void;
  #openRequests: number;

  constructor(reply: (frame: StreamFrame) => void, requests: number) {
    this.#reply = reply;
    this.#openRequests = requests;
  }

  /** Something that belongs to a request of this POST and comes before its answer. */
  send(text: string): void {
    this.#reply({ kind: 'message', text, isAnswer: false, last: false });
  }

  answer(text: string): void {
    this.#openRequests -= 1;
    this.#reply({ kind: 'message', text, isAnswer: true, last: this.#openRequests === 0 });
  }

  answerFault(id: JsonRpcId, gatewayFault: GatewayFault): void {
    this.answer(errorText(id, toErrorObject(gatewayFault)));
  }

  /** A request that was cancelled gets no answer (2025-11-25 basic/utilities/cancellation). */
  leaveUnanswered(): void {
    this.#openRequests -= 1;
    if (this.#openRequests === 0) this.#reply({ kind: 'end' });
  }
}
