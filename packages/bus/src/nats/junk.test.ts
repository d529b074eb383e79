/** Messages and values of other parties on NATS are not trusted. */
import { expect, it } from 'vitest';
import type { SessionRecord } from '@omnibus/protocol';
import type { KeyValueChange } from '../bus.ts';
import { BusError } from '../errors.ts';
import { families } from '../families.ts';
import { sessionRecord } from '../shapes/records.ts';
import { sessionsBucket, subjects } from '../subjects.ts';
import { subject, type Subject } from '../subject.ts';
import { Heard } from '../testing/heard.ts';
import { samples } from '../testing/samples.ts';
import { sampleRecord as record, SharedNats } from '../testing/shared-nats.ts';

const nats = await SharedNats.start();

const names = Object.keys(families) as (keyof typeof families)[];
const junk = [
  '',
  'no JSON',
  '{',
  'null',
  '0',
  '"text"',
  '[]',
  '[[[]]]',
  '{}',
  '{"kind":null}',
  '{"kind":"open"}',
  '{"kind":"call","exchange":"a.b"}',
  '{"key":"*"}',
  '{"kind":"post","message":{"kind":"request","message":null}}',
  '['.repeat(50_000),
  '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000),
  Buffer.from([0xff, 0xfe, 0x00]),
];

it.each(names)(
  'junk on %s reaches no handler; valid messages do, and a request with junk gets an error',
  async (name) => {
    const family = families[name];
    const to: Subject<unknown, unknown> = { ...subject<unknown, unknown>(name, ...family.tokens), shapes: family };
    const heard = new Heard<unknown>();
    const subscription = await nats.near.subscribe(to, (payload, reply) => {
      heard.add(payload);
      reply('nonsense');
    });
    for (const payload of junk) nats.outsider.publish(to.name, payload);
    const answers = await Promise.all(junk.map((payload) => nats.outsider.request(to.name, payload, 5_000)));
    for (const { headers, text } of answers) {
      expect(headers).toEqual([
        expect.stringMatching(/^Omnibus-Failure: (undecodable [0-9a-f]{12}|unknown-kind [0-9a-f]{12} \S+)$/),
      ]);
      expect(text).toBe('');
    }
    nats.outsider.publish(to.name, JSON.stringify(samples[name].request));
    expect(await heard.until(1)).toEqual([JSON.parse(JSON.stringify(samples[name].request))]);
    const reported = await nats.faults.until(junk.length * 2);
    expect(new Set(reported.map(({ kind, family: of }) => `${kind} ${of}`))).toEqual(new Set([`message ${name}`]));
    subscription.close();
  },
);

it('a junk reply fails its request; one of a kind that only a newer version knows is passed on', async () => {
  const to = subjects.backend('server' as never);
  nats.outsider.subscribe(to.name, (_subject, text, respond) => {
    respond('{"kind":"from-the-future"}');
    respond(text.includes('"first"') ? '{"kind":"result","result":[]}' : 'no JSON');
  });
  await nats.outsider.flush();
  for (const exchange of ['first', 'second']) {
    const told = new Heard<unknown>();
    nats.near.request(to, { ...samples.backend.request, exchange } as never, { reply: told.add, failed: told.add });
    const [event, failure] = await told.until(2);
    expect(event).toEqual({ kind: 'from-the-future' });
    expect(failure).toBeInstanceOf(BusError);
    expect(failure).toMatchObject({ kind: 'undecodable' });
  }
});

it('a foreign stream that stores our messages answers none of them, and the log names it', async () => {
  const capture = { name: 'everything', subjects: [subjects.backend('server' as never).name], storage: 'memory' };
  await nats.outsider.request('$JS.API.STREAM.CREATE.everything', JSON.stringify(capture), 5_000);
  const to = subjects.backend('server' as never);
  const asked = new Heard<string>();
  let answer = (): void => undefined;
  const subscription = await nats.far.subscribe(to, (_request, reply) => {
    answer = () => reply({ kind: 'result', result: {} } as never);
    asked.add('asked');
  });
  const told = new Heard<unknown>();
  nats.near.request(to, samples.backend.request as never, { reply: told.add, failed: told.add });
  await asked.until(1);
  expect(await nats.faults.until(1)).toMatchObject([
    {
      kind: 'connection',
      what: expect.stringContaining(`the stream "everything" at NATS stores our messages`) as string,
    },
  ]);
  answer();
  expect(await told.until(1)).toMatchObject([{ kind: 'result' }]);
  subscription.close();
  await nats.outsider.request('$JS.API.STREAM.DELETE.everything', '', 5_000);
});

it.each([
  'no JSON',
  '{}',
  '{"format":1,"value":null}',
  '{"format":1,"value":{"caller":1}}',
  '{"format":1,"generation":"x","parts":3}',
  '{"format":1,"generation":"../..","parts":1}',
  '{"format":1,"generation":"x","parts":1e9}',
  JSON.stringify({ value: record }),
  '[['.repeat(10_000),
])('a junk record is as good as none, and does not keep its key: %.30s', async (value) => {
  const records = await nats.near.keyValue(sessionsBucket);
  await nats.outsider.put(sessionsBucket.name, 'key', value);
  expect(await records.get('key')).toBeUndefined();
  expect((await nats.faults.until(1))[0]).toMatchObject({ kind: 'message', family: sessionsBucket.name });
  const revision = await records.create('key', record);
  expect(await records.get('key')).toEqual({ key: 'key', value: record, revision });
  await expect(records.create('key', record)).rejects.toMatchObject({ kind: 'revision-conflict' });
  await records.delete('key');
});

it('a watcher goes on after junk, and after a value whose parts are gone', async () => {
  const values = await nats.near.keyValue<SessionRecord>({ name: 'junk-parts', shape: sessionRecord });
  await nats.outsider.put('junk-parts', 'a', 'no JSON');
  await nats.outsider.put('junk-parts', 'b', '{"format":1,"generation":"gone","parts":2}');
  await values.put('c', record);
  const heard = new Heard<KeyValueChange<SessionRecord>>();
  const watch = await values.watch(heard.add);
  expect(heard.values).toMatchObject([{ kind: 'put', key: 'c' }]);
  await nats.outsider.put('junk-parts', 'd', '{}');
  await values.put('e', record);
  expect((await heard.until(2))[1]).toMatchObject({ kind: 'put', key: 'e' });
  watch.close();
});

it('junk in a journal is passed over', async () => {
  const journal = await nats.near.journal<{ readonly number: number }>({
    name: 'junk-journal',
    family: 'junk-journal',
    tokens: 1,
    maxAgeMs: 60_000,
    maxBytes: 1_000_000,
    maxEntries: 10,
    shape: (value) => (typeof (value as { readonly number?: unknown } | null)?.number === 'number' ? 'fits' : 'junk'),
  });
  const one = subject<{ readonly number: number }>('junk-journal', 'one');
  for (const entry of ['no JSON', 'null', '{"number":"x"}', '{"number":7}']) nats.outsider.publish(one.name, entry);
  await nats.outsider.flush();
  const heard = new Heard<number>();
  while (heard.values.length === 0) (await journal.follow(one, ({ number }) => heard.add(number))).close();
  expect(new Set(heard.values)).toEqual(new Set([7]));
});
