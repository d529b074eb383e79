/**
 * The open requests of one session. A client's id is no key: real clients send `id: 1` for every request and several at
 * once, so it is only ever looked at to find what to cancel.
 */
import { Link, Ring } from '@omnibus/collections';
import { idKey, type GatewayFault, type JsonRpcId, type ServerName } from '@omnibus/protocol';

export class OpenRequest extends Link {
  readonly clientId: JsonRpcId;
  readonly cancel: (reason: string) => void;
  readonly fail: (gatewayFault: GatewayFault) => void;
  /** Where it is. */
  readonly server: ServerName | undefined;
  /** By the server's own name. */
  readonly tool: string | undefined;

  /** @param fail ends it with an answer of the gateway's own. */
  constructor(clientId: JsonRpcId, cancel: (reason: string) => void, fail: (gatewayFault: GatewayFault) => void, server?: ServerName, tool?: string) {
    super();
    this.clientId = clientId;
    this.cancel = cancel;
    this.fail = fail;
    this.server = server;
    this.tool = tool;
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
   * Cancels the request a client means. Ids keep their type: `1` does not cancel `"1"`. Where several requests carry the
   * id, nobody knows which one is meant, and none is touched.
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

  /** @param problemOf what is answered; undefined for one that goes on. */
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
