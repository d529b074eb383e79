/** The key that encrypts states for clients is configured for session workers, and is never sent over the bus. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Outsider, startNatsServer, type NatsServer } from '@omnibus/bus/testing';
import { startGatewayHere } from '../support/gateway-here.ts';
import { omnibusProgram, type RunningProcess, sealing, startProcess } from '../support/processes.ts';

let folder: string;
let nats: NatsServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-sealing-'));
  nats = await startNatsServer();
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function serve(
  security: object,
  env: Readonly<Record<string, string>>,
  ...more: string[]
): Promise<RunningProcess> {
  const file = join(folder, 'omnibus.json');
  await writeFile(file, JSON.stringify({ log: { format: 'json' }, mcpServers: {}, security }));
  return startProcess(
    'node',
    [omnibusProgram, 'serve', '-c', file, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', ...more],
    env,
  );
}

it.each([
  ['the role session', ['--role', 'session']],
  ['a whole gateway beside which there may be others', []],
])('over NATS, %s without a sealing key is refused, and told how to make one', async (_what, role) => {
  const running = await serve({}, {}, '--bus', nats.url, ...role);
  const [status] = (await once(running.child, 'close')) as [number];
  expect(status).toBe(78);
  expect(running.output()).toContain('set OMNIBUS_SEALING_KEY or OMNIBUS_SEALING_KEY_FILE, or security.sealingKeyFile');
  expect(running.output()).toContain('openssl rand -base64 32');
});

it.each([
  ['too short', 'c2hvcnQ=', 'at least 32 are needed'],
  ['not base64', '!'.repeat(44), 'is not base64'],
])('a sealing key that is %s is refused in words that do not repeat it', async (_what, key, problem) => {
  const running = await serve({}, { OMNIBUS_SEALING_KEY: key }, '--bus', nats.url, '--role', 'session');
  const [status] = (await once(running.child, 'close')) as [number];
  expect(status).toBe(78);
  expect(running.output()).toContain(problem);
  expect(running.output()).not.toContain(key);
});

it('a sealing key comes from a file beside the configuration', async () => {
  await using missing = await serve({ sealingKeyFile: 'none' }, {}, '--bus', nats.url, '--role', 'session');
  await once(missing.child, 'close');
  expect(missing.output()).toContain('cannot be read: ENOENT');
  await writeFile(join(folder, 'sealing-key'), `${randomBytes(32).toString('base64')}\n`);
  await using running = await serve({ sealingKeyFile: 'sealing-key' }, {}, '--bus', nats.url, '--role', 'session');
  await running.line(/"msg":"ready"/);
  await using told = await serve(
    {},
    { OMNIBUS_SEALING_KEY_FILE: join(folder, 'sealing-key') },
    '--bus',
    nats.url,
    '--role',
    'session',
  );
  await told.line(/"msg":"ready"/);
});

it('edges and backends start without a sealing key, and a gateway of one process makes its own', async () => {
  for (const more of [['--bus', nats.url, '--role', 'edge'], ['--bus', nats.url, '--role', 'backend'], []]) {
    await using running = await serve({}, {}, ...more);
    await running.line(/"msg":"ready"/);
  }
});

it('nothing that NATS stores contains the key', async () => {
  await using gateway = await startGatewayHere('nats', { mcpServers: {} });
  await using outsider = await Outsider.connect(gateway.bus as string);
  const stored = await outsider.buckets();
  expect(stored.has('omnibus-secrets')).toBe(false);
  expect([...stored.keys()]).toContain('omnibus-sessions');
  const key = Buffer.from(sealing.OMNIBUS_SEALING_KEY, 'base64');
  for (const values of stored.values())
    for (const value of values.values())
      for (const form of ['base64', 'base64url', 'hex'] as const) expect(value).not.toContain(key.toString(form));
});
