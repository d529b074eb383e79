/**
 * The clients of the chaos run. Each works until it is told to stop; whatever it is answered is either right, or an error
 * that says what became of the call.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { EventReader } from '../support/event-reader.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text } from '../support/upstream.ts';
import type { Tally } from './tally.ts';

/** A call that has no answer by then has none. */
export const answerMs = 40_000;
const maxReturns = 40;
/** The SDK gives up after two attempts unless told otherwise. */
const reconnectionOptions = { initialReconnectionDelay: 200, maxReconnectionDelay: 1_000, reconnectionDelayGrowFactor: 1.5, maxRetries: 20 };

export interface Run {
  readonly url: string;
  readonly tally: Tally;
  /** Milliseconds, chosen by the seed. */
  readonly pauseMs: () => number;
  readonly over: AbortSignal;
  /** Lets the server "up" say that a resource has changed. */
  readonly touch: (uri: string) => void;
}

export type Worker = (run: Run, name: string) => Promise<void>;

/** Judges the answer to a call that was to say its own tag. */
function judge({ tally }: Run, client: string, tag: string, status: number, last: Message | undefined): void {
  if (status === 404) tally.lost.push(tag);
  else if (last === undefined) tally.wrong.push(`${tag}: no message`);
  else if (last.error !== undefined) tally.interrupt(last.error.data?.['reason'] ?? last.error.message);
  else if (last.id !== undefined && JSON.stringify(last.result?.['content']) === JSON.stringify(text(tag)['content'])) tally.success(client);
  else tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
}

/** Something between the client and the edge broke: the client knows that it does not know. */
export function broken({ tally }: Run, tag: string, since: number, error: unknown): void {
  if ((error as Error).name === 'TimeoutError') tally.giveUp(tag, since);
  else tally.interrupt('connection');
}

/** A session that reads and changes in turn. */
export const worker: Worker = async (run, name) => {
  const client = await opened(run, () => RawClient.open(run.url));
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const since = performance.now();
    try {
      const { status, last } = await client.post(
        { jsonrpc: '2.0', id: tag, method: 'tools/call', params: { name: count % 2 === 0 ? 'up__look' : 'up__act', arguments: { tag } } }, {}, AbortSignal.timeout(answerMs),
      );
      judge(run, name, tag, status, last);
    } catch (error) {
      broken(run, tag, since, error);
    }
    await pause(run);
  }
};

/** The official SDK's client, with its standing stream and its own ways of coming back. */
export const sdkClient: Worker = async (run, name) => {
  const troubles: string[] = [];
  const client = await opened(run, async () => {
    const fresh = new Client({ name, version: '1' });
    fresh.onerror = (error) => troubles.push(String(error).slice(0, 200));
    await fresh.connect(new StreamableHTTPClientTransport(new URL(run.url), { reconnectionOptions }));
    return fresh;
  });
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    troubles.length = 0;
    const since = performance.now();
    try {
      const result = await client.callTool({ name: 'up__act', arguments: { tag } }, undefined, { timeout: answerMs });
      if (JSON.stringify(result['content']) === JSON.stringify(text(tag)['content'])) run.tally.success(name);
      else run.tally.wrong.push(`${tag}: ${JSON.stringify(result)}`);
    } catch (error) {
      if (error instanceof McpError && error.code === -32_001) run.tally.giveUp(`${tag} (${troubles.join('; ')})`, since);
      else if (error instanceof McpError) run.tally.interrupt((error.data as { readonly reason?: string } | undefined)?.reason);
      else if (String(error).includes('Session not found') || String(error).includes('HTTP 404')) run.tally.lost.push(tag);
      else run.tally.interrupt('connection');
    }
    await pause(run);
  }
  await client.close();
};

/** Long calls with progress, on a stream the client comes back to whenever it breaks. */
export const streamer: Worker = async (run, name) => {
  const { session } = await opened(run, () => RawClient.open(run.url));
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const heard: Message[] = [];
    let lastEventId: string | undefined;
    const since = performance.now();
    const giveUpAt = since + answerMs;
    const body = { jsonrpc: '2.0', id: tag, method: 'tools/call', params: { name: 'up__long', arguments: { tag }, _meta: { progressToken: tag } } };
    for (let round = 0; round < maxReturns && performance.now() < giveUpAt; round += 1) {
      try {
        const reader = await EventReader.open(run.url, session as string, lastEventId === undefined ? { body, limitMs: answerMs } : { lastEventId, limitMs: answerMs });
        if (reader.status === 404) run.tally.lost.push(tag);
        if (reader.status >= 500 && lastEventId !== undefined) {
          await pause(run);
          continue; // Nobody could serve it just now; calling a second time would be another matter.
        }
        if (reader.status !== 200) break;
        // Breaking the connection in the middle is part of the exercise.
        if (round === 0 && count % 2 === 0) {
          await Promise.race([reader.events.until(3), reader.ended]);
          reader.break();
        }
        await reader.ended;
        heard.push(...reader.messages);
        lastEventId = reader.lastId ?? lastEventId;
      } catch {
        // The edge is gone, or not reachable.
      }
      if (lastEventId === undefined || heard.some(({ id }) => id === tag)) break;
      await pause(run);
    }
    if (heard.some(({ id }) => id === tag)) judgeStream(run, name, tag, heard);
    else if (lastEventId === undefined) run.tally.interrupt('connection');
    else run.tally.giveUp(`${tag} (last event ${lastEventId})`, since);
  }
};

/** Judges what came on the stream of a call that was answered. */
function judgeStream(run: Run, name: string, tag: string, heard: readonly Message[]): void {
  const progress = heard.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params?.['progress'] as number);
  const answers = heard.filter(({ id }) => id === tag);
  if (progress.some((value, index) => index > 0 && value <= (progress[index - 1] as number))) run.tally.wrong.push(`${tag}: progress ${progress.join(' ')}`);
  if (answers.length > 1) run.tally.wrong.push(`${tag}: ${answers.length} answers`);
  else judge(run, name, tag, 200, answers[0]);
}

/** A client of the newest revision, whose calls ask something and are continued by another request. */
export const asked: Worker = async (run, name) => {
  const client = new ModernClient(run.url);
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const call = { name: 'era__form', arguments: { say: tag } };
    let since = performance.now();
    let phase = 'question';
    try {
      const first = (await client.request('tools/call', call, {}, AbortSignal.timeout(answerMs))).last;
      if (first.error !== undefined) {
        run.tally.interrupt(first.error.data?.['reason']);
        continue;
      }
      const [[key, request] = ['', undefined]] = Object.entries((first.result?.['inputRequests'] ?? {}) as Record<string, { readonly params: { readonly message: string } }>);
      if (request?.params.message !== tag) {
        run.tally.wrong.push(`${tag}: ${JSON.stringify(first)}`);
        continue;
      }
      await pause(run);
      since = performance.now();
      phase = 'answer';
      const { last } = await client.request('tools/call', { ...call, requestState: first.result?.['requestState'], inputResponses: { [key]: { action: 'accept', content: { answer: tag } } } }, {}, AbortSignal.timeout(answerMs));
      if (last.error !== undefined) run.tally.interrupt(last.error.data?.['reason']);
      else if (JSON.stringify(last.result).includes(`\\"${tag}\\"`)) run.tally.success(name);
      else run.tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
    } catch (error) {
      broken(run, `${tag} (${phase})`, since, error);
    }
  }
};

/** A session whose program counts: as long as it is the same program, it goes on counting. */
export const counter: Worker = async (run, name) => {
  const client = await opened(run, () => RawClient.open(run.url));
  let known: readonly [pid: number, count: number] = [0, 0];
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const since = performance.now();
    try {
      const { status, last } = await client.post({ jsonrpc: '2.0', id: tag, method: 'tools/call', params: { name: 'files__count', arguments: { of: name } } }, {}, AbortSignal.timeout(answerMs));
      if (status === 404) run.tally.lost.push(tag);
      else if (last.error !== undefined) run.tally.interrupt(last.error.data?.['reason']);
      else {
        const [pid, value] = JSON.parse((last.result as { readonly content: readonly [{ readonly text: string }] }).content[0].text) as [number, number];
        // One that was interrupted may have counted or not.
        if (pid === known[0] && value <= known[1]) run.tally.wrong.push(`${tag}: ${value} after ${known[1]}`);
        known = [pid, value];
        run.tally.success(name);
      }
    } catch (error) {
      broken(run, tag, since, error);
    }
    await pause(run);
  }
};

/** Sessions that come, do a little of everything, and go. */
export const visitor: Worker = async (run, name) => {
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    using client = await RawClient.open(run.url);
    await client.listen();
    await client.toolNames();
    const { status, last } = await client.callTool('up__act', { tag });
    judge(run, name, tag, status, last);
    await client.request('logging/setLevel', { level: 'error' });
    if (await client.delete() !== 204) run.tally.wrong.push(`${tag}: not deleted`);
  }
};

/** The first fault may strike while a client says hello, which it then does again. */
export async function opened<T>(run: Run, open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch {
      await pause(run);
    }
  }
}

export function pause({ pauseMs }: Run): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs());
  });
}
