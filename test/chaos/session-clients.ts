/** Clients of the chaos run that keep something open: a question to their user, or a stream of notifications. */
import { EventReader } from '../support/event-reader.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { answerMs, broken, opened, pause, type Run, type Worker } from './clients.ts';

/**
 * A session with a user that answers questions after a pause. Older questions are answered too, late and with other values, which must never be used as the
 * answer to the current question.
 */
export const consenting: Worker = async (run, name) => {
  const client = await opened(run, () => openAskable(run));
  let stale: unknown;
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const since = performance.now();
    const answer = async (id: unknown, said: string): Promise<void> =>
      void (await client
        .post(
          { jsonrpc: '2.0', id, result: { action: 'accept', content: { answer: said } } },
          {},
          AbortSignal.timeout(answerMs),
        )
        .catch(() => undefined));
    let last: Message | undefined;
    let status = 0;
    try {
      const body = {
        jsonrpc: '2.0',
        id: tag,
        method: 'tools/call',
        params: { name: 'era__form', arguments: { say: tag } },
      };
      const reader = await EventReader.open(run.url, client.session as string, {
        body,
        limitMs: answerMs,
        credentials: run.headers,
      });
      ({ status } = reader);
      if (status === 404) run.tally.lost.push(tag);
      const asked = reader.events
        .untilSome(({ message }) => message?.method === 'elicitation/create')
        .then(async ({ message }) => {
          if (message?.params?.['message'] !== tag) run.tally.wrong.push(`${tag}: asked ${JSON.stringify(message)}`);
          if (stale !== undefined) await answer(stale, `stale ${tag}`);
          await pause(run);
          await answer(message?.id, tag);
          stale = message?.id;
        });
      await Promise.race([asked, reader.ended]);
      await Promise.race([
        reader.events.untilSome(({ message }) => message?.id === tag && message.method === undefined),
        reader.ended,
      ]);
      last = reader.messages.find(({ id, method }) => id === tag && method === undefined);
      reader.break();
    } catch (error) {
      broken(run, tag, since, error);
      continue;
    }
    if (last === undefined) run.tally.interrupt(status === 200 ? 'connection' : `HTTP ${status}`, tag, since);
    else if (last.error !== undefined) run.tally.interrupt(last.error.data?.['reason'], tag, since);
    else if (JSON.stringify(last.result).includes(`\\"answer\\":\\"${tag}\\"`)) run.tally.success(name);
    else run.tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
    await pause(run);
  }
};

function openAskable({ url, headers }: Run): Promise<RawClient> {
  return RawClient.open(url, '2025-11-25', headers, { elicitation: {} });
}

/** A session that listens on a GET stream, resumes it when it breaks, and must receive notifications only of the resource that it subscribed to. */
export const listener: Worker = async (run, name) => {
  const client = await opened(run, () => RawClient.open(run.url, undefined, run.headers));
  const uri = `up://${name}`;
  const heard = { count: 0 };
  const subscribe = (): Promise<unknown> =>
    client.post(
      { jsonrpc: '2.0', id: `${name}-subscribe`, method: 'resources/subscribe', params: { uri } },
      {},
      AbortSignal.timeout(answerMs),
    );
  await opened(run, subscribe);
  const standing = stand(run, client, uri, heard);
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const since = performance.now();
    const before = heard.count;
    // A notification that was sent to an ended process is lost; a later one must arrive.
    while (heard.count === before && performance.now() - since < answerMs && !run.over.aborted) {
      run.touch(uri);
      await pause(run);
    }
    if (heard.count > before) run.tally.success(name);
    else if (!run.over.aborted) run.tally.giveUp(`${tag} (nothing was heard)`, since);
  }
  await standing;
};

async function stand(run: Run, { session, headers }: RawClient, uri: string, heard: { count: number }): Promise<void> {
  let lastEventId: string | undefined;
  const over = new Promise<void>((resolve) => run.over.addEventListener('abort', () => resolve()));
  while (!run.over.aborted) {
    const reader = await EventReader.open(run.url, session as string, {
      ...(lastEventId === undefined ? {} : { lastEventId }),
      credentials: headers,
    }).catch(() => undefined);
    if (reader?.status === 404) run.tally.lost.push(`GET of ${uri}`);
    if (reader?.status !== 200) {
      await pause(run);
      continue;
    }
    let read = 0;
    const count = (): void => {
      for (const { message } of reader.events.values.slice(read)) {
        if (message?.params?.['uri'] === uri) heard.count += 1;
        else if (message?.params?.['uri'] !== undefined)
          run.tally.wrong.push(`${uri} heard ${JSON.stringify(message)}`);
      }
      read = reader.events.values.length;
    };
    const follow = async (): Promise<void> => {
      for (;;) {
        await reader.events.until(read + 1);
        count();
      }
    };
    void follow();
    await Promise.race([reader.ended, over]);
    lastEventId = reader.lastId ?? lastEventId;
    reader.break();
  }
}
