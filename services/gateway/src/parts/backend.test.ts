import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { ConfigHistory } from '@omnibus/admin/history';
import { createLogger } from '@omnibus/telemetry';
import { compose } from '../compose.ts';
import type { Part } from '../part.ts';
import { auditing } from './audit.ts';
import { servers } from './backend.ts';
import { connectedBus } from './bus.ts';
import { signInPages } from './sign-in-pages.ts';
import { traces } from './tracing.ts';
import { vaults } from './vault.ts';
import { configOf } from '@omnibus/config/testing';

it('programs of servers end when a process cannot start with all of its servers', async () => {
  const baseFolder = await mkdtemp(join(tmpdir(), 'omnibus-servers-'));
  const file = join(baseFolder, 'pid');
  const program = `require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); process.stdin.resume()`;
  const text = JSON.stringify({
    mcpServers: {
      program: { command: process.execPath, args: ['-e', program] },
      address: { url: 'http://127.0.0.1:1' },
    },
  });
  const config = configOf(text);
  let pid = '';
  /** The bus refuses the calls of one server once the program of the other runs. */
  const refusing: Part = {
    name: 'a bus that refuses',
    start: (host) => {
      const bus = host.of(connectedBus);
      const subscribe = bus.subscribe.bind(bus);
      const refuse: typeof subscribe = async (to, ...rest) => {
        if (!to.name.includes('address')) return subscribe(to, ...rest);
        pid = await vi.waitUntil(() => readFile(file, 'utf8').catch(() => ''), { timeout: 20_000 });
        throw new Error('no permission');
      };
      Object.assign(bus, { subscribe: refuse });
      return { offers: undefined };
    },
  };
  const starting = compose(
    {
      config,
      baseFolder,
      role: 'all',
      isServing: false,
      log: createLogger({ level: 'silent', format: 'json' }),
      reload: () => Promise.resolve({ problems: [], later: [] }),
      history: new ConfigHistory('', undefined),
    },
    [connectedBus, refusing, auditing, traces, signInPages, vaults, servers],
  );
  await expect(starting).rejects.toThrow('the servers: no permission');
  expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
  await rm(baseFolder, { recursive: true });
});
