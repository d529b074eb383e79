/**
 * A client whose connection is its session: what it says comes in over one way, everything it hears goes out over another,
 * and the end of the connection is the end of the session. stdio (all revisions), HTTP+SSE (2024-11-05) and WebSockets.
 */
import { subjects, type Bus, type BusError, type Subject } from '@omnibus/bus';
import {
  errorText, fault, idSequence, newWorkerId, sessionKey, toErrorObject,
  type Caller, type GatewayFault, type JsonRpcId, type JsonRpcRequest, type Limits, type OpenReply, type PostedMessage,
  type SessionCommand, type StreamFrame, type StreamId,
} from '@omnibus/protocol';
import type { ParsedBody } from './parse-message.ts';

export interface DuplexOptions {
  readonly bus: Bus;
  readonly limits: Limits;
  readonly caller: Caller;
  /** Takes one serialised message. */
  readonly write: (text: string) => void;
  /** The gateway has nothing more to say. */
  readonly ended: () => void;
}

type State =
  | { readonly kind: 'closed' }
  /** What comes before the answer to `initialize` waits for it. */
  | { readonly kind: 'opening'; readonly waiting: PostedMessage[] }
  | { readonly kind: 'open'; readonly session: Subject<SessionCommand, StreamFrame> };

const nextStreamId = idSequence<StreamId>(newWorkerId('duplex'));

export class DuplexClient {
  readonly #options: DuplexOptions;
  #state: State = { kind: 'closed' };

  constructor(options: DuplexOptions) {
    this.#options = options;
  }

  receive(parsed: ParsedBody): void {
    switch (parsed.kind) {
      case 'refused':
        this.refuse(parsed.fault, parsed.id);
        return;
      case 'single':
        this.#receiveMessage(parsed.message);
        return;
      case 'batch':
        if (this.#state.kind === 'open') this.#send(this.#state.session, { kind: 'batch', caller: this.#options.caller, stream: nextStreamId(), messages: parsed.messages }, undefined);
        else this.refuse(fault('session.missing', 'send initialize first'), undefined);
    }
  }

  /** Answers a request; what was none is not answered. */
  refuse(gatewayFault: GatewayFault, id: JsonRpcId | undefined): void {
    this.#options.write(errorText(id, toErrorObject(gatewayFault)));
  }

  /** The connection is over, and the session with it. */
  end(): Promise<void> {
    const state = this.#state;
    const { bus, caller } = this.#options;
    this.#state = { kind: 'closed' };
    if (state.kind !== 'open' || !bus.connected) return Promise.resolve();
    return new Promise((resolve) => {
      bus.request(state.session, { kind: 'delete', caller }, { reply: () => resolve(), failed: () => resolve() });
    });
  }

  #receiveMessage(message: PostedMessage): void {
    const id = message.kind === 'request' ? message.message.id : undefined;
    switch (this.#state.kind) {
      case 'open':
        this.#send(this.#state.session, { kind: 'post', caller: this.#options.caller, stream: nextStreamId(), message }, id);
        return;
      case 'opening':
        if (this.#state.waiting.length < this.#options.limits.maxInFlightPerSession) this.#state.waiting.push(message);
        else if (id !== undefined) this.refuse(fault('session.busy'), id);
        return;
      case 'closed':
        if (message.kind === 'request' && message.message.method === 'initialize') this.#open(message.message);
        else if (message.kind === 'request') this.refuse(fault('session.missing', 'send initialize first'), id);
    }
  }

  #open(request: JsonRpcRequest): void {
    const { bus, caller } = this.#options;
    this.#state = { kind: 'opening', waiting: [] };
    const pending = bus.request(subjects.sessionOpen, { kind: 'open', caller, request }, {
      reply: (reply) => {
        pending.close();
        this.#opened(reply, request.id);
      },
      failed: () => this.#opened({ kind: 'refused', fault: fault('gateway.unavailable') }, request.id),
    });
  }

  #opened(reply: OpenReply, id: JsonRpcId): void {
    const { caller, write } = this.#options;
    const isGone = this.#state.kind !== 'opening';
    const waiting = this.#state.kind === 'opening' ? this.#state.waiting : [];
    if (reply.kind !== 'opened') {
      this.#state = { kind: 'closed' };
      if (reply.kind === 'answered') write(reply.text);
      else this.refuse(reply.fault, id);
    } else {
      const session = subjects.session(sessionKey(reply.session));
      this.#state = { kind: 'open', session };
      if (isGone) {
        void this.end();
        return;
      }
      write(reply.text);
      this.#send(session, { kind: 'attach', caller, stream: nextStreamId(), after: undefined }, undefined);
    }
    for (const message of waiting) this.#receiveMessage(message);
  }

  /** Everything a session says goes out on the one way there is. */
  #send(session: Subject<SessionCommand, StreamFrame>, command: SessionCommand, id: JsonRpcId | undefined): void {
    const pending = this.#options.bus.request(session, command, {
      reply: (frame) => {
        if (frame.kind === 'message') this.#options.write(frame.text);
        else if (frame.kind === 'refused') this.refuse(frame.fault, id);
        const isLast = frame.kind === 'message' ? frame.last : frame.kind !== 'attached';
        if (isLast) pending.close();
        if (isLast && command.kind === 'attach') this.#options.ended();
      },
      failed: (error: BusError) => this.refuse(fault(error.kind === 'no-responders' ? 'session.unknown' : 'gateway.draining'), id),
    });
  }
}
