import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { loadConfig } from '@omnibus/config';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { AdminAccess } from './access.ts';
import { adminRoutes } from './acts.ts';
import { Recovery, recoveryProof } from './recovery.ts';

it('who has tried to recover the port without the key has done nothing, and is counted as refused', async () => {
  const key = randomBytes(32);
  const loaded = loadConfig({ file: 'test', text: '{}', env: {}, readFile: () => '' });
  if (!('config' in loaded)) expect.fail('the configuration is wrong');
  const [metrics, log, recovery] = [new Metrics({ processMetrics: false }), createLogger({ level: 'silent', format: 'json' }), new Recovery([key])];
  const config = (): typeof loaded.config => loaded.config;
  const access = new AdminAccess({ config, authenticator: () => undefined, recovery, metrics, log });
  const route = adminRoutes({ config, baseFolder: '/', access, recovery, metrics, log, reload: () => Promise.resolve([]) }).find(({ name, method }) => name === 'recovery' && method === 'POST') ?? expect.fail('there is no such act');
  const statusOf = async (proofKey: Buffer): Promise<number> => {
    const question = recovery.question();
    return (await route.run({ request: { socket: new Socket(), headers: {} } as IncomingMessage, rest: undefined, body: JSON.stringify({ question, proof: recoveryProof(proofKey, question) }) })).status;
  };
  expect([await statusOf(randomBytes(32)), await statusOf(randomBytes(32)), await statusOf(key)]).toEqual([403, 403, 200]);
  const text = await metrics.text();
  expect(text).toContain('omnibus_admin_acts_total{act="recovery"} 1');
  expect(text).toContain('omnibus_admin_refusals_total{act="recovery",why="unknown"} 2');
});
