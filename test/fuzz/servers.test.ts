/**
 * Servers that mutate all their messages, on every transport and in both eras, with correct clients. The messages of a server are determined by the seed
 * and their numbers, but their order depends on timing, so a failure is written with the requests.
 */
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { fixturePath } from '../support/processes.ts';
import { shapes, startGateway } from '../support/gateway.ts';
import { measured } from '../support/metrics.ts';
import { Hostile } from './hostile.ts';
import { HttpCarrier } from './http-carriers.ts';
import { HostileServer, type Wire } from './hostile-network.ts';
import { hostile } from './judge.ts';
import { Chooser } from './mutate.ts';
import { expectSound, Failures, goesOn, Innocent, memoryOf, say, seed, testMs, timeouts } from './run.ts';
import type { Era } from './server.ts';
import { validMessage } from './traffic.ts';

const wires: readonly (readonly [name: string, wire: Wire, era: Era])[] = [
  ['old-json', 'json', '2025-11-25'],
  ['old-events', 'events', '2025-11-25'],
  ['old-sse', 'sse', '2025-11-25'],
  ['old-ws', 'websocket', '2025-11-25'],
  ['new-json', 'json', '2026-07-28'],
  ['new-events', 'events', '2026-07-28'],
  ['new-ws', 'websocket', '2026-07-28'],
];
/** Number of clients at once. */
const clients = 8;
/** Number of open requests of each client. */
const window = 12;

it.each(shapes)(
  'whatever servers send, each request gets one answer, and no other client notices: %s',
  { timeout: testMs },
  async (shape) => {
    await using stack = new AsyncDisposableStack();
    const quick = { connectTimeout: '2s', restart: { minDelay: '20ms', maxDelay: '300ms' } };
    const servers = await Promise.all(
      wires.map(
        async ([name, wire, era], index) =>
          [name, stack.use(await HostileServer.start(new Hostile(seed + index, era), wire)), wire] as const,
      ),
    );
    await using innocent = await Innocent.start();
    await using gateway = await startGateway(
      shape,
      {
        timeouts,
        mcpServers: {
          innocent: innocent.server,
          ...Object.fromEntries(
            servers.map(([name, server, wire]) => [
              name,
              { url: server.url, ...(wire === 'sse' ? { type: 'sse' } : {}), ...quick },
            ]),
          ),
          ...Object.fromEntries(
            (['2025-11-25', '2026-07-28'] as const).map((era) => [
              `pipe-${era.slice(0, 4)}`,
              {
                command: 'node',
                args: [fixturePath('hostile-stdio'), String(seed), era],
                ...quick,
                restart: { minDelay: '500ms', maxDelay: '3s' },
              },
            ]),
          ),
        },
      },
      measured,
    );
    await innocent.begin(gateway.url);
    const before = await memoryOf(gateway);
    // Programs end often, and starting one takes as long as a hundred requests, so they get fewer.
    const names = [...wires, ...wires, ...wires].map(([name]) => name).concat('pipe-2025', 'pipe-2026');
    const failures = new Failures(`servers-${shape}`);
    hostile.isMutating = true;
    let asked = 0;
    const isOn = goesOn(failures);
    const isModern = (iteration: number): boolean => iteration % 2 === 1;
    const opened = Array.from({ length: clients }, (_, first) => new HttpCarrier(gateway.url, !isModern(first)));
    const lane = async (first: number, step: number): Promise<void> => {
      const carrier = opened[first % clients] as HttpCarrier;
      for (let iteration = first; isOn(iteration); iteration += step) {
        await innocent.served();
        const choose = new Chooser(seed, iteration);
        const { message, headers } = validMessage(
          isModern(first) ? '2026-07-28' : '2025-11-25',
          choose.of(names),
          iteration,
          choose,
          iteration - clients,
        );
        const body = JSON.stringify(message);
        const isRequest =
          'method' in message &&
          'id' in message &&
          message['method'] !== 'subscriptions/listen' &&
          message['method'] !== 'initialize';
        const problem = await carrier
          .send({ body: Buffer.from(body), headers, ...(isRequest ? { id: iteration } : {}) })
          .catch((error: unknown) => `the gateway cannot be reached: ${inspect(error)}`);
        asked += 1;
        if (problem !== undefined)
          failures.add({ iteration, carrier: isModern(first) ? 'modern' : 'http', problem, input: body });
      }
    };
    await Promise.all(Array.from({ length: clients * window }, (_, first) => lane(first, clients * window)));
    for (const carrier of opened) await carrier[Symbol.asyncDispose]();
    hostile.isMutating = false;

    await innocent.stop();
    const total = (count: (each: Hostile) => number): number =>
      servers.reduce((sum, [, server]) => sum + count(server.hostile), 0);
    say(
      'servers',
      shape,
      { asked, 'messages said': total(({ said }) => said), 'of them mutated': total(({ mutations }) => mutations) },
      innocent,
      failures,
    );
    expect(failures.list.join('\n\n')).toBe('');
    expect(innocent.wrong).toEqual([]);
    expect(innocent.calls).toBeGreaterThan(0);
    await expectSound(gateway, before);
  },
);
