/**
 * A client with a secret: all its messages contain it, and no message to it may contain that of another client. It answers a question with the marker in
 * the question, so that a server can check that the answer belongs to the right call.
 */
import { Heard } from '@omnibus/bus/testing';
import { isObject, type JsonObject, type JsonRpcId } from '@omnibus/protocol';
import type { Message } from '../support/raw-client.ts';
import { markerIn, newSecret, secretsIn, type Secret } from './markers.ts';
import {
  EventSourceWire,
  HttpWire,
  stdioWire,
  webSocketWire,
  type Credentials,
  type Wire,
  type WireObserver,
} from './wires.ts';

export interface CallerKind {
  readonly wire: 'http' | 'sse' | 'ws' | 'stdio';
  readonly revision: '2024-11-05' | '2025-06-18' | '2025-11-25' | '2026-07-28';
  /** Whether it declares capabilities for questions. */
  readonly isAskable: boolean;
  /** Default: all capabilities of its revision, if it answers questions. */
  readonly capabilities?: JsonObject;
  /** The user, where callers are known: the sessions of one user may see each other's data. */
  readonly subject?: string;
}

export interface Reply {
  readonly messages: readonly Message[];
  /** The answer; undefined when none will come. */
  readonly last: Message | undefined;
  /** Why none will come. */
  readonly broken: string | undefined;
}

const prefix = 'io.modelcontextprotocol/';
const limitMs = 90_000;
const wires: Readonly<
  Record<CallerKind['wire'], (url: string, observer: WireObserver, credentials: Credentials) => Wire>
> = {
  http: (...made) => new HttpWire(...made),
  sse: (...made) => new EventSourceWire(...made),
  ws: webSocketWire,
  stdio: stdioWire,
};

interface Waiting {
  readonly messages: Message[];
  readonly resolve: (reply: Reply) => void;
}

export class Caller {
  readonly kind: CallerKind;
  readonly secret: Secret = newSecret();
  readonly pushed = new Heard<Message>();
  /** Number of questions to it. */
  asked = 0;
  /** Whether its connection, and with it its session, has ended. */
  isBroken = false;
  readonly #wire: Wire;
  readonly #waiting = new Map<JsonRpcId, Waiting>();
  /** The received secrets of others, each reported once, with the text around them. */
  readonly #foreign = new Map<Secret, string>();
  #tail = '';
  #nextId = 0;
  #nextMarker = 0;
  #isClosing = false;

  private constructor(kind: CallerKind, url: string, credentials: Credentials) {
    this.kind = kind;
    this.#wire = wires[kind.wire](
      url,
      {
        bytes: (text) => this.#judge(text),
        message: (message, request) => this.#hear(message, request),
        broken: (id, why) => this.#break(id, why),
      },
      credentials,
    );
  }

  /** Opens a connection, with the handshake of its revision. */
  static async open(kind: CallerKind, url: string, credentials: Credentials = {}): Promise<Caller> {
    const caller = new Caller(kind, url, credentials);
    const { last, broken } = caller.isModern
      ? await caller.request('server/discover')
      : await caller.request('initialize', {
          protocolVersion: kind.revision,
          capabilities: caller.capabilities,
          clientInfo: { name: `client ${caller.secret}`, version: '1' },
        });
    if (last?.result === undefined) throw new Error(`${caller.name} could not open: ${broken ?? JSON.stringify(last)}`);
    if (caller.isModern) return caller;
    await caller.#wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await caller.#wire.opened(kind.revision);
    await caller.request('logging/setLevel', { level: 'debug' });
    return caller;
  }

  get isModern(): boolean {
    return this.kind.revision === '2026-07-28';
  }

  get name(): string {
    const { wire, revision, isAskable, subject } = this.kind;
    return `${wire} ${revision}${isAskable ? ', askable' : ''}${subject === undefined ? '' : `, of ${subject}`}`;
  }

  /**
   * The secrets of others that it has received since the last question, with the text around them.
   * @param everybody the clients by secret: where callers are known, secrets of the same user do not count.
   */
  foreign(everybody: ReadonlyMap<Secret, Caller> = new Map()): string[] {
    const { subject } = this.kind;
    const heard = [...this.#foreign].filter(
      ([secret]) => subject === undefined || everybody.get(secret)?.kind.subject !== subject,
    );
    this.#foreign.clear();
    return heard.map(([, around]) => around);
  }

  get capabilities(): JsonObject {
    if (!this.kind.isAskable) return {};
    const { revision, capabilities } = this.kind;
    return (
      capabilities ?? {
        roots: {},
        sampling: {},
        ...(revision >= '2025-11-25'
          ? { elicitation: { form: {}, url: {} } }
          : revision >= '2025-06-18'
            ? { elicitation: {} }
            : {}),
      }
    );
  }

  newMarker(): string {
    this.#nextMarker += 1;
    return `${this.secret}-${this.#nextMarker}`;
  }

  newId(): JsonRpcId {
    this.#nextId += 1;
    return this.#nextId;
  }

  /** One request with as many rounds as it takes (2026-07-28). */
  async request(method: string, params: JsonObject = {}, id: JsonRpcId = this.newId()): Promise<Reply> {
    let reply = await this.once(method, params, id);
    while (reply.last?.result?.['resultType'] === 'input_required') {
      const { inputRequests, requestState } = reply.last.result;
      const inputResponses = Object.fromEntries(
        Object.entries((inputRequests ?? {}) as Record<string, Message>).map(([key, request]) => [
          key,
          this.answerTo(request),
        ]),
      );
      reply = await this.once(
        method,
        { ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) },
        this.newId(),
      );
    }
    return reply;
  }

  /** One request in the form of its revision. */
  once(method: string, params: JsonObject, id: JsonRpcId): Promise<Reply> {
    const name = params['name'] ?? params['uri'] ?? params['taskId'];
    const meta = {
      ...(params['_meta'] as JsonObject | undefined),
      [`${prefix}protocolVersion`]: this.kind.revision,
      [`${prefix}clientCapabilities`]: {
        ...this.capabilities,
        ...(this.kind.isAskable ? { extensions: { [`${prefix}tasks`]: {} } } : {}),
      },
      [`${prefix}logLevel`]: 'debug',
    };
    const headers: Record<string, string> = this.isModern
      ? {
          'mcp-protocol-version': this.kind.revision,
          'mcp-method': method,
          ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
        }
      : {};
    return new Promise((resolve) => {
      const limit = setTimeout(() => this.#break(id, 'no answer'), limitMs);
      this.#waiting.set(id, {
        messages: [],
        resolve: (reply) => {
          clearTimeout(limit);
          resolve(reply);
        },
      });
      this.#wire
        .send({ jsonrpc: '2.0', id, method, params: this.isModern ? { ...params, _meta: meta } : params }, headers)
        .catch((error: unknown) => this.#break(id, String(error)));
    });
  }

  /** Cancels a request in the way of its revision and transport. */
  async cancel(id: JsonRpcId): Promise<void> {
    if (this.isModern && this.kind.wire === 'http') this.#wire.abandon(id);
    else
      await this.#wire
        .send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: 'enough' } })
        .catch(() => undefined);
    this.#waiting.get(id)?.resolve({ messages: [], last: undefined, broken: 'cancelled' });
    this.#waiting.delete(id);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#wire.close();
  }

  answerTo({ method, params }: Pick<Message, 'method' | 'params'>): JsonObject {
    this.asked += 1;
    const marker = markerIn(JSON.stringify(params ?? {})) ?? `${this.secret}-0`;
    if (method === 'roots/list') return { roots: [{ uri: `file:///${this.secret}` }] };
    if (method === 'sampling/createMessage')
      return { role: 'assistant', content: { type: 'text', text: marker }, model: 'none' };
    return params?.['mode'] === 'url' ? { action: 'accept' } : { action: 'accept', content: { answer: marker } };
  }

  /** Searches received text for secrets, which may arrive in two pieces. */
  #judge(text: string): void {
    const whole = this.#tail + text;
    this.#tail = whole.slice(-40);
    for (const secret of secretsIn(whole)) {
      if (secret === this.secret || this.#foreign.has(secret)) continue;
      const at = whole.indexOf(secret);
      this.#foreign.set(secret, `${this.name} ${this.secret} heard ${whole.slice(Math.max(0, at - 300), at + 120)}`);
    }
  }

  #hear(message: Message, request: JsonRpcId | undefined): void {
    if (message.method === undefined) {
      const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id);
      if (waiting === undefined || message.id === undefined) return;
      this.#waiting.delete(message.id);
      waiting.resolve({ messages: waiting.messages, last: message, broken: undefined });
      return;
    }
    if (message.id !== undefined) {
      const answer = this.kind.isAskable
        ? { result: this.answerTo(message) }
        : { error: { code: -32_601, message: 'not here' } };
      this.#wire.send({ jsonrpc: '2.0', id: message.id, ...answer }).catch(() => undefined);
      return;
    }
    const token = message.params?.['progressToken'];
    const isProgress = message.method === 'notifications/progress';
    const owner =
      request ??
      (isProgress ? [...this.#waiting.keys()].find((id) => `of ${JSON.stringify(id)}` === token) : undefined);
    if (owner !== undefined) this.#waiting.get(owner)?.messages.push(message);
    if (!isProgress) this.pushed.add(message);
  }

  #break(id: JsonRpcId | undefined, why: string): void {
    if (this.#isClosing) return;
    if (id === undefined) this.isBroken = true;
    for (const [each, waiting] of id === undefined ? [...this.#waiting] : [[id, this.#waiting.get(id)] as const]) {
      this.#waiting.delete(each);
      waiting?.resolve({ messages: waiting.messages, last: undefined, broken: why });
    }
  }

  /** @returns the server's own result of a call, as text. */
  static textOf({ last }: Reply): string {
    return isObject(last?.result) ? JSON.stringify(last.result) : '';
  }
}
