/**
 * The open requests of one session. A client's id is no key: real clients send `id: 1` for every request and several at
 * once, so it is only ever looked at to find what to cancel.
 */
import { Link, Ring } from '@omnibus/collections';
import { idKey, type GatewayFault, type JsonRpcId, type ServerName } from '@omnibus/protocol';

/** The client's id of a request, and the stream on which it is answered. */
interface AnsweredCall {
  readonly id: JsonRpcId;
  readonly stream: object;
}

export abstract class OpenRequest extends Link {
  readonly clientId: JsonRpcId;
  /** The stream on which it is answered. */
  readonly stream: object;
  /** The server that it was sent to. */
  readonly server: ServerName | undefined;
  /** The server's own name of the tool. */
  readonly tool: string | undefined;

  constructor({ id, stream }: AnsweredCall, server: ServerName | undefined, tool: string | undefined) {
    super();
    this.clientId = id;
    this.stream = stream;
    this.server = server;
    this.tool = tool;
  }

  /** Ends it without an answer. */
  abstract cancel(reason: string): void;

  /** Answers it with a fault of the gateway. */
  abstract fail(gatewayFault: GatewayFault): void;
}

/** A request that waits for something before it is sent. */
export class WaitingRequest extends OpenRequest {
  readonly cancel: (reason: string) => void;
  readonly fail: (gatewayFault: GatewayFault) => void;

  /** @param cancel ends it without an answer. @param fail answers it with a fault of the gateway. */
  constructor(
    call: AnsweredCall,
    cancel: (reason: string) => void,
    fail: (gatewayFault: GatewayFault) => void,
    server?: ServerName,
    tool?: string,
  ) {
    super(call, server, tool);
    this.cancel = cancel;
    this.fail = fail;
  }
}

export class OpenRequests {
  readonly #open = new Ring<OpenRequest>();

  get size(): number {
    return this.#open.size;
  }

  add(request: OpenRequest): void {
    this.#open.add(request);
  }

  remove(request: OpenRequest): void {
    this.#open.remove(request);
  }

  /**
   * Cancels the request that a client names. Ids keep their type: `1` does not cancel `"1"`. Where several requests have the
   * id, it is unknown which one is meant, and none is cancelled.
   */
  cancel(clientId: JsonRpcId, reason: string): 'cancelled' | 'unknown' | 'ambiguous' {
    const key = idKey(clientId);
    const [request, ...others] = this.#open.toArray().filter((open) => idKey(open.clientId) === key);
    if (request === undefined) return 'unknown';
    if (others.length > 0) return 'ambiguous';
    this.#open.remove(request);
    request.cancel(reason);
    return 'cancelled';
  }

  /** @param problemOf the fault that a request is answered with; undefined for one that goes on. */
  failSome(problemOf: (request: OpenRequest) => GatewayFault | undefined): void {
    for (const request of this.#open.toArray()) {
      const problem = problemOf(request);
      if (problem === undefined) continue;
      this.#open.remove(request);
      request.fail(problem);
    }
  }

  failAll(gatewayFault: GatewayFault): void {
    for (const request of this.#open.toArray()) {
      this.#open.remove(request);
      request.fail(gatewayFault);
    }
  }

  cancelAll(reason: string): void {
    for (const request of this.#open.toArray()) {
      this.#open.remove(request);
      request.cancel(reason);
    }
  }
}
