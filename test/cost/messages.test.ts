/** What one call sends over NATS. Another party hears every message, and the clock stands meanwhile, so nothing here depends on the load of the machine. */
import { Outsider } from '@omnibus/bus/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startUpstream, type Measured } from '../bench/subjects.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';

/** A message on the bus: its subject, without the names of processes and calls and without whether it is for one of several workers; the bytes of its payload. */
type Sent = readonly [subject: string, bytes: number];
type Caller = (args: { readonly text: string; readonly bytes?: number }) => Promise<Answer>;

let upstream: Measured;
let gateway: GatewayHere;
let outsider: Outsider;
let legacy: RawClient;
let modern: ModernClient;

beforeAll(async () => {
  vi.useFakeTimers({
    toFake: ['performance', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'],
    shouldAdvanceTime: true,
  });
  upstream = await startUpstream(1);
  gateway = await startGatewayHere('nats', { mcpServers: { up: { url: `${upstream.url}/0` } } });
  outsider = await Outsider.connect(gateway.bus as string);
  legacy = await RawClient.open(gateway.url);
  modern = new ModernClient(gateway.url, {});
  await legacy.untilTools((names) => names.includes('tool-0'));
});

afterAll(async () => {
  modern[Symbol.dispose]();
  legacy[Symbol.dispose]();
  await outsider[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  vi.useRealTimers();
});

/** Resolves when what any part has sent has arrived, and its answer. */
async function untilQuiet(): Promise<void> {
  for (let round = 0; round < 2; round += 1) await Promise.all(gateway.processes.map((part) => part.arrived()));
  await outsider.flush();
}

/** The messages on the bus until an action has ended. No timer fires meanwhile: signs of life, questions about late calls and records come with time. */
async function messagesDuring(act: () => Promise<void>): Promise<readonly Sent[]> {
  vi.setTimerTickMode('manual');
  await untilQuiet();
  const sent: Sent[] = [];
  const stop = outsider.subscribe('>', (subject, payload) => {
    sent.push([
      /^omnibus\.v1\.((?:inbox\.)?[a-z]+(?:-(?!at\b)[a-z]+)*)/.exec(subject)?.[1] ?? subject,
      Buffer.byteLength(payload),
    ]);
  });
  try {
    await outsider.flush();
    await act();
    await outsider.flush();
  } finally {
    stop();
    vi.setTimerTickMode('interval');
  }
  return sent;
}

/** The messages of calls of the tool that answers with its text, one call after the other. */
function messagesOf(call: Caller, text: string, calls: number): Promise<readonly Sent[]> {
  return messagesDuring(async () => {
    for (let made = 0; made < calls; made += 1)
      expect((await call({ text })).last.result).toMatchObject({ content: [{ text }] });
  });
}

describe.each([
  { revision: '2025-11-25', call: (args) => legacy.callTool('tool-0', args), command: 'session', overhead: 1_000 },
  {
    revision: '2026-07-28',
    call: (args) => modern.call('tool-0', { arguments: args }),
    command: 'modern',
    overhead: 1_300,
  },
] satisfies readonly { revision: string; call: Caller; command: string; overhead: number }[])(
  'a call of a client of $revision',
  ({ call, command, overhead }) => {
    const bytesOf = async (text: string, calls: number): Promise<number> =>
      (await messagesOf(call, text, calls)).reduce((sum, [, bytes]) => sum + bytes, 0) / calls;

    it('is four messages: to the session worker, to the adapter, and both answers', async () => {
      // The first call of a client may look for a worker.
      await call({ text: 'first' });
      const calls = 20;
      const sent = await messagesOf(call, 'hello', calls);
      const one = [command, 'backend', 'inbox.session', 'inbox.edge'];
      expect(sent.map(([subject]) => subject)).toEqual(Array.from({ length: calls }, () => one).flat());
    });

    it(`takes at most ${overhead} bytes beside its arguments and its result, each of which crosses the bus twice`, async () => {
      const text = 'x'.repeat(20_000);
      expect(await bytesOf(text, 5)).toBeLessThanOrEqual(4 * text.length + overhead);
    });

    it('takes its result over the bus once if it is large: the edge fetches it from the backend worker', async () => {
      await call({ text: 'first' });
      const large = { text: 'x', bytes: 1_000_000 };
      const sent = await messagesDuring(async () => {
        const [content] = (await call(large)).last.result?.['content'] as readonly { readonly text: string }[];
        expect(content?.text.length).toBe(large.text.length + large.bytes);
      });
      expect(sent.map(([subject]) => subject)).toEqual([
        ...[command, 'backend', 'inbox.session', 'inbox.edge', 'blob', 'inbox.edge'],
      ]);
      const bytes = sent.reduce((sum, [, each]) => sum + each, 0);
      process.stdout.write(`\n1 MB of a client of ${command}: ${(bytes / large.bytes).toFixed(4)} MB over the bus\n`);
      expect(bytes).toBeLessThanOrEqual(large.bytes + 1.5 * overhead);
    });

    it('never escapes its result once more', async () => {
      const quotes = '"'.repeat(20_000);
      const written = JSON.stringify(quotes).length;
      expect(await bytesOf(quotes, 5)).toBeLessThanOrEqual(4 * written + overhead);
    });
  },
);
