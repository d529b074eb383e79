/** Messages of servers outside calls, of which a guardrail looks at those of one server. */
import {
  latestLegacyRevision,
  noLists,
  parseServerName,
  type ExchangeEvent,
  type JsonObject,
  type ServerNotice,
} from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkerUnderTest, type ClientUnderTest } from '../worker-under-test.ts';

const servers = ['judged', 'other', 'judge'];
const verdict = (valid: boolean): ExchangeEvent => ({
  kind: 'result',
  result: { content: [], structuredContent: { valid } },
});
const [updated, completed, status, logged] = [
  'notifications/resources/updated',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
  'notifications/message',
];
const changed: JsonObject = { kind: 'resource-updated', uri: 'judged://page' };
const more: JsonObject = { title: 'one' };
/** As many as may wait, and more. */
const many = 150;

let up: WorkerUnderTest;
let client: ClientUnderTest;

beforeEach(async () => {
  up = await WorkerUnderTest.start(servers, {
    guardrails: [
      {
        id: 'judge',
        what: 'judged',
        on: ['results', 'questions'],
        tool: 'judge/check',
        timeout: '60s',
      },
    ],
  });
  for (const server of servers)
    await up.put(server, {
      revision: latestLegacyRevision,
      capabilities: {
        tools: {},
        logging: {},
        resources: { subscribe: true },
        tasks: { requests: { tools: { call: {} } } },
      },
      lists: {
        ...noLists,
        tools: [{ name: 'act', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
        resources: [{ uri: `${server}://page`, name: 'page' }],
      },
    });
  client = await up.open(latestLegacyRevision, { elicitation: { form: {} } });
  up.outcome = verdict(true);
});

afterEach(async () => {
  expect(up.faults).toEqual([]);
  await up.stop();
});

const say = (server: string, notice: JsonObject): void =>
  up.notice({ ...notice, server: parseServerName(server), sessions: [client.key] } as unknown as ServerNotice);
const log = (server: string, data: string): void => say(server, { kind: 'log', params: { level: 'error', data } });
const ask = (server: string, input: number): void =>
  say(server, {
    kind: 'question',
    input,
    method: 'elicitation/create',
    params: { message: `${input}`, requestedSchema: { type: 'object', properties: {} } },
  });
const times = (count: number, act: (index: number) => void): void => {
  for (let index = 0; index < count; index += 1) act(index);
};
/** What the client has got, by method. */
const heard = (method: string | undefined): unknown[] =>
  client.pushed.values.filter((message) => message.method === method).map(({ params }) => params);
const until = (method: string | undefined, count = 1): Promise<unknown> =>
  client.pushed.untilSome(() => heard(method).length >= count);

/** A log message is being looked at, until the returned function gives the verdict. */
async function hanging(): Promise<(event: ExchangeEvent) => void> {
  const asked = Promise.withResolvers<(event: ExchangeEvent) => void>();
  up.takes = asked.resolve;
  log('judged', 'first');
  return asked.promise;
}

it('hold up none of another server, nor a bare notice that a resource has changed', async () => {
  const answer = await hanging();
  times(many, (index) => log('judged', String(index)));
  ask('other', 1);
  log('other', 'here');
  await until('elicitation/create');
  await until(logged);
  expect(heard(logged)).toMatchObject([{ data: 'here' }]);
  say('judged', changed);
  await until(updated);
  // For this one there is no room.
  say('judged', { ...changed, more });
  await until(updated, 2);
  expect(heard(updated)).toEqual([{ uri: 'judged://page' }, { uri: 'judged://page' }]);
  answer(verdict(true));
  await until(logged, 2);
  expect(heard(logged)[1]).toMatchObject({ data: 'first' });
});

it('wait up to a bound: then states of tasks are left out, and questions are refused', async () => {
  const answer = await hanging();
  const task = { taskId: 'one', status: 'working', createdAt: 'now', lastUpdatedAt: 'now', ttl: 60_000 };
  times(many, () => say('judged', { kind: 'task-status', tool: 'act', task }));
  times(many, (index) => ask('judged', index));
  const refused = await up.controls.untilSome(({ kind }) => kind === 'answer');
  expect(refused).toMatchObject({ input: 100, answer: { error: { data: { reason: 'session.busy' } } } });
  answer(verdict(true));
  await until('elicitation/create', 100);
  expect(heard(status)).toHaveLength(100);
});

it('let the withdrawal of a question pass at once when too many of them wait', async () => {
  ask('judged', 0);
  await until('elicitation/create');
  const answer = await hanging();
  times(many, () => log('judged', 'more'));
  times(many, (index) => ask('judged', index + 1));
  const withdraw = (input: number): void =>
    say('judged', { kind: 'question-withdrawn', input, reason: 'it is too late' });
  times(many, (index) => withdraw(index + 1));
  withdraw(0);
  await until('notifications/cancelled');
  expect(heard('elicitation/create')).toHaveLength(1);
  answer(verdict(true));
  await until('notifications/cancelled', 101);
});

it('tell the id or URI alone where the guardrail withholds the rest', async () => {
  up.outcome = verdict(false);
  say('judged', { ...changed, more });
  say('judged', { kind: 'elicitation-complete', elicitationId: 'one', more });
  await until(completed);
  expect([heard(updated), heard(completed)]).toEqual([[{ uri: 'judged://page' }], [{ elicitationId: 'judged:one' }]]);
  up.outcome = verdict(true);
  say('judged', { ...changed, more });
  await until(updated, 2);
  expect(heard(updated)[1]).toEqual({ ...more, uri: 'judged://page' });
});
