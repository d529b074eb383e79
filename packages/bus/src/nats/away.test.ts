/** Replies whose large bytes stay at the process that has them. */
import { afterEach, expect, it } from 'vitest';
import {
  AwayBytes,
  defaultLimits,
  JsonBytes,
  readResult,
  wire,
  withText,
  type JsonObject,
  type MayBeBytes,
  type MayHaveBytes,
} from '@omnibus/protocol';
import type { BusError } from '../errors.ts';
import { subject } from '../subject.ts';
import { Heard } from '../testing/heard.ts';
import { SharedNats } from '../testing/shared-nats.ts';

const nats = await SharedNats.start();

const results = subject<{ readonly name: string }, { readonly result: JsonObject; readonly more: number }>(
  'away-results',
);
const frames = subject<{ readonly name: string }, { readonly text: string; readonly last: boolean }>('away-frames');
const written = `{"content":[{"type":"text","text":"${'é'.repeat(1_200_000)}"}],"isError":false}`;
const resultHere = (): JsonObject => readResult(Buffer.from(written), defaultLimits) as JsonObject;

const open: { close(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

/** The bytes of messages on the bus while a function runs, without those of NATS' own. */
async function bytesDuring(act: () => Promise<void>): Promise<number> {
  let bytes = 0;
  const stop = nats.outsider.subscribe('>', (_subject, text) => (bytes += Buffer.byteLength(text)));
  await nats.outsider.flush();
  await act();
  await nats.outsider.flush();
  stop();
  return bytes;
}

/** Answers requests for results and for frames, which pass a result on. */
async function serve(): Promise<void> {
  open.push(
    await nats.far.subscribe(results, (_request, reply) => reply({ result: resultHere(), more: 1 })),
    await nats.near.subscribe(frames, (_request, reply) => {
      const pending = nats.near.request(
        results,
        { name: 'passed on' },
        {
          takesAway: true,
          reply: ({ result }) => {
            pending.close();
            const bytes = (result as MayHaveBytes)[wire]?.bytes as JsonBytes;
            reply(withText({ last: true }, bytes.within('{"id":1,"result":', '}')));
          },
          failed: () => expect.fail('nothing is lost'),
        },
      );
    }),
  );
}

it('a receiver that asks for nothing else gets the result when its bytes have come', async () => {
  await serve();
  const heard = new Heard<{ readonly result: JsonObject; readonly more: number } | BusError>();
  open.push(nats.near.request(results, { name: 'whole' }, { reply: heard.add, failed: heard.add }));
  const [got] = (await heard.until(1)) as readonly { readonly result: JsonObject; readonly more: number }[];
  expect(got?.more).toBe(1);
  expect((got?.result as MayHaveBytes)[wire]?.away).toBeUndefined();
  expect(JSON.stringify(got?.result)).toBe(written);
});

it('a receiver can pass a result on without its bytes, which cross the bus once', async () => {
  await serve();
  const heard = new Heard<{ readonly text: string; readonly last: boolean }>();
  const bytes = await bytesDuring(async () => {
    open.push(
      nats.far.request(frames, { name: 'frame' }, { reply: heard.add, failed: () => expect.fail('nothing is lost') }),
    );
    await heard.until(1);
  });
  const [frame] = heard.values;
  expect(frame?.last).toBe(true);
  expect((frame as MayBeBytes)[wire]).not.toBeInstanceOf(AwayBytes);
  expect(frame?.text).toBe(`{"id":1,"result":${written}}`);
  expect(bytes).toBeLessThan(Buffer.byteLength(written) + 2_000);
});

it('a result that is passed on can be fetched once, and fails when it is gone', async () => {
  await serve();
  const heard = new Heard<{ readonly result: JsonObject }>();
  open.push(
    nats.near.request(results, { name: 'away' }, { takesAway: true, reply: heard.add, failed: () => expect.fail() }),
  );
  await heard.until(1);
  const away = (heard.values[0]?.result as MayHaveBytes)[wire]?.away;
  expect((await away?.fetch())?.toString()).toBe(written);
  await expect(away?.fetch()).rejects.toThrow('has dropped it');
});

it('the text of a frame crosses the bus as it is, and not as a text inside a text', async () => {
  const quotes = JSON.stringify('"'.repeat(500_000));
  const big = `{"id":1,"result":${quotes}}`;
  open.push(
    await nats.far.subscribe(frames, (_request, reply) =>
      reply(withText({ last: true }, new JsonBytes(['{"id":1,"result":', Buffer.from(quotes), '}']))),
    ),
  );
  const heard = new Heard<{ readonly text: string }>();
  const bytes = await bytesDuring(async () => {
    open.push(nats.near.request(frames, { name: 'here' }, { reply: heard.add, failed: () => expect.fail() }));
    await heard.until(1);
  });
  expect(bytes).toBeLessThan(big.length + 2_000);
  expect(heard.values[0]?.text === big).toBe(true);
});
