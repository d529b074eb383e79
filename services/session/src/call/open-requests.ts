/**
 * The open requests of one session. A client's id is no key: real clients send `id: 1` for every request and several at
 * once, so it is only ever looked at to find what to cancel.
 */
import { Link, Ring } from '@omnibus/collections';
import { fault, idKey, type GatewayFault, type JsonRpcId, type ServerName, type ServerNotice } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Barrier } from './barrier.ts';
import type { Doubter, ForwardingHooks } from './forwarding-hooks.ts';

/** The client's id of a request, and the stream on which it is answered. */
interface AnsweredCall {
  readonly id: JsonRpcId;
  readonly stream: object;
}

/** Requests within a request: the calls of a script. */
export interface RequestsWithin {
  readonly open: Pick<OpenRequests, 'find'>;
  /** Ends those that the client may not make now. */
  endBarred(barrier: Barrier): void;
  taskProgressed(notice: Extract<ServerNotice, { kind: 'task-progress' }>): void;
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

  /** Requests that this one makes itself; undefined for most. */
  get within(): RequestsWithin | undefined {
    return undefined;
  }

  /** Whether it is certain that no server has it: it waits for the decision of a person, before it is sent. */
  get hasNotBegun(): boolean {
    return false;
  }

  /** Another worker owns it now: its end here must not end it there. */
  giveAway(): void {
    // Only a request that a server has can go on elsewhere.
  }

  /** Its worker stops, and the next one answers it. */
  leave(_reason: string): void {
    // Only a request that makes requests itself has to end here.
  }
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

export class OpenRequests extends Ring<OpenRequest> {
  readonly #hooks: Pick<ForwardingHooks, 'doubt' | 'idle'>;
  readonly #log: Pick<Logger, 'error'>;

  constructor(hooks: Pick<ForwardingHooks, 'doubt' | 'idle'>, log: Pick<Logger, 'error'>) {
    super();
    this.#hooks = hooks;
    this.#log = log;
  }

  /** See `Doubter`. */
  doubt(): ReturnType<Doubter['doubt']> {
    return this.#hooks.doubt();
  }

  /** Tells the owner when no request is open any more. The remover of a request calls it, after adding the request's continuation. */
  lookIdle(): void {
    if (this.size === 0) this.#hooks.idle?.();
  }

  /**
   * Continues a request that has waited, if it is still open and this worker still has its client. After "outcome unknown" a client must not
   * have its request executed afterwards.
   * @param go what throws here ends this request alone.
   * @param gone called instead if the request does not go on.
   */
  resume(request: WaitingRequest, go: () => void, gone?: () => void): void {
    const doubt = this.doubt();
    if (doubt === undefined) this.#resume(request, undefined, go, gone);
    else this.after(request, doubt, (problem) => this.#resume(request, problem, go, gone));
  }

  /** Goes on after a wait. A wait that fails, or a continuation that throws, ends this request alone. */
  after<Got>(request: WaitingRequest, wait: Promise<Got>, goOn: (got: Got) => void): void {
    wait.then(goOn).catch((error: unknown) => {
      this.#log.error({ err: error }, 'the wait of a request failed');
      if (this.remove(request)) request.fail(fault('internal.error'));
      this.lookIdle();
    });
  }

  #resume(request: WaitingRequest, problem: GatewayFault | undefined, go: () => void, gone?: () => void): void {
    this.#settle(request, problem, go, gone);
    this.lookIdle();
  }

  #settle(request: WaitingRequest, problem: GatewayFault | undefined, go: () => void, gone?: () => void): void {
    const isOpen = this.remove(request);
    if (!isOpen || problem !== undefined) {
      gone?.();
      if (isOpen && problem !== undefined) request.fail(problem);
      return;
    }
    try {
      go();
    } catch (error) {
      this.#log.error({ err: error }, 'a request that had waited could not be made');
      request.fail(fault('internal.error'));
    }
  }

  /**
   * Cancels the request that a client names. Ids keep their type: `1` does not cancel `"1"`. Where several requests have the
   * id, it is unknown which one is meant, and none is cancelled.
   */
  cancel(clientId: JsonRpcId, reason: string): 'cancelled' | 'unknown' | 'ambiguous' {
    const key = idKey(clientId);
    const request = this.find(({ clientId: id }) => idKey(id) === key);
    if (request === undefined) return 'unknown';
    if (this.find((other) => other !== request && idKey(other.clientId) === key) !== undefined) return 'ambiguous';
    this.remove(request);
    request.cancel(reason);
    this.lookIdle();
    return 'cancelled';
  }

  /** The streams of requests that no server has. */
  get notBegun(): ReadonlySet<object> {
    return new Set(this.toArray().flatMap(({ hasNotBegun, stream }) => (hasNotBegun ? [stream] : [])));
  }

  /** @param problemOf the fault that a request is answered with; undefined for one that goes on. */
  failSome(problemOf: (request: OpenRequest) => GatewayFault | undefined): void {
    for (const request of this.toArray()) {
      const problem = problemOf(request);
      if (problem === undefined) continue;
      this.remove(request);
      request.fail(problem);
    }
    this.lookIdle();
  }

  /** Another worker owns the client now. */
  giveAway(): void {
    for (const request of this.toArray()) request.giveAway();
  }

  /** The worker stops. */
  leaveAll(reason: string): void {
    for (const request of this.toArray()) request.leave(reason);
  }

  /** Answers all with a fault of the gateway. */
  failAll(gatewayFault: GatewayFault): void {
    this.failSome(() => gatewayFault);
  }

  cancelAll(reason: string): void {
    for (const request of this.toArray()) {
      this.remove(request);
      request.cancel(reason);
    }
    this.lookIdle();
  }
}
