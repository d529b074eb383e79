/** A session outlives the worker that holds it: workers are killed, stopped and replaced while clients continue. */
import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EraClient } from '../matrix/era-client.ts';
import { EraServer } from '../matrix/era-server.ts';
import type { GatewayUnderTest } from '../support/gateway.ts';
import { isLongLane } from '../support/lane.ts';
import type { RunningProcess } from '../support/processes.ts';
import { Heard } from '@omnibus/bus/testing';
import { tasksExtension, type JsonObject } from '@omnibus/protocol';
import { ModernClient, required } from '../support/modern-client.ts';
import { repeatedly } from '../support/paced.ts';
import { RawClient, type Answer, type Message } from '../support/raw-client.ts';
import { text, type Call, type Upstream } from '../support/upstream.ts';
import { WorkersUnderTest } from '../support/workers-under-test.ts';

/** How often workers are replaced while clients go on, and how many requests these make meanwhile. */
const [rounds, leastMade] = isLongLane ? [4, 500] : [2, 200];

describe('with session workers that come and go', () => {
  let workers: WorkersUnderTest;
  let upstream: Upstream;
  let gateway: GatewayUnderTest;
  let era: EraServer;

  beforeAll(async () => {
    era = await EraServer.start('2025-11-25');
    workers = await WorkersUnderTest.start({ era: { url: era.url } });
    ({ upstream, gateway } = workers);
    await workers.serves('era__form');
  });

  afterAll(async () => {
    await workers[Symbol.asyncDispose]();
    await era[Symbol.asyncDispose]();
  });

  const holders = (): RunningProcess[] => workers.holders();
  const replaceWorkers = (signal: NodeJS.Signals): Promise<void> => workers.replace(signal);

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    '%s: the session goes on, with its revision and capabilities',
    async (signal) => {
      using client = await EraClient.open({
        url: gateway.url,
        revision: '2025-11-25',
        capabilities: { elicitation: { form: {} } },
        answers: { 'elicitation/create': () => ({ action: 'accept', content: { answer: 'still here' } }) },
      });
      await client.request('logging/setLevel', { level: 'warning' });
      await client.request('resources/subscribe', { uri: 'up://one' });
      await replaceWorkers(signal);
      expect((await client.call('up__echo')).last).toMatchObject({ result: text('echoed') });
      expect(JSON.stringify((await client.call('era__form')).result)).toContain('still here');
      const logged = await client.call('era__log');
      expect(
        logged.messages
          .filter(({ method }) => method === 'notifications/message')
          .map(({ params }) => params?.['data']),
      ).toEqual(['loud']);
      // The GET stream was open all the time, and still receives messages.
      upstream.notify('notifications/resources/updated', { uri: 'up://one' });
      await client.pushed.untilSome(
        ({ method, params }) => method === 'notifications/resources/updated' && params?.['uri'] === 'up://one',
      );
    },
  );

  it('SIGTERM: workers are replaced one after the other, and no request of either era fails', async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => RawClient.open(gateway.url)));
    const modern = Array.from({ length: 8 }, () => new ModernClient(gateway.url));
    const over = new AbortController();
    const failures: unknown[] = [];
    let made = 0;
    const goOn = (
      ask: () => Promise<{ readonly last: Message }>,
      isGood: (message: Message) => boolean,
    ): Promise<void> =>
      repeatedly(over.signal, async () => {
        const { last } = await ask();
        made += 1;
        if (!isGood(last)) failures.push(last);
      });
    const isEcho = ({ result }: Message): boolean =>
      JSON.stringify(result?.['content']) === JSON.stringify(text('echoed')['content']);
    const running = [
      ...clients.map((client, index) =>
        index % 2 === 0
          ? goOn(() => client.callTool('up__echo'), isEcho)
          : // The worker itself answers this, so that there is always a request on its way to it.
            goOn(
              () => client.callTool('nothing'),
              ({ error }) => error?.code === -32_602,
            ),
      ),
      ...modern.map((client, index) =>
        index % 2 === 0
          ? goOn(() => client.call('up__echo'), isEcho)
          : goOn(
              () => client.request('tools/list'),
              ({ result }) => Array.isArray(result?.['tools']),
            ),
      ),
    ];
    running.push(
      goOn(
        () => new RawClient(gateway.url).initialize('2025-11-25'),
        ({ result }) => result?.['protocolVersion'] === '2025-11-25',
      ),
    );
    const isEnough = (): boolean => made > leastMade;
    for (let round = 0; round < rounds || !isEnough(); round += 1) await replaceWorkers('SIGTERM');
    over.abort();
    await Promise.all(running);
    expect(failures).toEqual([]);
    expect(made).toBeGreaterThan(leastMade);
    for (const client of clients) client[Symbol.dispose]();
  });

  it('SIGKILL: open requests are answered and never executed twice; reading requests are sent again', async () => {
    using client = await RawClient.open(gateway.url);
    const calls = upstream.calls.values.length;
    const waiting = client.callTool('up__slow');
    const isReading = ({ method }: { readonly method: string }): boolean => method === 'resources/read';
    const reads = upstream.requests.filter(isReading).length;
    workers.ignored = reads + 1;
    const reading = client.request('resources/read', { uri: 'up://one' });
    await upstream.calls.until(calls + 1);
    await upstream.answered.untilSome(
      (request) => isReading(request) && upstream.requests.filter(isReading).length > reads,
    );
    await replaceWorkers('SIGKILL');
    // The first read is never answered; the repeated one is.
    expect((await reading).last.result).toMatchObject({ contents: [{ uri: 'up://one' }] });
    expect(upstream.requests.filter(isReading).length).toBe(reads + 2);
    // The next worker goes on with the call.
    (upstream.calls.values[calls] as Call).answer(text('at last'));
    expect((await waiting).last.result).toEqual(text('at last'));
    expect(upstream.calls.values.length).toBe(calls + 1);
    expect((await client.callTool('up__echo')).last.result).toEqual(text('echoed'));
  });

  it('SIGTERM: an open call is finished by the worker that stops', async () => {
    using client = await RawClient.open(gateway.url);
    const calls = upstream.calls.values.length;
    const waiting = client.callTool('up__slow');
    const call = (await upstream.calls.until(calls + 1)).at(-1) as Call;
    const replaced = replaceWorkers('SIGTERM');
    // Another worker serves the session already, while the old one waits for its call.
    using other = await RawClient.open(gateway.url);
    await other.callTool('up__echo');
    call.answer(text('finished'));
    expect((await waiting).last.result).toEqual(text('finished'));
    await replaced;
  });

  it('SIGKILL: requests without a session are answered too, and a subscription goes on', async () => {
    using client = new ModernClient(gateway.url);
    const calls = upstream.calls.values.length;
    const heard = new Heard<Message>();
    client
      .stream('subscriptions/listen', { notifications: { toolsListChanged: true } }, (message) =>
        Promise.resolve(heard.add(message)),
      )
      .catch(() => undefined);
    await heard.until(1);
    const waiting = client.call('up__slow');
    await upstream.calls.until(calls + 1);
    await replaceWorkers('SIGKILL');
    (upstream.calls.values[calls] as Call).answer(text('at last'));
    expect((await waiting).last.result).toMatchObject(text('at last'));
    expect(upstream.calls.values.length).toBe(calls + 1);
    expect((await client.call('up__echo')).last.result).toMatchObject(text('echoed'));
    // The next worker acknowledges again, and reports changes.
    await heard.until(2);
    upstream.notify('notifications/tools/list_changed');
    await heard.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  });

  it("calls that wait for their client at a worker that is gone go on, whichever worker gets the client's answer", async () => {
    await replaceWorkers('SIGTERM');
    const [holder] = holders();
    using client = new ModernClient(gateway.url);
    const says = Array.from({ length: 8 }, (_, index) => ({
      name: 'era__form',
      arguments: { say: `question ${index}` },
    }));
    const asked = await Promise.all(says.map((call) => client.request('tools/call', call)));
    await gateway.startPart('session');
    holder?.kill('SIGSTOP');
    const goOn = async (index: number): Promise<unknown> => {
      const { requests, requestState } = required(asked[index] as Answer);
      const inputResponses = Object.fromEntries(
        Object.keys(requests).map((key) => [key, { action: 'accept', content: { answer: 'yes' } }]),
      );
      const { last } = await client.request('tools/call', { ...says[index], requestState, inputResponses });
      return JSON.stringify(last.result ?? last.error).includes('yes');
    };
    // Some requests reach the stopped worker, and some the other one, which knows that the stopped one holds the call.
    expect(await Promise.all([0, 1, 2, 3, 4, 5, 6].map(goOn))).toEqual(says.slice(1).map(() => true));
    // By now the stopped worker counts as silent, and nothing more is sent to it.
    expect(await goOn(7)).toBe(true);
    await gateway.lose(holder as RunningProcess);
  });

  it('a session whose worker is silent goes on at another, although that worker is still connected to NATS', async () => {
    await replaceWorkers('SIGTERM');
    const [silent] = holders();
    using client = await RawClient.open(gateway.url);
    const heard = await client.listen();
    await client.request('resources/subscribe', { uri: 'up://one' });
    await gateway.startPart('session');
    silent?.kill('SIGSTOP');
    // The request is on its way to the silent worker, or held back; a list may be requested twice.
    expect(await client.toolNames()).toContain('up__echo');
    expect((await client.callTool('up__echo')).last.result).toEqual(text('echoed'));
    upstream.notify('notifications/resources/updated', { uri: 'up://one' });
    await heard.untilSome(({ method }) => method === 'notifications/resources/updated');
    // New requests are not sent to it either.
    const opened = await Promise.all(
      Array.from({ length: 8 }, async () => {
        using other = await RawClient.open(gateway.url);
        return (await other.callTool('up__echo')).last.result;
      }),
    );
    const alone = await Promise.all(
      Array.from({ length: 8 }, async () => {
        using other = new ModernClient(gateway.url);
        return (await other.call('up__echo')).last.result?.['content'];
      }),
    );
    expect([...opened.map((result) => result?.['content']), ...alone]).toEqual(
      Array.from({ length: 16 }, () => text('echoed')['content']),
    );
    await gateway.lose(silent as RunningProcess);
  });

  it('any edge serves any session: GET, POST and DELETE of one session at three of them', async () => {
    const [two, three] = [await gateway.startEdge(), await gateway.startEdge()];
    using client = await RawClient.open(gateway.url);
    const heard = await client.at(two).listen();
    expect((await client.callTool('up__echo')).last.result).toEqual(text('echoed'));
    expect((await client.at(three).callTool('up__echo')).last.result).toEqual(text('echoed'));
    upstream.notify('notifications/tools/list_changed');
    await heard.until(1);
    expect(await client.at(three).delete()).toBe(204);
    expect((await client.at(two).request('ping')).status).toBe(404);
  });

  it('HTTP+SSE: any edge accepts a message for a stream, and answers with an error when the edge that holds the stream does not respond', async () => {
    const holder = await gateway.startPart('edge');
    const [, endpoint = ''] = await holder.line(/"endpoint":"([^"]+)"/);
    const gone = new AbortController();
    const { body } = await fetch(endpoint.replace(/mcp$/, 'sse'), {
      headers: { accept: 'text/event-stream' },
      signal: gone.signal,
    });
    const path = new Promise<string>((resolve) => {
      const parser = createParser({ onEvent: ({ data }) => resolve(data) });
      void body
        ?.pipeThrough(new TextDecoderStream())
        .pipeTo(new WritableStream({ write: (chunk) => parser.feed(chunk) }))
        .catch(() => undefined);
    });
    const post = async (id: number): Promise<Response> =>
      fetch(new URL(await path, gateway.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }),
      });
    expect((await post(1)).status).toBe(202);
    holder.kill('SIGSTOP');
    expect(await (await post(2)).json()).toMatchObject({ error: { data: { reason: 'gateway.interrupted' } } });
    await gateway.lose(holder);
    gone.abort();
  });

  it('a session waits while there is no worker at all, and goes on with the next', async () => {
    using client = await RawClient.open(gateway.url);
    await gateway.lose(...holders());
    const waiting = client.callTool('up__echo');
    await gateway.startPart('session');
    let { last } = await waiting;
    // The edge refuses the call if no worker has taken the session within ten seconds. On a busy machine the new worker may start later.
    if (last.error !== undefined) {
      expect(last.error).toMatchObject({ data: { reason: 'gateway.unavailable' } });
      ({ last } = await client.callTool('up__echo'));
    }
    expect(last.result).toEqual(text('echoed'));
  });

  it('a session that was deleted stays deleted', async () => {
    using client = await RawClient.open(gateway.url);
    expect(await client.delete()).toBe(204);
    await replaceWorkers('SIGKILL');
    expect((await client.request('ping')).status).toBe(404);
  });

  it('a hundred sessions at once are taken over, none twice and none lost', async () => {
    const clients = await Promise.all(Array.from({ length: 100 }, () => RawClient.open(gateway.url)));
    await gateway.startPart('session');
    await replaceWorkers('SIGKILL');
    const answers = await Promise.all(clients.map((client) => client.callTool('up__echo')));
    expect(answers.every(({ last }) => JSON.stringify(last.result) === JSON.stringify(text('echoed')))).toBe(true);
    for (const client of clients) client[Symbol.dispose]();
  });
});

it('a script that runs as a task has failed once its worker is gone, and is not run again', async () => {
  await using workers = await WorkersUnderTest.start({}, { profiles: { code: { listing: 'code' } } });
  const { upstream, gateway } = workers;
  const url = `${gateway.url}/code`;
  using client = await RawClient.open(url);
  using modern = new ModernClient(url, { extensions: { [tasksExtension]: {} } });
  const script = { name: 'run_code', arguments: { code: 'return await servers.up.slow({});' } };
  const asked = await client.request('tools/call', { ...script, task: {} });
  const taken = await modern.call(script.name, script);
  const ids = [(asked.last.result?.['task'] as JsonObject)['taskId'], taken.last.result?.['taskId']];
  await upstream.calls.until(ids.length);
  await workers.replace('SIGKILL');
  const [ofSession, alone] = [
    await client.request('tasks/get', { taskId: ids[0] }),
    await modern.request('tasks/get', { taskId: ids[1] }),
  ];
  expect(ofSession.last.result).toMatchObject({ taskId: ids[0], status: 'failed' });
  expect(alone.last.result).toMatchObject({ status: 'failed', error: { data: { reason: 'code.lost' } } });
  // A script that the new worker ran again would have begun before this one.
  const later = await client.callTool('run_code', { code: 'return await servers.up.echo({});' });
  expect(later.last.result).toMatchObject(text('echoed'));
  expect(upstream.calls.values.map(({ name }) => name)).toEqual(['slow', 'slow', 'echo']);
});

it('SIGTERM: calls that are longer than `timeouts.drain` continue at the next worker, as after a kill', async () => {
  await using workers = await WorkersUnderTest.start({}, { timeouts: { drain: '200ms' } });
  const { upstream, gateway } = workers;
  using client = await RawClient.open(gateway.url);
  using modern = new ModernClient(gateway.url);
  const waiting = [client.callTool('up__slow'), modern.call('up__slow')];
  const calls = await upstream.calls.until(waiting.length);
  await workers.replace('SIGTERM');
  for (const call of calls) call.answer(text('at last'));
  for (const { last } of await Promise.all(waiting)) expect(last.result).toMatchObject(text('at last'));
  expect(upstream.calls.values.length).toBe(waiting.length);
});

it('SIGTERM: a script that is longer than `timeouts.drain` ends with its calls, which are cancelled at their servers', async () => {
  const options = { timeouts: { drain: '200ms' }, profiles: { code: { listing: 'code' } } };
  await using workers = await WorkersUnderTest.start({}, options);
  const { upstream, gateway } = workers;
  using client = await RawClient.open(`${gateway.url}/code`);
  using modern = new ModernClient(`${gateway.url}/code`);
  const code = 'return await servers.up.slow({});';
  const waiting = [client.callTool('run_code', { code }), modern.call('run_code', { arguments: { code } })];
  await upstream.calls.until(waiting.length);
  await workers.replace('SIGTERM');
  for (const { last } of await Promise.all(waiting)) expect(last.error?.data?.['reason']).toBe('code.lost');
  await upstream.cancelled.until(waiting.length);
  expect(upstream.calls.values.length).toBe(waiting.length);
});
