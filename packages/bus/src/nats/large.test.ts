/** Large messages, which are fetched from their sender, and senders that break the rules. */
import { expect, it } from 'vitest';
import type { BusFault } from '../bus.ts';
import { subject } from '../subject.ts';
import { Heard } from '../testing/heard.ts';
import { startNatsProgram } from '../testing/nats-server.ts';
import { SharedNats } from '../testing/shared-nats.ts';
import { openNatsBus } from './bus.ts';

const nats = await SharedNats.start();

interface Note {
  readonly name: string;
  readonly padding?: string;
}
const calls = subject<Note, Note>('large-calls');
const controls = subject<Note>('large-controls');
const large = 'x'.repeat(3_000_000);
const sender = (name: string): string => calls.name.replace('large-calls', `blob.${name}`);

it('a sender that stops in the middle of a large message delays no other', async () => {
  const heard = new Heard<string>();
  await nats.far.subscribe(calls, ({ name }) => heard.add(name));
  const asked = new Heard<string>();
  nats.outsider.subscribe(sender('stalled'), (_subject, part, respond) => {
    asked.add(part);
    if (part.endsWith(' 0')) respond('{"name":"');
  });
  await nats.outsider.flush();
  nats.outsider.publish(calls.name, '', ['Omnibus-Blob', `${sender('stalled')} 1 3 90000`]);
  await asked.until(2);
  nats.near.publish(calls, { name: 'small' });
  nats.near.publish(calls, { name: 'large', padding: large });
  nats.near.publish(calls, { name: 'after' });
  expect(await heard.until(3)).toEqual(['small', 'large', 'after']);
  // The fetch still waits for the part that does not arrive.
  expect(nats.faults.values).toEqual([]);
});

it('what follows a large message on another subject does not overtake it', async () => {
  const heard = new Heard<string>();
  await nats.far.subscribe(calls, ({ name }) => heard.add(name));
  await nats.far.subscribe(controls, ({ name }) => heard.add(name));
  for (let round = 0; round < 5; round += 1) {
    nats.near.request(
      calls,
      { name: `call ${round}`, padding: large },
      { reply: () => undefined, failed: () => undefined },
    );
    nats.near.publish(controls, { name: `cancel ${round}` });
  }
  expect(await heard.until(10)).toEqual(
    Array.from({ length: 5 }, (_, round) => [`call ${round}`, `cancel ${round}`]).flat(),
  );
});

it.each([
  ['names somebody else on the bus', '$JS.API.STREAM.NAMES 1 1 100'],
  ['names a sender of another installation', `${sender('x').replace(/^\w+/, 'other')} 1 1 100`],
  ['names more than a sender', `${sender('x')}.y 1 1 100`],
  ['names a subject of ours', `${controls.name} 1 1 100`],
  ['has far too many parts', `${sender('x')} 1 99999 100000`],
  ['has more bytes than any message', `${sender('x')} 1 8000 999999999`],
  ['has none', `${sender('x')} 1 0 0`],
  ['is none', 'nonsense'],
])('a claim that %s is refused, and its request gets an error', async (_what, claim) => {
  await nats.far.subscribe(calls, () => expect.fail('there is nothing to handle'));
  const answer = await nats.outsider.request(calls.name, '', 5_000, ['Omnibus-Blob', claim]);
  expect(answer.headers).toEqual([expect.stringMatching(/^Omnibus-Failure: undecodable /)]);
});

it.each([
  ['more', '{"name":"longer than it says"}', 5],
  ['less', '{}', 50],
  ['nothing', '', 50],
])(
  'a sender that sends %s than its claim says is not believed, and whoever asks is told',
  async (_what, said, bytes) => {
    await nats.far.subscribe(calls, () => expect.fail('there is nothing to handle'));
    nats.outsider.subscribe(sender('liar'), (_subject, _part, respond) => respond(said));
    await nats.outsider.flush();
    const answer = await nats.outsider.request(calls.name, '', 5_000, [
      'Omnibus-Blob',
      `${sender('liar')} 1 1 ${bytes}`,
    ]);
    expect(answer.headers).toEqual([expect.stringMatching(/^Omnibus-Failure: lost /)]);
  },
);

it('nobody can ask a sender for what it does not keep', async () => {
  const claims = new Heard<string>();
  nats.outsider.subscribe(calls.name.replace('large-calls', 'blob.*'), (subjectName) => claims.add(subjectName));
  await nats.outsider.flush();
  const heard = new Heard<string>();
  await nats.far.subscribe(calls, ({ name }) => heard.add(name));
  nats.near.publish(calls, { name: 'large', padding: large });
  await heard.until(1);
  const [blob] = await claims.until(1);
  for (const asked of ['', '1', '1 -1', '1 1e9', '1 NaN', 'x 0', `${'9'.repeat(400)} 0`])
    expect((await nats.outsider.request(blob as string, asked, 5_000)).text).toBe('');
  nats.near.publish(calls, { name: 'again', padding: large });
  expect(await heard.until(2)).toEqual(['large', 'again']);
});

it('a NATS that refuses to publish or subscribe is named, and no caller waits for it', async () => {
  await using strict = await startNatsProgram(
    `no_auth_user: a\nauthorization { users = [{ user: a, password: a, permissions: { publish: { deny: "${calls.name}" }, subscribe: { deny: "${controls.name}" } } }] }`,
  );
  const problems = new Heard<BusFault>();
  const bus = await openNatsBus({ servers: strict.url, clientName: 'denied', connectTimeoutMs: 5_000 }, problems.add);
  const told = new Heard<unknown>();
  bus.request(calls, { name: 'hello' }, { reply: told.add, failed: told.add });
  expect(await told.until(1)).toMatchObject([
    { kind: 'no-responders', message: expect.stringContaining(calls.name) as string },
  ]);
  await expect(bus.subscribe(controls, () => undefined)).rejects.toThrow(
    `NATS does not let this process hear ${controls.name}`,
  );
  expect(problems.values.map(({ what }) => what).join('\n')).toMatch(/NATS refuses: .*Publish/i);
  await bus.drain();
});

it('a NATS that takes only small messages is refused at the start, and one that takes smaller ones than usual is used', async () => {
  await using tiny = await startNatsProgram('max_payload: 16384');
  await expect(
    openNatsBus({ servers: tiny.url, clientName: 'tiny', connectTimeoutMs: 5_000 }, nats.faults.add),
  ).rejects.toThrow('raise max_payload');
  await using small = await startNatsProgram('max_payload: 131072');
  const bus = await openNatsBus({ servers: small.url, clientName: 'small', connectTimeoutMs: 5_000 }, nats.faults.add);
  const bucket = await bus.keyValue<Note>({ name: 'small' });
  await bucket.put('key', { name: 'large', padding: large });
  expect((await bucket.get('key'))?.value.padding?.length).toBe(large.length);
  const heard = new Heard<number>();
  await bus.subscribe(calls, ({ padding }) => heard.add(padding?.length ?? 0));
  bus.publish(calls, { name: 'large', padding: large });
  expect(await heard.until(1)).toEqual([large.length]);
  await bus.drain();
});

it('a message that is larger than a lowered max_payload fails alone, and its sender gets the error', async () => {
  await using server = await startNatsProgram();
  const faults = new Heard<BusFault>();
  const bus = await openNatsBus({ servers: server.url, clientName: 'shrunk', connectTimeoutMs: 5_000 }, faults.add);
  const padding = 'x'.repeat(200_000);
  await bus.subscribe(calls, ({ name }, reply) => reply(name === 'long' ? { name, padding } : { name }));
  await server.kill();
  await server.start('max_payload: 65536');
  await expect.poll(() => bus.reconnects).toBe(1);
  const told = new Heard<string>();
  const ask = (name: string, more = {}): void =>
    void bus.request(
      calls,
      { name, ...more },
      { reply: (note) => told.add(`${note.name} came`), failed: ({ kind }) => told.add(`${name} ${kind}`) },
    );
  ask('large', { padding });
  bus.publish(controls, { name: 'control', padding });
  ask('long');
  ask('small');
  expect((await told.until(3)).toSorted()).toEqual(['large payload-too-large', 'long lost', 'small came']);
  const what = faults.values.map((fault) => fault.what).join('\n');
  expect(what).toContain(`a message on ${controls.family} could not be sent`);
  expect(what).toContain(`a message on ${calls.family} could not be read or answered`);
  await bus.drain();
});
