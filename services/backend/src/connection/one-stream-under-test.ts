import { latestLegacyRevision, type JsonObject, type JsonRpcMessage, type JsonRpcRequest } from '@omnibus/protocol';
import type { RequestFailure, Transport, TransportObserver } from '../transport/transport.ts';

/** A server of one stream, in this process; a test sees its requests and scripts its messages. */
export class OneStream implements Transport {
  readonly needsNoProbe = true;
  readonly closesToCancel = false;
  readonly keepsOrder = true;
  takesNamelessErrors = true;
  readonly hasState = true;
  readonly sent: JsonRpcMessage[] = [];
  /** How it fails pings; undefined while it answers them. */
  pingFails: RequestFailure | undefined;
  pings = 0;
  readonly #observer: TransportObserver;

  constructor(observer: TransportObserver) {
    this.#observer = observer;
  }

  /** A line that cannot be read. */
  stammer(id: string | undefined): void {
    this.#observer.dropped('invalid', 'it cannot be read', { id, reason: 'message.not_json' });
  }

  /** It ends. */
  end(): void {
    this.#observer.lost('it has ended');
  }

  fail(id: number, failure: RequestFailure): void {
    this.#observer.requestFailed(id, failure);
  }

  say(message: JsonObject): void {
    this.#observer.message({ jsonrpc: '2.0', ...message }, undefined);
  }

  request(message: JsonRpcRequest): void {
    if (message.method === 'ping') {
      this.pings += 1;
      const failure = this.pingFails;
      queueMicrotask(() =>
        failure === undefined ? this.say({ id: message.id, result: {} }) : this.fail(message.id as number, failure),
      );
    }
    if (message.method !== 'initialize') return;
    const result = {
      protocolVersion: latestLegacyRevision,
      capabilities: {},
      serverInfo: { name: 'one', version: '1' },
    };
    queueMicrotask(() => this.say({ id: message.id, result }));
  }

  send(message: JsonRpcMessage, settled?: () => void): void {
    this.sent.push(message);
    settled?.();
  }

  open = (): Promise<void> => Promise.resolve();
  close = (): Promise<void> => Promise.resolve();
  abandon = (): void => undefined;
  agreed = (): void => undefined;
  listen = (): void => undefined;
}
