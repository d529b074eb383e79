/**
 * One client on stdin and stdout (all revisions, stdio): a JSON-RPC message per line each way. The connection is the
 * session, and the end of the input is its end.
 */
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { subjects, type Bus, type BusError, type Subject } from '@omnibus/bus';
import {
  anonymous, errorText, fault, idSequence, newWorkerId, rootEndpoint, sessionKey, toErrorObject,
  type Caller, type EndpointName, type GatewayFault, type JsonRpcId, type JsonRpcRequest, type Limits, type OpenReply, type PostedMessage,
  type SessionCommand, type StreamFrame, type StreamId,
} from '@omnibus/protocol';
import { parseMessage } from '../parse-message.ts';

export interface StdioIngressOptions {
  readonly bus: Bus;
  readonly limits: Limits;
  readonly endpoint: EndpointName | undefined;
  readonly input: Readable;
  readonly output: Writable;
}

type State =
  | { readonly kind: 'closed' }
  /** What comes before the answer to `initialize` waits for it. */
  | { readonly kind: 'opening'; readonly waiting: PostedMessage[] }
  | { readonly kind: 'open'; readonly session: Subject<SessionCommand, StreamFrame> };

export class StdioIngress {
  readonly #options: StdioIngressOptions;
  readonly #caller: Caller;
  readonly #nextStreamId = idSequence<StreamId>(newWorkerId('stdio'));
  #state: State = { kind: 'closed' };

  constructor(options: StdioIngressOptions) {
    this.#options = options;
    this.#caller = { principal: anonymous, endpoint: options.endpoint ?? rootEndpoint };
  }

  /** Serves until the input ends, and ends the session then. */
  async serve(): Promise<void> {
    const { input, output } = this.#options;
    // A client that is gone reads nothing; the end of its input is what ends us.
    output.on('error', () => input.destroy());
    const lines = createInterface({ input, crlfDelay: Infinity });
    for await (const line of lines) if (line.trim() !== '') this.#receive(line);
    await this.#end();
  }

  #receive(line: string): void {
    const { limits } = this.#options;
    if (Buffer.byteLength(line) > limits.maxBodyBytes) {
      this.#refuse(fault('message.too_large', `the message is larger than ${limits.maxBodyBytes} bytes`, { maxBytes: limits.maxBodyBytes }), undefined);
      return;
    }
    const parsed = parseMessage(Buffer.from(line), limits);
    switch (parsed.kind) {
      case 'refused':
        this.#refuse(parsed.fault, parsed.id);
        return;
      case 'single':
        this.#receiveMessage(parsed.message);
        return;
      case 'batch':
        if (this.#state.kind === 'open') this.#send(this.#state.session, { kind: 'batch', caller: this.#caller, stream: this.#nextStreamId(), messages: parsed.messages }, undefined);
        else this.#refuse(fault('session.missing', 'send initialize first'), undefined);
    }
  }

  #receiveMessage(message: PostedMessage): void {
    const id = message.kind === 'request' ? message.message.id : undefined;
    switch (this.#state.kind) {
      case 'open':
        this.#send(this.#state.session, { kind: 'post', caller: this.#caller, stream: this.#nextStreamId(), message }, id);
        return;
      case 'opening':
        if (this.#state.waiting.length < this.#options.limits.maxInFlightPerSession) this.#state.waiting.push(message);
        else if (id !== undefined) this.#refuse(fault('session.busy'), id);
        return;
      case 'closed':
        if (message.kind === 'request' && message.message.method === 'initialize') this.#open(message.message);
        else if (message.kind === 'request') this.#refuse(fault('session.missing', 'send initialize first'), id);
    }
  }

  #open(request: JsonRpcRequest): void {
    this.#state = { kind: 'opening', waiting: [] };
    const pending = this.#options.bus.request(subjects.sessionOpen, { kind: 'open', caller: this.#caller, request }, {
      reply: (reply) => {
        pending.close();
        this.#opened(reply, request.id);
      },
      failed: () => this.#opened({ kind: 'refused', fault: fault('gateway.unavailable') }, request.id),
    });
  }

  #opened(reply: OpenReply, id: JsonRpcId): void {
    const waiting = this.#state.kind === 'opening' ? this.#state.waiting : [];
    if (reply.kind !== 'opened') {
      this.#state = { kind: 'closed' };
      if (reply.kind === 'answered') this.#write(reply.text);
      else this.#refuse(reply.fault, id);
    } else {
      const session = subjects.session(sessionKey(reply.session));
      this.#state = { kind: 'open', session };
      this.#write(reply.text);
      this.#send(session, { kind: 'attach', caller: this.#caller, stream: this.#nextStreamId(), after: undefined }, undefined);
    }
    for (const message of waiting) this.#receiveMessage(message);
  }

  /** Everything a session says goes out on the one stream there is. */
  #send(session: Subject<SessionCommand, StreamFrame>, command: SessionCommand, id: JsonRpcId | undefined): void {
    const pending = this.#options.bus.request(session, command, {
      reply: (frame) => {
        if (frame.kind === 'message') this.#write(frame.text);
        else if (frame.kind === 'refused') this.#refuse(frame.fault, id);
        const isLast = frame.kind === 'message' ? frame.last : frame.kind !== 'attached';
        if (isLast) pending.close();
      },
      failed: (error: BusError) => this.#refuse(fault(error.kind === 'no-responders' ? 'session.unknown' : 'gateway.draining'), id),
    });
  }

  /** Answers a request; what was none is not answered. */
  #refuse(gatewayFault: GatewayFault, id: JsonRpcId | undefined): void {
    this.#write(errorText(id, toErrorObject(gatewayFault)));
  }

  #write(text: string): void {
    this.#options.output.write(`${text}\n`);
  }

  #end(): Promise<void> {
    const { state, bus, caller } = { state: this.#state, bus: this.#options.bus, caller: this.#caller };
    if (state.kind !== 'open') return Promise.resolve();
    return new Promise((resolve) => {
      bus.request(state.session, { kind: 'delete', caller }, { reply: () => resolve(), failed: () => resolve() });
    });
  }
}
