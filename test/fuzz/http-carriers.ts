/** Clients over HTTP: Streamable HTTP by a library that writes valid requests, and raw bytes on a socket. */
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { createParser } from 'eventsource-parser';
import { isObject } from '@omnibus/protocol';
import { firstWrong, mayCancel, standingMs, type Carrier, type Posted } from './carriers.ts';
import { parseAll } from './judge.ts';
import { hangMs } from './run.ts';
import { initialize } from './traffic.ts';

const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

interface Exchanged {
  readonly status: number;
  readonly type: string;
  readonly session: string | undefined;
  readonly text: string;
  /** `limit`: it did not end within the time limit. */
  readonly how: 'whole' | 'limit' | 'broken';
}

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  readonly limitMs?: number;
}

/** Sends a request and reads its answer for a limited time. */
function exchange(url: string, agent: Agent, { method, headers, body, limitMs = hangMs }: Sent): Promise<Exchanged> {
  return new Promise((resolve) => {
    let status = 0;
    let type = '';
    let session: string | undefined;
    const chunks: Buffer[] = [];
    const finish = (how: Exchanged['how']): void => {
      clearTimeout(limit);
      resolve({ status, type, session, text: Buffer.concat(chunks).toString(), how });
    };
    const request = httpRequest(
      url,
      { method, agent, headers: body === undefined ? headers : { ...headers, 'content-length': body.length } },
      (response) => {
        status = response.statusCode ?? 0;
        type = response.headers['content-type'] ?? '';
        session = response.headers['mcp-session-id'] as string | undefined;
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => finish('whole'));
        response.on('error', () => finish('broken'));
      },
    );
    const limit = setTimeout(() => {
      finish('limit');
      request.destroy();
    }, limitMs);
    request.on('error', () => finish('broken'));
    request.end(body);
  });
}

function dataOf(events: string): string[] {
  const data: string[] = [];
  createParser({ onEvent: (event) => event.data !== '' && data.push(event.data) }).feed(events);
  return data;
}

/** Streamable HTTP, with a session that is opened again when it has ended. */
export class HttpCarrier implements Carrier {
  readonly #url: string;
  readonly #hasSession: boolean;
  readonly #agent = new Agent({ keepAlive: true });
  #session: string | undefined;
  #opening: Promise<void> | undefined;
  /** Number of open messages that may cancel others. */
  #takenBack = 0;
  #takingBack = 0;

  constructor(url: string, hasSession: boolean) {
    this.#url = url;
    this.#hasSession = hasSession;
  }

  async send({ body, headers, method = 'POST', id }: Posted): Promise<string | undefined> {
    if (this.#hasSession && this.#session === undefined) {
      this.#opening ??= this.#open().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
    const takesBack = method === 'DELETE' || mayCancel(body);
    if (takesBack) this.#takingBack += 1;
    const takenBack = this.#takenBack - this.#takingBack;
    const session = this.#session;
    const isStanding = method === 'GET' || body.includes('subscriptions/listen');
    const { status, type, text, how } = await exchange(this.#url, this.#agent, {
      method,
      headers: { ...accept, ...(session === undefined ? {} : { 'mcp-session-id': session }), ...headers },
      body: method === 'GET' || method === 'DELETE' ? undefined : body,
      limitMs: isStanding ? standingMs : hangMs,
    });
    if (takesBack) {
      this.#takingBack -= 1;
      this.#takenBack += 1;
    }
    if (status === 404 && session === this.#session) this.#session = undefined;
    if (how === 'limit') return isStanding ? undefined : 'it is not answered';
    if (how === 'broken') return `the connection broke: HTTP ${status} ${text.slice(0, 500)}`;
    if (status >= 500 && ![502, 503].includes(status)) return `HTTP ${status}`;
    const texts = type.startsWith('text/event-stream') ? dataOf(text) : text === '' ? [] : [text];
    const wrong = firstWrong(texts);
    if (wrong !== undefined || id === undefined) return wrong;
    const answers = parseAll(texts).filter(
      (message) => isObject(message) && !('method' in message) && message['id'] === id,
    );
    const isTakenBack = answers.length === 0 && (takenBack !== this.#takenBack || this.#takingBack > 0);
    return answers.length === 1 || isTakenBack
      ? undefined
      : `${answers.length} answers with its id: HTTP ${status} ${text.slice(0, 500)}`;
  }

  async #open(): Promise<void> {
    const { session } = await exchange(this.#url, this.#agent, {
      method: 'POST',
      headers: accept,
      body: Buffer.from(JSON.stringify(initialize)),
    });
    this.#session = session;
    if (session === undefined) return;
    await exchange(this.#url, this.#agent, {
      method: 'POST',
      headers: { ...accept, 'mcp-session-id': session },
      body: Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#session !== undefined)
      await exchange(this.#url, this.#agent, { method: 'DELETE', headers: { 'mcp-session-id': this.#session } });
    this.#agent.destroy();
  }
}

/** Sends a request line, headers and body as text on a socket, without a library that would correct them. */
export async function sendRaw(url: string, bytes: Buffer): Promise<string | undefined> {
  const { hostname, port } = new URL(url);
  const chunks: Buffer[] = [];
  const ended = await new Promise<'whole' | 'closed' | 'silent'>((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    const done = (how: 'whole' | 'closed' | 'silent') => (): void => {
      socket.destroy();
      resolve(how);
    };
    // The gateway waits for the rest of an incomplete request for longer than this test can.
    socket.setTimeout(standingMs, done('silent'));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (bodyOf(Buffer.concat(chunks)) !== undefined) done('whole')();
    });
    socket.on('error', done('closed'));
    socket.on('close', done('closed'));
  });
  const answer = Buffer.concat(chunks);
  if (answer.length === 0) return undefined;
  const head = answer.toString('latin1', 0, 300);
  if (!/^HTTP\/1\.1 (?:[1-4]\d\d|50[1235]) /.test(head)) return `${ended} after ${head}`;
  const body = bodyOf(answer);
  return body === undefined || body === '' || !/\ncontent-type: application\/json/i.test(head)
    ? undefined
    : firstWrong([body]);
}

/** The body of the first answer once it is complete, where its length is declared. */
function bodyOf(answer: Buffer): string | undefined {
  const end = answer.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = Number(/\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, end))?.[1]);
  return answer.length >= end + 4 + length ? answer.toString('utf8', end + 4, end + 4 + length) : undefined;
}
