/** What servers say beside the URIs of changed resources, to clients without a session, behind a guardrail. */
import { subjects } from '@omnibus/bus';
import { Heard } from '@omnibus/bus/testing';
import {
  anonymous,
  latestModernRevision,
  newRequestKey,
  noLists,
  parseServerName,
  rootEndpoint,
  type ExchangeEvent,
  type JsonObject,
} from '@omnibus/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WorkerUnderTest } from '../worker-under-test.ts';

const verdict = (valid: boolean): ExchangeEvent => ({
  kind: 'result',
  result: { content: [], structuredContent: { valid } },
});
const uri = 'judged://page';

let up: WorkerUnderTest;
/** Parameters of the messages to the client. */
let heard: Heard<JsonObject>;
let key: ReturnType<typeof newRequestKey>;

beforeEach(async () => {
  up = await WorkerUnderTest.start(['judged', 'judge'], {
    guardrails: [{ id: 'judge', what: 'judged', on: 'results', tool: 'judge/check', timeout: '60s' }],
  });
  await up.put('judge');
  await up.put('judged', {
    capabilities: { resources: { subscribe: true } },
    lists: { ...noLists, resources: [{ uri, name: 'page' }] },
  });
  await up.open(latestModernRevision);
  heard = new Heard();
  key = newRequestKey();
  up.bus.request(
    subjects.modern(undefined),
    {
      kind: 'request',
      key,
      caller: { principal: anonymous, endpoint: rootEndpoint },
      request: {
        jsonrpc: '2.0',
        id: 'listen',
        method: 'subscriptions/listen',
        params: { notifications: { resourceSubscriptions: [uri] } },
      },
      context: { capabilities: {}, logLevel: undefined },
      parameterHeaders: undefined,
    },
    {
      reply: (frame) => {
        if (frame.kind === 'message') heard.add((JSON.parse(frame.text) as { readonly params: JsonObject }).params);
      },
      failed: (error) => up.faults.push(String(error)),
    },
  );
  await up.turning(heard.until(1));
  up.outcome = verdict(true);
});

afterEach(async () => {
  expect(up.faults).toEqual([]);
  await up.stop();
});

const changed = (more?: JsonObject): void =>
  up.notice({
    kind: 'resource-updated',
    server: parseServerName('judged'),
    uri,
    sessions: [key],
    ...(more === undefined ? {} : { more }),
  });
/** Titles that have come with the URI, after the acknowledgement. */
const titles = (): unknown[] =>
  heard.values.slice(1).map((params) => (params['uri'] === uri ? params['title'] : params));

it('keeps its order, and a notice that says nothing does not wait', async () => {
  const asked = Promise.withResolvers<(event: ExchangeEvent) => void>();
  up.takes = asked.resolve;
  changed({ title: 'one' });
  const answer = await asked.promise;
  changed({ title: 'two' });
  changed();
  await heard.until(2);
  expect(titles()).toEqual([undefined]);
  answer(verdict(true));
  await heard.until(4);
  expect(titles()).toEqual([undefined, 'one', 'two']);
});

it('is left out where it is withheld, or too much of it waits, and the client hears that the resource has changed', async () => {
  up.outcome = verdict(false);
  changed({ title: 'one' });
  await heard.until(2);
  const asked = Promise.withResolvers<(event: ExchangeEvent) => void>();
  up.takes = asked.resolve;
  changed({ title: 'two' });
  const answer = await asked.promise;
  for (let index = 0; index < 101; index += 1) changed({ title: 'three' });
  await heard.until(3);
  expect(titles()).toEqual([undefined, undefined]);
  up.outcome = verdict(true);
  answer(verdict(true));
  await heard.until(104);
  expect(titles().slice(2)).toEqual(['two', ...Array.from({ length: 100 }, () => 'three')]);
});
