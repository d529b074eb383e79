/**
 * Clients that send invalid messages of any kind, over every transport and in both eras, in front of correct servers. Each iteration is determined by the
 * seed and its own number: `OMNIBUS_FUZZ_SEED=S OMNIBUS_FUZZ_ONLY=N` repeats one.
 */
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { omnibusProgram } from '../support/processes.ts';
import { shapes, startGateway, writeConfig } from '../support/gateway.ts';
import { measured } from '../support/metrics.ts';
import type { Carrier, Posted } from './carriers.ts';
import { EventSourceCarrier, StdioCarrier, WebSocketCarrier } from './duplex-carriers.ts';
import { HttpCarrier, sendRaw } from './http-carriers.ts';
import { HonestHttpServer } from './http-server.ts';
import { Chooser, mangled, mutated } from './mutate.ts';
import { expectSound, Failures, goesOn, Innocent, memoryOf, only, say, seed, testMs, timeouts } from './run.ts';
import { mutatedHeaders, validMessage } from './traffic.ts';

const carriers = [
  'http',
  'http',
  'http',
  'modern',
  'modern',
  'modern',
  'raw',
  'websocket',
  'websocket',
  'stdio',
  'sse',
  'http',
] as const;
type CarrierName = (typeof carriers)[number];
/** Number of carriers at once. */
const open = carriers.length * 2;
/** Number of open messages of each carrier. */
const window = 8;

interface Prepared extends Posted {
  readonly whole: Buffer;
}

/** The message of an iteration, determined by its number. */
function prepare(iteration: number, carrier: CarrierName): Prepared {
  const choose = new Chooser(seed, iteration);
  const era = carrier === 'modern' || (carrier !== 'http' && choose.chance(0.4)) ? '2026-07-28' : '2025-11-25';
  const { message, headers } = validMessage(
    era,
    choose.of(['legacy', 'modern']),
    idOf(iteration),
    choose,
    idOf(iteration - open),
  );
  const isMutated = !choose.chance(0.1);
  const text = isMutated ? mutated(message, choose) : JSON.stringify(message);
  const isMangled = choose.chance(0.15);
  const body = isMangled ? mangled(text, choose) : Buffer.from(text);
  const hasOddHeaders = choose.chance(0.25);
  const given = hasOddHeaders ? mutatedHeaders(headers, choose) : headers;
  const method = choose.chance(0.02) ? choose.of(['GET', 'DELETE', 'PUT', 'OPTIONS']) : 'POST';
  const lines = Object.entries({
    host: '127.0.0.1',
    ...given,
    'content-type': 'application/json',
    accept: '*/*',
    'content-length': String(choose.chance(0.9) ? body.length : choose.below(9_999)),
  });
  const head = `${method} ${choose.of(['/mcp', '/mcp/legacy', '/sse', '/messages', '/ws', '//', '/mcp/%00', '/mcp?a=b', '/mcp/../x', '*', 'http://127.0.0.1/mcp'])} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  const isSound =
    !isMutated && !isMangled && ((carrier !== 'http' && carrier !== 'modern') || (!hasOddHeaders && method === 'POST'));
  const isRequest = 'method' in message && 'id' in message && message['method'] !== 'subscriptions/listen';
  return {
    body,
    headers: given,
    method,
    id: isSound && isRequest ? idOf(iteration) : undefined,
    whole: Buffer.concat([choose.chance(0.7) ? mangled(head, choose) : Buffer.from(head), body]),
  };
}

/** An id that is far from the numbers that mutations put into messages. */
function idOf(iteration: number): number {
  return 1_000_000 + iteration;
}

it.each(shapes)(
  'mutated messages of clients get a result or an error from the table, and no other client notices: %s',
  { timeout: testMs },
  async (shape) => {
    await using legacy = await HonestHttpServer.start('2025-11-25');
    await using modern = await HonestHttpServer.start('2026-07-28');
    await using innocent = await Innocent.start();
    const servers = {
      legacy: { url: legacy.url, era: 'legacy' },
      modern: { url: modern.url, era: 'modern' },
      innocent: innocent.server,
    };
    await using gateway = await startGateway(shape, { timeouts, mcpServers: servers }, measured);
    const stdioArgs =
      shape === 'embedded'
        ? [
            omnibusProgram,
            'stdio',
            '--config',
            await writeConfig({ timeouts, mcpServers: { legacy: servers.legacy, modern: servers.modern } }),
          ]
        : [omnibusProgram, 'stdio', '--connect', gateway.url];
    await innocent.begin(gateway.url);
    const before = await memoryOf(gateway);
    const failures = new Failures(`clients-${shape}`);
    const counts: Record<string, number> = { http: 0, modern: 0, raw: 0, websocket: 0, stdio: 0, sse: 0 };

    const start = (carrier: CarrierName): Carrier => {
      switch (carrier) {
        case 'http':
          return new HttpCarrier(gateway.url, true);
        case 'modern':
          return new HttpCarrier(gateway.url, false);
        case 'websocket':
          return new WebSocketCarrier(gateway.url);
        case 'stdio':
          return new StdioCarrier(stdioArgs);
        case 'sse':
          return new EventSourceCarrier(gateway.url);
        case 'raw':
          return {
            send: (posted) => sendRaw(gateway.url, (posted as Prepared).whole),
            [Symbol.asyncDispose]: () => Promise.resolve(),
          };
      }
    };
    const nameOf = (iteration: number): CarrierName => carriers[iteration % carriers.length] as CarrierName;
    const opened = new Map<number, Carrier>();
    const carrierOf = (iteration: number): Carrier => {
      const carrier = opened.get(iteration % open) ?? start(nameOf(iteration));
      opened.set(iteration % open, carrier);
      return carrier;
    };
    const isOn = goesOn(failures);
    const lane = async (first: number, step: number): Promise<void> => {
      const name = nameOf(first);
      const carrier = carrierOf(first);
      for (let iteration = first; isOn(iteration); iteration += step) {
        await innocent.served();
        const prepared = prepare(iteration, name);
        const problem = await carrier
          .send(prepared)
          .catch((error: unknown) => `the gateway cannot be reached: ${inspect(error)}`);
        counts[name] = (counts[name] ?? 0) + 1;
        if (problem !== undefined)
          failures.add({
            iteration,
            carrier: name,
            problem,
            input:
              name === 'raw'
                ? prepared.whole.toString('latin1')
                : `${JSON.stringify(prepared.headers)}\n${prepared.body.toString()}`,
          });
      }
    };
    if (only !== undefined) await lane(Number(only), Infinity);
    else await Promise.all(Array.from({ length: open * window }, (_, first) => lane(first, open * window)));
    for (const carrier of opened.values()) await carrier[Symbol.asyncDispose]();
    const starts = [...opened.values()].flatMap((carrier) => (carrier instanceof StdioCarrier ? [carrier.starts] : []));
    if (shape === 'embedded') expect(Math.max(1, ...starts)).toBe(1);

    await innocent.stop();
    say('clients', shape, counts, innocent, failures);
    expect(failures.list.join('\n\n')).toBe('');
    expect(innocent.wrong).toEqual([]);
    expect(innocent.calls).toBeGreaterThan(0);
    await expectSound(gateway, before);
  },
);
