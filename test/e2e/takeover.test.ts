/**
 * Calls in flight outlive the session worker that carried them: the next worker continues them, gives their kept answers, or begins them. Each test replaces
 * processes, so the gate runs the half that differs most; the chaos run kills workers of each role there too.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inboxOf, openNatsBus, subjects } from '@omnibus/bus';
import { firstReply, Heard } from '@omnibus/bus/testing';
import { repeatKey, repeatsKey, sessionKey, type JsonObject, type SessionId } from '@omnibus/protocol';
import { EraServer } from '../matrix/era-server.ts';
import { byLane, isLongLane } from '../support/lane.ts';
import { end, type RunningProcess } from '../support/processes.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { text, type Call, type Upstream } from '../support/upstream.ts';
import { WorkersUnderTest } from '../support/workers-under-test.ts';

let workers: WorkersUnderTest;
let upstream: Upstream;
let era: EraServer;

beforeAll(async () => {
  era = await EraServer.start('2025-11-25');
  workers = await WorkersUnderTest.start({ era: { url: era.url } });
  ({ upstream } = workers);
  await workers.serves('era__form');
});

afterAll(async () => {
  await workers[Symbol.asyncDispose]();
  await era[Symbol.asyncDispose]();
});

/** Starts a second worker, after `hold` has begun requests at the first. @returns the first one. */
async function besideAnother<Held>(hold: () => Promise<Held>): Promise<[RunningProcess, Held]> {
  await workers.replace('SIGTERM');
  const [first] = workers.holders();
  const held = await hold();
  await workers.gateway.startPart('session');
  return [first as RunningProcess, held];
}

const clients = {
  '2025-11-25': async () => {
    const client = await RawClient.open(workers.gateway.url);
    return { call: (name: string, args = {}) => client.callTool(name, args), close: () => client[Symbol.dispose]() };
  },
  '2026-07-28': () => {
    const client = new ModernClient(workers.gateway.url);
    return Promise.resolve({
      call: (name: string, args = {}) => client.call(name, { arguments: args }),
      close: () => client[Symbol.dispose](),
    });
  },
};
/** Clients that lose their edge at once. */
const crowdSize = byLane('OMNIBUS_TAKEOVER_CLIENTS', 12, 40);
const contentOf = ({ last }: { readonly last: Message }): unknown => last.result?.['content'] ?? last.error;

it.each(Object.keys(clients) as (keyof typeof clients)[])(
  'a client of %s gets the answers of its calls when their session worker is killed, and the server gets each call once',
  async (revision) => {
    const made = upstream.calls.values.length;
    const [first, { client, slow }] = await besideAnother(async () => {
      const client = await clients[revision]();
      const slow = [1, 2, 3, 4, 5].map((number) => client.call('up__slow', { number }));
      await upstream.calls.until(made + slow.length);
      return { client, slow };
    });
    const answerThose = (isMeant: (number: unknown) => boolean): void => {
      for (const call of upstream.calls.values.slice(made))
        if (isMeant(call.args['number'])) call.answer(text(String(call.args['number'])));
    };
    first.kill('SIGKILL');
    // Some are answered while no session worker owns them, and others later.
    answerThose((number) => number === 1 || number === 2);
    await Promise.all(slow.slice(0, 2));
    answerThose((number) => number !== 1 && number !== 2);
    const answered = await Promise.all(slow);
    expect(answered.map(contentOf)).toEqual([1, 2, 3, 4, 5].map((number) => text(String(number))['content']));
    expect(upstream.calls.values.length).toBe(made + slow.length);
    client.close();
  },
);

it.runIf(isLongLane).each(Object.keys(clients) as (keyof typeof clients)[])(
  'calls of a client of %s that come while their worker dies reach the server once, and get answers',
  async (revision) => {
    const [first, client] = await besideAnother(async () => {
      const opened = await clients[revision]();
      await opened.call('up__echo');
      return opened;
    });
    const made = upstream.calls.values.length;
    const before = Array.from({ length: 10 }, () => client.call('up__echo'));
    first.kill('SIGKILL');
    const after = Array.from({ length: 10 }, () => client.call('up__echo'));
    const answered = await Promise.all([...before, ...after]);
    expect(answered.map(contentOf)).toEqual(answered.map(() => text('echoed')['content']));
    expect(upstream.calls.values.length).toBe(made + answered.length);
    client.close();
  },
);

it('a question that was open when the session worker died comes again, and its answer reaches the server', async () => {
  const heard = new Heard<Message>();
  const questions = (): readonly Message[] => heard.values.filter(({ method }) => method === 'elicitation/create');
  const [first, client] = await besideAnother(async () => {
    const opened = new RawClient(workers.gateway.url);
    const { session } = await opened.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: { form: {} } },
      clientInfo: { name: 'asked', version: '1' },
    });
    opened.session = session as string;
    await opened.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    void opened
      .stream(
        {
          jsonrpc: '2.0',
          id: 'asks',
          method: 'tools/call',
          params: { name: 'era__form', arguments: { say: 'hello' } },
        },
        (message) => Promise.resolve(heard.add(message)),
      )
      .catch(() => undefined);
    await heard.untilSome(({ method }) => method === 'elicitation/create');
    return opened;
  });
  first.kill('SIGKILL');
  await heard.untilSome(() => questions().length > 1);
  const again = questions()[1] as Message;
  expect(again.params).toEqual(questions()[0]?.params);
  await client.post({ jsonrpc: '2.0', id: again.id, result: { action: 'accept', content: { answer: 'still here' } } });
  const answer = await heard.untilSome(({ id, method }) => id === 'asks' && method === undefined);
  expect(JSON.stringify(answer)).toContain('still here');
  client[Symbol.dispose]();
});

it('a worker that is frozen is replaced, the next one answers its call, and it ends none when it runs again', async () => {
  const made = upstream.calls.values.length;
  const [first, { client, slow }] = await besideAnother(async () => {
    const opened = await RawClient.open(workers.gateway.url);
    const waiting = opened.callTool('up__slow');
    await upstream.calls.until(made + 1);
    return { client: opened, slow: waiting };
  });
  first.kill('SIGSTOP');
  // The client's next request waits until the session has another owner.
  expect(await client.toolNames()).toContain('up__echo');
  (upstream.calls.values[made] as Call).answer(text('meanwhile'));
  expect(contentOf(await slow)).toEqual(text('meanwhile')['content']);
  // It runs again, and neither takes the session back nor ends a call of the next owner.
  const again = client.callTool('up__slow');
  await upstream.calls.until(made + 2);
  first.kill('SIGCONT');
  expect(contentOf(await client.callTool('up__echo'))).toEqual(text('echoed')['content']);
  (upstream.calls.values[made + 1] as Call).answer(text('after the thaw'));
  expect(contentOf(await again)).toEqual(text('after the thaw')['content']);
  expect(upstream.calls.values.length).toBe(made + 3);
  expect(upstream.cancelled.values).toEqual([]);
  client[Symbol.dispose]();
});

it('a call goes on when another worker takes its session from a living one', async () => {
  const made = upstream.calls.values.length;
  const [, { client, slow }] = await besideAnother(async () => {
    const opened = await RawClient.open(workers.gateway.url);
    const waiting = opened.callTool('up__slow');
    await upstream.calls.until(made + 1);
    return { client: opened, slow: waiting };
  });
  const key = sessionKey(client.session as SessionId);
  const asker = { servers: workers.gateway.bus as string, clientName: 'an edge', connectTimeoutMs: 5_000 };
  const bus = await openNatsBus({ ...asker, inboxPrefix: inboxOf('edge') }, () => undefined);
  // An edge that does not hear the first one takes it for lost, and asks any worker.
  const { worker: lost } = await firstReply(bus, subjects.sessionFind, { key });
  await expect
    .poll(() => firstReply(bus, subjects.sessionAdopt(undefined), { key, lost }))
    .not.toMatchObject({ worker: lost });
  await bus.drain();
  expect(contentOf(await client.callTool('up__echo'))).toEqual(text('echoed')['content']);
  (upstream.calls.values[made] as Call).answer(text('at the next'));
  expect(contentOf(await slow)).toEqual(text('at the next')['content']);
  expect([upstream.calls.values.length, upstream.cancelled.values]).toEqual([made + 2, []]);
  client[Symbol.dispose]();
});

it.runIf(isLongLane)(
  'a call at a backend worker that stops goes on there when its session worker is killed',
  async () => {
    const made = upstream.calls.values.length;
    const { backend } = workers.gateway;
    const [first, { client, slow }] = await besideAnother(async () => {
      const opened = await RawClient.open(workers.gateway.url);
      const waiting = opened.callTool('up__slow');
      await upstream.calls.until(made + 1);
      return { client: opened, slow: waiting };
    });
    const next = await workers.gateway.startPart('backend');
    const stopped = end(backend, 'SIGTERM');
    await backend.line(/"stopping"/);
    first.kill('SIGKILL');
    expect(await client.toolNames()).toContain('up__echo');
    (upstream.calls.values[made] as Call).answer(text('while it stops'));
    expect(contentOf(await slow)).toEqual(text('while it stops')['content']);
    await stopped;
    expect(next.child.exitCode).toBeNull();
    client[Symbol.dispose]();
  },
);

/** A client, and the messages that it hears. */
interface Asked {
  readonly client: RawClient;
  readonly heard: Heard<Message>;
}

const slowCall = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'up__slow', arguments: { number: id }, _meta: { progressToken: id } },
});
const isProgress = ({ method }: Message): boolean => method === 'notifications/progress';

/** Sends a call, and resolves when the client has heard progress of it. */
async function untilProgress({ client, heard }: Asked, id: number, calls: () => readonly Call[]): Promise<void> {
  void client.stream(slowCall(id), (message) => Promise.resolve(heard.add(message))).catch(() => undefined);
  for (let progress = 1; !heard.values.some(isProgress); progress += 1) {
    for (const call of calls()) if (call.args['number'] === id) call.progress(progress);
    await client.request('ping', undefined, `ping ${id} ${progress}`);
  }
}

it('clients that send their calls again when their edge was killed get the answers, and the server gets each call once', async () => {
  const made = upstream.calls.values.length;
  const calls = (): readonly Call[] => upstream.calls.values.slice(made);
  const answered = new Set<Call>();
  const open = (): readonly Call[] => calls().filter((call) => !answered.has(call));
  const answer = (isMeant: (id: number) => boolean): void => {
    for (const call of calls()) {
      const id = call.args['number'] as number;
      if (!isMeant(id)) continue;
      answered.add(call);
      call.answer(text(String(id)));
    }
  };
  const edge = await workers.gateway.startPart('edge');
  const [, endpoint = ''] = await edge.line(/"endpoint":"([^"]+)"/);
  const ids = Array.from({ length: crowdSize }, (_, index) => index + 1);
  const first = await Promise.all(
    ids.map(async () => ({ client: await RawClient.open(endpoint), heard: new Heard<Message>() })),
  );
  await Promise.all(first.map((asked, index) => untilProgress(asked, index + 1, open)));
  await end(edge, 'SIGKILL');
  // A quarter is answered before the clients come back.
  answer((id) => id % 4 === 0);
  const again = first.map(({ client }) => ({ client: client.at(workers.gateway.url), heard: new Heard<Message>() }));
  await Promise.all(again.map((asked, index) => untilProgress(asked, index + 1, open)));
  answer((id) => id % 4 !== 0);
  const answers = await Promise.all(
    again.map(({ heard }, index) => heard.untilSome((message) => message.id === index + 1 && !isProgress(message))),
  );
  expect(answers.map((message) => message.result?.['content'])).toEqual(ids.map((id) => text(String(id))['content']));
  expect(calls().length).toBe(ids.length);
  for (const { client } of again) client[Symbol.dispose]();
});

it.runIf(isLongLane)(
  'a request that repeats an id while its first connection is open, or with another body, is a request of its own',
  async () => {
    const made = upstream.calls.values.length;
    const second = await workers.gateway.startEdge();
    const client = await RawClient.open(workers.gateway.url);
    const leaving = new AbortController();
    const open = client.post(slowCall(1), {}, leaving.signal).catch(() => undefined);
    await upstream.calls.until(made + 1);
    const beside = client.at(second).post(slowCall(1));
    await upstream.calls.until(made + 2);
    leaving.abort();
    await open;
    const other = client.post({ ...slowCall(1), params: { ...slowCall(1).params, arguments: { number: 2 } } });
    await upstream.calls.until(made + 3);
    for (const call of upstream.calls.values.slice(made)) call.answer(text('own'));
    expect((await Promise.all([beside, other])).map(contentOf)).toEqual([
      text('own')['content'],
      text('own')['content'],
    ]);
    client[Symbol.dispose]();
  },
);

it.each(['edge', 'edge and session worker'])(
  '%s killed: clients of 2026-07-28 that repeat their calls with a key get the answers, and the server gets each call once',
  async (killed) => {
    const made = upstream.calls.values.length;
    await workers.replace('SIGTERM');
    const [holder] = workers.holders() as [RunningProcess];
    const edge = await workers.gateway.startPart('edge');
    const [, endpoint = ''] = await edge.line(/"endpoint":"([^"]+)"/);
    const ids = Array.from({ length: crowdSize }, (_, index) => index);
    const asked = ids.map((id) => {
      const key = `${killed.replaceAll(' ', '-')}-of-client-${id}`;
      return new ModernClient(endpoint).compose('tools/call', {
        name: 'up__slow',
        arguments: { id },
        _meta: { [repeatKey]: key },
      });
    });
    for (const { body, headers } of asked) void new RawClient(endpoint).post(body, headers).catch(() => undefined);
    await upstream.calls.until(made + crowdSize);
    const answer = (isMeant: (id: number) => boolean): void => {
      for (const call of upstream.calls.values.slice(made)) {
        const id = call.args['id'] as number;
        if (isMeant(id)) call.answer(text(String(id)));
      }
    };
    if (killed !== 'edge') await workers.gateway.startPart('session');
    await workers.gateway.lose(edge, ...(killed === 'edge' ? [] : [holder]));
    // Some answers come before the clients do.
    answer((id) => id % 4 === 0);
    const repeated = asked.map(({ body, headers }) => {
      const { params } = body as { readonly params: JsonObject };
      const meta = { ...(params['_meta'] as JsonObject), [repeatsKey]: true };
      return new RawClient(workers.gateway.url).post({ ...body, params: { ...params, _meta: meta } }, headers);
    });
    await Promise.all(repeated.filter((_, id) => id % 4 === 0));
    answer((id) => id % 4 !== 0);
    expect((await Promise.all(repeated)).map(contentOf)).toEqual(ids.map((id) => text(String(id))['content']));
    expect(upstream.calls.values.length).toBe(made + crowdSize);
  },
);

it('a call between two rounds of a client of 2026-07-28 goes on when the edge of the first round is killed', async () => {
  const edge = await workers.gateway.startPart('edge');
  const [, endpoint = ''] = await edge.line(/"endpoint":"([^"]+)"/);
  const { requests, requestState } = required(await new ModernClient(endpoint).call('era__form'));
  await workers.gateway.lose(edge);
  const [name = ''] = Object.keys(requests);
  const inputResponses = { [name]: { action: 'accept', content: { answer: 'at another edge' } } };
  const answer = await new ModernClient(workers.gateway.url).call('era__form', { requestState, inputResponses });
  expect(JSON.stringify(answer.last.result)).toContain('at another edge');
});

it('a subscription of a client of 2026-07-28 goes on when the backend worker is killed', async () => {
  const heard = new Heard<Message>();
  using client = new ModernClient(workers.gateway.url);
  void client
    .stream('subscriptions/listen', { notifications: { resourceSubscriptions: ['up://one'] } }, (message) =>
      Promise.resolve(heard.add(message)),
    )
    .catch(() => undefined);
  await heard.until(1);
  const isSubscribe = ({ method }: { readonly method: string }): boolean => method === 'resources/subscribe';
  const subscribed = upstream.requests.filter(isSubscribe).length;
  const before = workers.running('backend');
  await workers.gateway.startPart('backend');
  await workers.gateway.lose(...before);
  await upstream.answered.untilSome(() => upstream.requests.filter(isSubscribe).length > subscribed);
  const isUpdate = ({ method }: Message): boolean => method === 'notifications/resources/updated';
  await expect
    .poll(() => {
      upstream.notify('notifications/resources/updated', { uri: 'up://one' });
      return heard.values.some(isUpdate);
    })
    .toBe(true);
});

it('a client of a killed edge resumes the stream of its call at another edge by its last event id', async () => {
  const made = upstream.calls.values.length;
  const edge = await workers.gateway.startPart('edge');
  const [, endpoint = ''] = await edge.line(/"endpoint":"([^"]+)"/);
  const client = await RawClient.open(endpoint);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': client.session as string,
    'mcp-protocol-version': '2025-11-25',
  };
  const waiting = fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(slowCall(7)) });
  const call = (await upstream.calls.until(made + 1)).at(-1) as Call;
  call.progress(1);
  let begun = '';
  const decoder = new TextDecoder();
  const { body } = await waiting;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    begun += decoder.decode(chunk, { stream: true });
    if (begun.includes('notifications/progress')) break;
  }
  const lastEventId = [...begun.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] as string;
  await end(edge, 'SIGKILL');
  const resumed = await fetch(workers.gateway.url, {
    headers: { ...headers, accept: 'text/event-stream', 'last-event-id': lastEventId },
  });
  call.answer(text('resumed'));
  expect(await resumed.text()).toContain('resumed');
  expect(upstream.calls.values.length).toBe(made + 1);
  client[Symbol.dispose]();
});
