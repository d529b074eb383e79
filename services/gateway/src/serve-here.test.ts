import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveHere, type ServedHere } from './serve-here.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-here-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Serves a configuration file. @returns the gateway, its output and its file. */
async function serve(
  name: string,
  config: object,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly served: ServedHere; readonly log: string[]; readonly printed: string[]; readonly file: string }> {
  const file = join(folder, `${name}.json`);
  await writeFile(file, JSON.stringify(config));
  const [log, printed]: [string[], string[]] = [[], []];
  const served = await serveHere(
    { config: file, role: 'all', listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
    {
      env,
      log: { write: (line) => void log.push(line) },
      print: (text) => void printed.push(text),
      showPage: () => false,
    },
  );
  return { served, log, printed, file };
}

const listeners = (): number => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);

it('two gateways of one process have their own log, environment and addresses, and leave no listener of the process', async () => {
  const before = listeners();
  const [one, other] = await Promise.all([
    serve('one', { log: { level: '${LEVEL}' }, mcpServers: {} }, { LEVEL: 'warn' }),
    serve('other', { log: { level: '${LEVEL}' }, mcpServers: {} }, { LEVEL: 'info' }),
  ]);
  expect(one.served.endpoint).not.toBe(other.served.endpoint);
  expect(one.log).toEqual([]);
  expect(other.log.join('')).toContain('"msg":"ready"');
  expect(one.printed.join('')).toContain(one.served.endpoint);
  for (const { served } of [one, other]) expect((await fetch(`http://${served.adminAddress}/readyz`)).status).toBe(200);
  await one.served.stop();
  await expect(fetch(`http://${one.served.adminAddress}/readyz`)).rejects.toThrow();
  expect((await fetch(`http://${other.served.adminAddress}/readyz`)).status).toBe(200);
  await other.served.stop();
  expect(other.log.join('')).toContain('"msg":"stopped"');
  expect(listeners()).toBe(before);
});

it('a gateway follows its file', async () => {
  const { served, log, file } = await serve('followed', { mcpServers: {} });
  await writeFile(file, JSON.stringify({ mcpServers: {}, prefix: 'always' }));
  await expect.poll(() => log.join('')).toContain('the changed configuration is applied');
  await served.stop();
});

it('the error of a gateway that cannot start has all problems, and nothing is printed', async () => {
  const before = process.exitCode;
  await expect(serve('wrong', { listen: 'nowhere', mcpServers: 1 })).rejects.toThrow(
    /listen[\s\S]*\n[\s\S]*mcpServers/,
  );
  await expect(serve('reference', { listen: '${ADDRESS}', mcpServers: {} })).rejects.toThrow('ADDRESS');
  expect(process.exitCode).toBe(before);
});
