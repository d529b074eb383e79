/** Every transport for clients of the gateway, with texts as input and messages as output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createParser } from 'eventsource-parser';
import { WebSocket } from 'ws';
import { Heard } from '@omnibus/bus/testing';
import { parseJson } from '@omnibus/protocol';
import { omnibusProgram } from './processes.ts';
import type { Message } from './raw-client.ts';

export interface Front extends AsyncDisposable {
  say(text: string): void;
  /** Everything that was received; entries of arrays are separate messages. */
  readonly heard: Heard<Message>;
}

/** Parses received text; the test fails when it is not JSON. */
function hear(heard: Heard<Message>, text: string): void {
  if (text === '') return;
  const value = parseJson(text) as Message | Message[];
  for (const message of Array.isArray(value) ? value : [value]) heard.add(message);
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** @param url `http://host:port/mcp` */
export function overHttp(url: string): Promise<Front> {
  const heard = new Heard<Message>();
  let session: string | undefined;
  let last: Promise<void> = Promise.resolve();
  const post = async (text: string): Promise<void> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...json, ...(session === undefined ? {} : { 'mcp-session-id': session }) },
      body: text,
    });
    session = response.headers.get('mcp-session-id') ?? session;
    const content = await response.text();
    if (response.headers.get('content-type') === 'text/event-stream')
      createParser({ onEvent: ({ data }) => hear(heard, data) }).feed(content);
    else hear(heard, content);
  };
  return Promise.resolve({
    heard,
    // Sends one after the other, since the other fronts answer in order.
    say: (text) => {
      last = last.then(() => post(text));
    },
    [Symbol.asyncDispose]: () => last,
  });
}

export async function overWebSocket(url: string): Promise<Front> {
  const heard = new Heard<Message>();
  const socket = new WebSocket(url.replace(/^http/, 'ws').replace(/\/mcp$/, '/ws'), 'mcp');
  socket.on('message', (data: Buffer) => hear(heard, data.toString()));
  await once(socket, 'open');
  return {
    heard,
    say: (text) => socket.send(text),
    async [Symbol.asyncDispose]() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

/** HTTP+SSE of 2024-11-05. Refusals are in the answer to the POST. */
export async function overEvents(url: string): Promise<Front> {
  const heard = new Heard<Message>();
  const over = new AbortController();
  const stream = url.replace(/\/mcp$/, '/sse');
  const response = await fetch(stream, { headers: { accept: 'text/event-stream' }, signal: over.signal });
  const endpoint = new Heard<string>();
  const parser = createParser({
    onEvent: ({ event, data }) => (event === 'endpoint' ? endpoint.add(new URL(data, stream).href) : hear(heard, data)),
  });
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      parser.feed(decoder.decode(chunk, { stream: true }));
  };
  const reading = read().catch(() => undefined);
  const [address] = (await endpoint.until(1)) as [string];
  let last: Promise<void> = Promise.resolve();
  const post = async (text: string): Promise<void> => {
    const answer = await fetch(address, { method: 'POST', headers: json, body: text });
    const content = await answer.text();
    if (answer.status !== 202) hear(heard, content);
  };
  return {
    heard,
    say: (text) => {
      last = last.then(() => post(text));
    },
    async [Symbol.asyncDispose]() {
      await last;
      over.abort();
      await reading;
    },
  };
}

/** A process `omnibus stdio`. @param args the arguments after `stdio`. */
export function overStdio(...args: readonly string[]): Promise<Front> {
  const heard = new Heard<Message>();
  const child = spawn(process.execPath, [omnibusProgram, 'stdio', ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) hear(heard, line);
  });
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'exit');
  return Promise.resolve({
    heard,
    say: (text) => child.stdin.write(`${text}\n`),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  });
}
