/** Different versions of Omnibus on one NATS, and their stored values. */
import { expect, it } from 'vitest';
import { ownFormats, version, type SessionRecord } from '@omnibus/protocol';
import type { KeyValueChange } from '../bus.ts';
import { subject } from '../subject.ts';
import { sessionsBucket, subjects } from '../subjects.ts';
import { Heard } from '../testing/heard.ts';
import { sampleRecord as record, SharedNats } from '../testing/shared-nats.ts';

const nats = await SharedNats.start();

it('a stored value names its format, in one piece or in parts', async () => {
  const records = await nats.near.keyValue(sessionsBucket);
  await records.put('said', record);
  const large = await nats.near.keyValue<string>({ name: 'formats-large' });
  await large.put('large', 'x'.repeat(1_500_000));
  const stored = await nats.outsider.buckets();
  expect(JSON.parse(stored.get(sessionsBucket.name)?.get('said') ?? '')).toMatchObject({
    format: ownFormats.says,
    value: { worker: 'worker' },
  });
  expect(JSON.parse(stored.get('formats-large')?.get('large') ?? '')).toMatchObject({
    format: ownFormats.says,
    parts: expect.any(Number),
  });
});

it('a record of a format to come is neither read, nor taken for nothing, nor written over; members to come are passed over', async () => {
  const records = await nats.near.keyValue(sessionsBucket);
  await nats.outsider.put(
    sessionsBucket.name,
    'newer',
    JSON.stringify({ format: ownFormats.says + 1, value: { shape: 'nobody knows' } }),
  );
  await expect(records.get('newer')).rejects.toMatchObject({
    kind: 'newer-format',
    message: expect.stringContaining(`this version (${version})`),
  });
  await expect(records.create('newer', record)).rejects.toMatchObject({ kind: 'newer-format' });
  expect(nats.faults.values.map(({ kind, family }) => `${kind} ${family}`)).toEqual(
    Array(2).fill(`format ${sessionsBucket.name}`),
  );
  expect((await nats.outsider.buckets()).get(sessionsBucket.name)?.get('newer')).toContain('nobody knows');
  await nats.outsider.put(
    sessionsBucket.name,
    'more',
    JSON.stringify({ format: ownFormats.says, more: 1, value: { ...record, more: { of: 'it' } } }),
  );
  const heard = new Heard<KeyValueChange<SessionRecord>>();
  (await records.watch(heard.add)).close();
  expect(heard.values.map(({ key }) => key)).toContain('more');
  expect(heard.values.map(({ key }) => key)).not.toContain('newer');
});

it('a long text stands beside the other members of a reply, but not for a process of 0.3.0, which does not read that', async () => {
  const to = subject<{ readonly name: string }, { readonly kind: string; readonly text: string }>('formats-texts');
  const frame = { kind: 'message', text: JSON.stringify('"'.repeat(1_000)) };
  const subscription = await nats.far.subscribe(to, (_request, reply) => reply(frame));
  const { text } = await nats.outsider.request(to.name, '{"name":"old"}', 5_000);
  expect(JSON.parse(text)).toEqual(frame);
  const sent = nats.outsider.capture();
  await nats.outsider.flush();
  const heard = new Heard<unknown>();
  nats.near.request(to, { name: 'new' }, { reply: heard.add, failed: heard.add });
  expect(await heard.until(1)).toEqual([frame]);
  await nats.outsider.flush();
  expect(sent()).toContain(`\u0001{"kind":"message"}\u0002${frame.text}`);
  subscription.close();
});

it('a process of 0.3.0 answers with the text among the other members', async () => {
  const to = subject<{ readonly name: string }, { readonly kind: string; readonly text: string }>('formats-texts');
  const frame = { kind: 'message', text: 'x'.repeat(1_000) };
  nats.outsider.subscribe(to.name, (_subject, _text, respond) => respond(JSON.stringify(frame)));
  await nats.outsider.flush();
  const heard = new Heard<unknown>();
  nats.near.request(to, { name: 'new' }, { reply: heard.add, failed: heard.add });
  expect(await heard.until(1)).toEqual([frame]);
});

it('a request of a kind that only a newer version knows is answered with both versions', async () => {
  const to = subjects.session('worker-1' as never);
  await nats.near.subscribe(to, () => expect.fail('it is not for this version'));
  const told = new Heard<unknown>();
  nats.near.request(
    to,
    { key: 'key' as never, command: { kind: 'from-the-future' } as never },
    { reply: told.add, failed: told.add },
  );
  expect(await told.until(1)).toMatchObject([
    { kind: 'unknown-kind', message: expect.stringContaining(`of version ${version}, and asked by one of ${version}`) },
  ]);
});

it('a sign of life of another format is said, and passed on to whoever watches signs', async () => {
  const heard = new Heard<unknown>();
  await nats.near.subscribe(subjects.presence, heard.add);
  const sign = {
    worker: 'worker-9',
    isLeaving: false,
    reconnects: 0,
    formats: { version: '9.0.0', says: 9, reads: [8, 9] },
  };
  nats.outsider.publish(subjects.presence.name, JSON.stringify(sign));
  nats.outsider.publish(
    subjects.presence.name,
    JSON.stringify({ ...sign, formats: { ...ownFormats, version: '0.3.0' } }),
  );
  expect(await heard.until(2)).toMatchObject([sign, { formats: { version: '0.3.0' } }]);
  expect(nats.faults.values).toMatchObject([
    {
      kind: 'format',
      family: 'presence',
      what: expect.stringContaining('a process of version 9.0.0 on this bus speaks format 9'),
    },
  ]);
});
