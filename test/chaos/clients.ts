/** The clients of the chaos run. Each works until it is stopped; every answer must be right, or an error that states the outcome of the call. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { EventReader } from '../support/event-reader.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text } from '../support/upstream.ts';
import type { Tally } from './tally.ts';

/** A call without an answer by then counts as unanswered. */
export const answerMs = 40_000;
const maxReturns = 40;
/** By default, the SDK gives up after two attempts. */
const reconnectionOptions = {
  initialReconnectionDelay: 200,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 20,
};

export interface Run {
  readonly url: string;
  /** Sent with every request: the client's identity. Left out without authentication. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly tally: Tally;
  /** Milliseconds between two calls, determined by the seed. */
  readonly pauseMs: () => number;
  readonly over: AbortSignal;
  /** Lets the server "up" announce a change of a resource. */
  readonly touch: (uri: string) => void;
}

export type Worker = (run: Run, name: string) => Promise<void>;

/** A call, and when it was made, as `performance.now()`. */
interface Made {
  readonly tag: string;
  readonly since: number;
  /** The text of its result; default: its tag. */
  readonly said?: string;
  /** Whether it is a call of the server "up"; default: true. */
  readonly isOfUp?: boolean;
}

/** Checks the answer to a call. */
export function judge({ tally }: Run, client: string, call: Made, status: number, last: Message | undefined): void {
  const { tag, since, said = tag, isOfUp = true } = call;
  if (status === 404) tally.lost.push(tag);
  else if (last === undefined) tally.wrong.push(`${tag}: no message`);
  else if (last.error !== undefined) tally.interrupt(last.error.data?.['reason'] ?? last.error.message, tag, since);
  else if (
    last.id !== undefined &&
    JSON.stringify(last.result?.['content']) === JSON.stringify(text(said)['content'])
  ) {
    if (isOfUp) tally.seen.add(tag);
    tally.success(client);
  } else tally.wrong.push(`${tag}: ${JSON.stringify(last).slice(0, 1_000)}`);
}

/** Counts a broken connection between the client and the edge, by which the client knows that the outcome is unknown. */
export function broken({ tally }: Run, tag: string, since: number, error: unknown): void {
  if ((error as Error).name === 'TimeoutError') tally.giveUp(tag, since);
  else tally.interrupt('connection', tag, since);
}

/** A session that reads and changes in turn. */
export const worker: Worker = async (run, name) => {
  const client = await opened(run, () => RawClient.open(run.url, undefined, run.headers));
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    if (count % 2 === 0) run.tally.repeatable.add(tag);
    const since = performance.now();
    try {
      const { status, last } = await client.post(
        {
          jsonrpc: '2.0',
          id: tag,
          method: 'tools/call',
          params: { name: count % 2 === 0 ? 'up__look' : 'up__act', arguments: { tag } },
        },
        {},
        AbortSignal.timeout(answerMs),
      );
      judge(run, name, { tag, since }, status, last);
    } catch (error) {
      broken(run, tag, since, error);
    }
    await pause(run);
  }
};

/** The client of the official SDK, with its standing stream and its own reconnection. */
export const sdkClient: Worker = async (run, name) => {
  const troubles: string[] = [];
  const client = await opened(run, async () => {
    const fresh = new Client({ name, version: '1' });
    fresh.onerror = (error) => troubles.push(String(error).slice(0, 200));
    await fresh.connect(
      new StreamableHTTPClientTransport(new URL(run.url), {
        reconnectionOptions,
        requestInit: { headers: run.headers ?? {} },
      }),
    );
    return fresh;
  });
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    troubles.length = 0;
    const since = performance.now();
    try {
      const result = await client.callTool({ name: 'up__act', arguments: { tag } }, undefined, { timeout: answerMs });
      if (JSON.stringify(result['content']) === JSON.stringify(text(tag)['content'])) {
        run.tally.seen.add(tag);
        run.tally.success(name);
      } else run.tally.wrong.push(`${tag}: ${JSON.stringify(result)}`);
    } catch (error) {
      if (error instanceof McpError && error.code === -32_001)
        run.tally.giveUp(`${tag} (${troubles.join('; ')})`, since);
      else if (error instanceof McpError)
        run.tally.interrupt((error.data as { readonly reason?: string } | undefined)?.reason, tag, since);
      else if (String(error).includes('Session not found') || String(error).includes('HTTP 404'))
        run.tally.lost.push(tag);
      else run.tally.interrupt('connection', tag, since);
    }
    await pause(run);
  }
  await client.close();
};

/** Long calls with progress, on a stream that the client resumes whenever it breaks. */
export const streamer: Worker = async (run, name) => {
  const { session } = await opened(run, () => RawClient.open(run.url, undefined, run.headers));
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const heard: Message[] = [];
    let lastEventId: string | undefined;
    let reason = 'connection';
    const since = performance.now();
    const giveUpAt = since + answerMs;
    const body = {
      jsonrpc: '2.0',
      id: tag,
      method: 'tools/call',
      params: { name: 'up__long', arguments: { tag }, _meta: { progressToken: tag } },
    };
    for (let round = 0; round < maxReturns && performance.now() < giveUpAt; round += 1) {
      try {
        const reader = await EventReader.open(run.url, session as string, {
          ...(lastEventId === undefined ? { body } : { lastEventId }),
          limitMs: answerMs,
          credentials: run.headers,
        });
        if (reader.status === 404) run.tally.lost.push(tag);
        if (reader.status >= 500 && lastEventId !== undefined) {
          await pause(run);
          continue; // The request was certainly not executed; otherwise it would not be repeated.
        }
        if (reader.status >= 500) reason = `HTTP ${reader.status}`;
        if (reader.status !== 200) break;
        // No edge or worker could serve the stream now; resuming again does no harm, as a second call would.
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
    if (heard.some(({ id }) => id === tag)) judgeStream(run, name, { tag, since }, heard);
    else if (lastEventId === undefined) run.tally.interrupt(reason, tag, since);
    else run.tally.giveUp(`${tag} (last event ${lastEventId})`, since);
  }
};

/** Checks the messages on the stream of a call that was answered. */
function judgeStream(run: Run, name: string, call: Made, heard: readonly Message[]): void {
  const { tag } = call;
  const progress = heard
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => params?.['progress'] as number);
  const answers = heard.filter(({ id }) => id === tag);
  if (progress.some((value, index) => index > 0 && value <= (progress[index - 1] as number)))
    run.tally.wrong.push(`${tag}: progress ${progress.join(' ')}`);
  if (answers.length > 1) run.tally.wrong.push(`${tag}: ${answers.length} answers`);
  else judge(run, name, call, 200, answers[0]);
}

/** A client of the newest revision with calls that ask a question and continue with another request, at a server of 2025-11-25. */
export const asked: Worker = (run, name) => askAndAnswer(run, name, 'era');

export async function askAndAnswer(run: Run, name: string, server: string): Promise<void> {
  const client = new ModernClient(run.url, undefined, run.headers);
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const call = { name: `${server}__form`, arguments: { say: tag } };
    let since = performance.now();
    let phase = 'question';
    try {
      const first = (await client.request('tools/call', call, {}, AbortSignal.timeout(answerMs))).last;
      if (first.error !== undefined) {
        run.tally.interrupt(first.error.data?.['reason'], `${tag} (question)`, since);
        continue;
      }
      const [[key, request] = ['', undefined]] = Object.entries(
        (first.result?.['inputRequests'] ?? {}) as Record<string, { readonly params: { readonly message: string } }>,
      );
      if (request?.params.message !== tag) {
        run.tally.wrong.push(`${tag}: ${JSON.stringify(first)}`);
        continue;
      }
      await pause(run);
      since = performance.now();
      phase = 'answer';
      const { last } = await client.request(
        'tools/call',
        {
          ...call,
          requestState: first.result?.['requestState'],
          inputResponses: { [key]: { action: 'accept', content: { answer: tag } } },
        },
        {},
        AbortSignal.timeout(answerMs),
      );
      if (last.error !== undefined) run.tally.interrupt(last.error.data?.['reason'], tag, since);
      else if (JSON.stringify(last.result).includes(`\\"${tag}\\"`)) run.tally.success(name);
      else run.tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
    } catch (error) {
      broken(run, `${tag} (${phase})`, since, error);
    }
  }
}

/** A client of the newest revision whose calls need the approval of their user: the user sees the exact call, which is executed once. */
export const approving: Worker = async (run, name) => {
  const client = new ModernClient(run.url, undefined, run.headers);
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const call = { name: 'up__careful', arguments: { tag } };
    const since = performance.now();
    try {
      let { last, status } = await client.request('tools/call', call, {}, AbortSignal.timeout(answerMs));
      if (last.error !== undefined) run.tally.interrupt(last.error.data?.['reason'], `${tag} (question)`, since);
      else {
        // The worker that takes a parked call over asks its user again.
        do {
          const [[key, request] = ['', undefined]] = Object.entries(
            (last.result?.['inputRequests'] ?? {}) as Record<string, { readonly params: { readonly message: string } }>,
          );
          if (request?.params.message.includes(`{"tag":"${tag}"}`) !== true)
            run.tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
          ({ last, status } = await client.request(
            'tools/call',
            {
              ...call,
              requestState: last.result?.['requestState'],
              inputResponses: { [key]: { action: 'accept', content: { approve: true } } },
            },
            {},
            AbortSignal.timeout(answerMs),
          ));
        } while (last.result?.['resultType'] === 'input_required');
        judge(run, name, { tag, since }, status, last);
        if (last.error === undefined) run.tally.approved += 1;
      }
    } catch (error) {
      broken(run, tag, since, error);
    }
    await pause(run);
  }
};

/** A session with a program that counts: the count must continue as long as it is the same program. */
export const counter: Worker = async (run, name) => {
  const client = await opened(run, () => RawClient.open(run.url, undefined, run.headers));
  let known: readonly [pid: number, count: number] = [0, 0];
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const since = performance.now();
    try {
      const { status, last } = await client.post(
        { jsonrpc: '2.0', id: tag, method: 'tools/call', params: { name: 'files__count', arguments: { of: name } } },
        {},
        AbortSignal.timeout(answerMs),
      );
      if (status === 404) run.tally.lost.push(tag);
      else if (last.error !== undefined) run.tally.interrupt(last.error.data?.['reason'], tag, since);
      else {
        const [pid, value] = JSON.parse(
          (last.result as { readonly content: readonly [{ readonly text: string }] }).content[0].text,
        ) as [number, number];
        // An interrupted call may have been counted or not.
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

/** Sessions that are opened, use every feature briefly, and are closed. */
export const visitor: Worker = async (run, name) => {
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    using client = await RawClient.open(run.url, undefined, run.headers);
    await client.listen();
    await client.toolNames();
    const { status, last } = await client.callTool('up__act', { tag });
    judge(run, name, { tag, since: performance.now() }, status, last);
    await client.request('logging/setLevel', { level: 'error' });
    if ((await client.delete()) !== 204) run.tally.wrong.push(`${tag}: not deleted`);
  }
};

/** Opens a connection; it is tried again when a fault interrupts the handshake. */
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
