/**
 * Clients that get everything wrong, over every carrier and in both eras, in front of honest servers. Each iteration follows from the seed
 * and its own number: `OMNIBUS_FUZZ_SEED=S OMNIBUS_FUZZ_ONLY=N` has one again.
 */
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { root } from '../support/processes.ts';
import { shapes, startGateway, writeConfig } from '../support/gateway.ts';
import { EventSourceCarrier, HttpCarrier, sendRaw, StdioCarrier, WebSocketCarrier, type Carrier, type Posted } from './carriers.ts';
import { HonestHttpServer } from './http-server.ts';
import { Chooser, mangled, mutated } from './mutate.ts';
import { expectSound, Failures, Innocent, memoryOf, only, runMs, say, seed, timeouts } from './run.ts';
import { mutatedHeaders, validMessage } from './traffic.ts';

const carriers = ['http', 'http', 'http', 'modern', 'modern', 'modern', 'raw', 'websocket', 'websocket', 'stdio', 'sse', 'http'] as const;
/** Workers of each, at once. */
const lanes = 2;

interface Prepared extends Posted {
  readonly whole: Buffer;
}

/** What an iteration sends, from its number alone. */
function prepare(iteration: number, carrier: (typeof carriers)[number]): Prepared {
  const choose = new Chooser(seed, iteration);
  const era = carrier === 'modern' || (carrier !== 'http' && choose.chance(0.4)) ? '2026-07-28' : '2025-11-25';
  const { message, headers } = validMessage(era, choose.of(['legacy', 'modern']), iteration, choose);
  const text = choose.chance(0.1) ? JSON.stringify(message) : mutated(message, choose);
  const body = choose.chance(0.15) ? mangled(text, choose) : Buffer.from(text);
  const given = choose.chance(0.25) ? mutatedHeaders(headers, choose) : headers;
  const method = choose.chance(0.02) ? choose.of(['GET', 'DELETE', 'PUT', 'OPTIONS']) : 'POST';
  const lines = Object.entries({ host: '127.0.0.1', ...given, 'content-type': 'application/json', 'accept': '*/*', 'content-length': String(choose.chance(0.9) ? body.length : choose.below(9_999)) });
  const head = `${method} ${choose.of(['/mcp', '/mcp/legacy', '/sse', '/messages', '/ws', '//', '/mcp/%00', '/mcp?a=b', '/mcp/../x', '*', 'http://127.0.0.1/mcp'])} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return { body, headers: given, method, whole: Buffer.concat([choose.chance(0.7) ? mangled(head, choose) : Buffer.from(head), body]) };
}

it.each(shapes)('mutated messages of clients get a result or an error from the table, and nobody else notices: %s', { timeout: runMs + 240_000 }, async (shape) => {
  await using legacy = await HonestHttpServer.start('2025-11-25');
  await using modern = await HonestHttpServer.start('2026-07-28');
  await using innocent = await Innocent.start();
  const servers = { legacy: { url: legacy.url, era: 'legacy' }, modern: { url: modern.url, era: 'modern' }, innocent: innocent.server };
  await using gateway = await startGateway(shape, { timeouts, mcpServers: servers });
  const program = join(root, 'services/gateway/dist/main.js');
  const stdioArgs = shape === 'embedded' ? [program, 'stdio', '--config', await writeConfig({ timeouts, mcpServers: { legacy: servers.legacy, modern: servers.modern } })] : [program, 'stdio', '--connect', gateway.url];
  await innocent.begin(gateway.url);
  const before = memoryOf(gateway);
  const failures = new Failures(`clients-${shape}`);
  const counts: Record<string, number> = { http: 0, modern: 0, raw: 0, websocket: 0, stdio: 0, sse: 0 };

  const open = (carrier: (typeof carriers)[number]): Carrier | undefined => {
    switch (carrier) {
      case 'http': return new HttpCarrier(gateway.url, true);
      case 'modern': return new HttpCarrier(gateway.url, false);
      case 'websocket': return new WebSocketCarrier(gateway.url);
      case 'stdio': return new StdioCarrier(stdioArgs);
      case 'sse': return new EventSourceCarrier(gateway.url);
      case 'raw': return undefined;
    }
  };
  const endsAt = Date.now() + runMs;
  const lane = async (first: number, step: number): Promise<void> => {
    const name = carriers[first % carriers.length] as (typeof carriers)[number];
    const carrier = open(name);
    for (let iteration = first; Date.now() < endsAt && failures.list.length < 20; iteration += step) {
      const prepared = prepare(iteration, name);
      const problem = await (carrier === undefined ? sendRaw(gateway.url, prepared.whole) : carrier.send(prepared)).catch((error: unknown) => `the gateway cannot be reached: ${inspect(error)}`);
      counts[name] = (counts[name] ?? 0) + 1;
      if (problem !== undefined) failures.add({ iteration, carrier: name, problem, input: carrier === undefined ? prepared.whole.toString('latin1') : `${JSON.stringify(prepared.headers)}\n${prepared.body.toString()}` });
      if (only !== undefined) break;
    }
    await carrier?.[Symbol.asyncDispose]();
    if (carrier instanceof StdioCarrier && shape === 'embedded') expect(carrier.starts).toBeLessThanOrEqual(1);
  };
  if (only !== undefined) await lane(Number(only), 1);
  else await Promise.all(Array.from({ length: carriers.length * lanes }, (_, first) => lane(first, carriers.length * lanes)));

  await innocent.stop();
  say('clients', shape, counts, innocent, failures);
  expect(failures.list.join('\n\n')).toBe('');
  expect(innocent.wrong).toEqual([]);
  expect(innocent.calls).toBeGreaterThan(0);
  await expectSound(gateway, before);
});
