/** An external decision point (`access.decisions`) for calls and lists: a session worker on a bus in memory, and a decision point over HTTP that a test scripts. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  type CatalogRecord,
  type JsonObject,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: JsonObject;
}
interface Question {
  readonly subject: { readonly id: string };
  readonly action: { readonly name: string };
  readonly resource: { readonly id: string; readonly type: string };
  readonly context?: { readonly arguments?: JsonObject };
}

const servers = ['bank', 'files'];
let point: Server;
let url: string;
let worker: WorkerUnderTest;
let asked: Asked[];
/** What the decision point permits. */
let permits: (question: Question) => boolean;
/** Answers in place of the decision point. */
let instead: ((response: ServerResponse) => void) | undefined;

beforeEach(async () => {
  asked = [];
  permits = ({ resource }) => !resource.id.includes('secret');
  instead = undefined;
  point = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    request.on('end', () => {
      const body = JSON.parse(text) as JsonObject & { readonly evaluations?: readonly Question[] };
      asked.push({ path: request.url ?? '', headers: request.headers, body });
      if (instead !== undefined) {
        instead(response);
        return;
      }
      const answer = (question: object): object => {
        const isPermitted = permits({ ...(body as object), ...question } as Question);
        return { decision: isPermitted, ...(isPermitted ? {} : { context: { reason_user: { en: 'ask the owner' } } }) };
      };
      response.setHeader('content-type', 'application/json');
      const said = body.evaluations === undefined ? answer({}) : { evaluations: body.evaluations.map(answer) };
      response.end(JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => {
    point.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(point.address() as AddressInfo).port}/pdp/`;
});

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
  point.closeAllConnections();
  point.close();
});

const settings = (more: object = {}, access: object = {}): object => ({
  auth: { keys: { file: 'keys.yaml' } },
  access: {
    default: 'allow',
    rules: [{ id: 'no-drop', who: 'everyone', deny: ['*/drop'] }],
    decisions: { url, headers: { authorization: 'Bearer pdp' }, timeout: '5s', ...more },
    ...access,
  },
});

async function start(more: object = {}, access: object = {}): Promise<void> {
  worker = await WorkerUnderTest.start(servers, settings(more, access));
  for (const server of servers)
    await worker.put(server, {
      revision: latestLegacyRevision,
      capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
      lists: {
        ...noLists,
        tools: ['look', 'secret-pay', 'drop'].map((name) => ({
          name,
          inputSchema: { type: 'object' },
        })) as unknown as CatalogRecord['lists']['tools'],
        prompts: [{ name: 'hello' }, { name: 'secret-hello' }],
        resources: [
          { uri: `${server}://open`, name: 'open' },
          { uri: `${server}://secret`, name: 'secret' },
        ],
      },
    });
}

const ann = callerOf('ann', { groups: ['eng'], client: 'desktop' });
const list = async (client: ClientUnderTest, what: 'tools' | 'prompts' | 'resources'): Promise<unknown[]> => {
  const { result } = await worker.turning(client.ask(`${what}/list`));
  return ((result?.[what] ?? []) as JsonObject[]).map(({ name, uri }) => uri ?? name);
};
const call = async (client: ClientUnderTest, name: string, args: JsonObject = {}): Promise<unknown> => {
  const { result, error } = await worker.turning(client.ask('tools/call', { name, arguments: args }));
  return result === undefined ? error?.data?.['reason'] : 'answered';
};
const calls = (): readonly Asked[] => asked.filter(({ path }) => path.endsWith('/evaluation'));

describe.each([latestLegacyRevision, latestModernRevision])('a client of %s', (revision) => {
  const open = (caller = ann): Promise<ClientUnderTest> => worker.turning(worker.open(revision, {}, caller));

  it('is shown what rules and decision point permit, of all kinds, and nothing else exists', async () => {
    await start();
    const client = await open();
    expect(await list(client, 'tools')).toEqual(['bank__look', 'files__look']);
    expect(await list(client, 'prompts')).toEqual(['bank__hello', 'files__hello']);
    expect(await list(client, 'resources')).toEqual(['bank://open', 'files://open']);
    expect(await call(client, 'bank__secret-pay')).toBe('tool.unknown');
    expect(await call(client, 'bank__drop')).toBe('tool.unknown');
    expect(JSON.stringify([client.greeting])).not.toContain('secret');
    // The rules deny it, so the decision point is not asked.
    expect(JSON.stringify(asked)).not.toContain('drop');
    expect(worker.reached).toEqual([]);
  });

  it('has its calls decided one by one, with their arguments', async () => {
    permits = ({ context }) => context?.arguments?.['amount'] !== 7;
    await start();
    const client = await open();
    expect(await call(client, 'bank__look', { amount: 6 })).toBe('answered');
    const { error } = await worker.turning(client.ask('tools/call', { name: 'bank__look', arguments: { amount: 7 } }));
    expect(error).toMatchObject({
      message: expect.stringContaining('ask the owner') as string,
      data: { reason: 'policy.denied', rule: 'access.decisions' },
    });
    expect(worker.reached).toEqual(['bank']);
    expect(calls()[0]).toMatchObject({
      path: '/pdp/access/v1/evaluation',
      headers: { authorization: 'Bearer pdp' },
      body: {
        subject: { type: 'user', id: 'test|ann', properties: { groups: ['eng'], client: 'desktop' } },
        action: { name: 'tools/call' },
        resource: { type: 'tool', id: 'bank/look', properties: { server: 'bank', name: 'look' } },
        context: { arguments: { amount: 6 } },
      },
    });
  });

  it.each<readonly [string, (response: ServerResponse) => void]>([
    ['says no', (response) => response.end('{"decision":false}')],
    ['fails', (response) => response.writeHead(500).end('{"decision":true}')],
    ['redirects', (response) => response.writeHead(307, { location: `${url}other` }).end()],
    ['is cut off', (response) => response.destroy()],
    ['says no JSON', (response) => response.end('true')],
    ['says "true" as a text', (response) => response.end('{"decision":"true"}')],
    ['says 1', (response) => response.end('{"decision":1,"evaluations":[1,1,1,1,1,1,1,1,1,1]}')],
    ['decides about too few', (response) => response.end('{"evaluations":[{"decision":true}]}')],
    ['says too much', (response) => response.end(`{"decision":true,"x":"${'x'.repeat(1_100_000)}"}`)],
  ])('sees and may nothing if the decision point %s', async (_what, answer) => {
    await start();
    instead = answer;
    const client = await open();
    expect(await list(client, 'tools')).toEqual([]);
    expect(await call(client, 'bank__look')).toBe('tool.unknown');
    expect(JSON.stringify(client.greeting)).not.toContain('bank');
    expect(worker.reached).toEqual([]);
  });

  it.each<readonly [string, string, (response: ServerResponse) => void]>([
    ['says no', 'policy.denied', (response) => response.end('{"decision":false}')],
    ['fails', 'policy.undecided', (response) => response.writeHead(503).end()],
    ['is wrong', 'policy.undecided', (response) => response.end('{"decision":"true"}')],
    ['does not answer', 'policy.undecided', () => undefined],
  ])('may not call a tool that it was shown if the decision point %s then', async (_what, reason, answer) => {
    await start();
    const client = await open();
    expect(await list(client, 'tools')).toEqual(['bank__look', 'files__look']);
    instead = answer;
    expect(await call(client, 'bank__look')).toBe(reason);
    expect(worker.reached).toEqual([]);
    instead = undefined;
    expect(await call(client, 'bank__look')).toBe('answered');
  });

  it('gets lists of kept decisions, and of new ones after their time', async () => {
    await start({ cache: '1s', batch: 4 });
    const client = await open();
    expect(await list(client, 'tools')).toHaveLength(2);
    const batches = asked.length;
    expect(asked.map(({ body }) => (body['evaluations'] as unknown[]).length)).toEqual([4, 4, 4]);
    expect(await list(client, 'prompts')).toHaveLength(2);
    expect(asked).toHaveLength(batches);
    permits = ({ resource }) => resource.id.startsWith('files/');
    await expect.poll(() => list(client, 'tools'), { timeout: 10_000 }).toEqual(['files__look', 'files__secret-pay']);
    expect(await call(client, 'bank__look')).toBe('tool.unknown');
  });

  it('shares no decision with another caller', async () => {
    permits = ({ subject }) => subject.id === 'test|ann';
    await start();
    const [hers, his] = [await open(), await open(callerOf('bob'))];
    expect(await list(hers, 'tools')).toHaveLength(4);
    expect(await list(his, 'tools')).toEqual([]);
    expect(await call(his, 'bank__look')).toBe('tool.unknown');
  });
});

it('only records with `mode: record`', async () => {
  permits = () => false;
  await start({}, { mode: 'record' });
  const client = await worker.open(latestModernRevision, {}, ann);
  expect(await list(client, 'tools')).toHaveLength(6);
  expect(await call(client, 'bank__look')).toBe('answered');
  expect(await worker.metrics.text()).toContain('omnibus_decisions_total{about="calls",outcome="denied"} 1');
});

it('follows a changed configuration', async () => {
  await start();
  const client = await worker.open(latestModernRevision, {}, ann);
  expect(await list(client, 'tools')).toHaveLength(2);
  await worker.apply(servers, settings({}, { decisions: undefined }));
  expect(await list(client, 'tools')).toHaveLength(4);
  permits = () => false;
  await worker.apply(servers, settings());
  expect(await list(client, 'tools')).toEqual([]);
});
