/** A worker that cannot start as a whole, on a bus that it shares with other processes. */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { ConfigHistory } from '@omnibus/admin/history';
import { subjects } from '@omnibus/bus';
import type { Role } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import { createLogger } from '@omnibus/telemetry';
import { compose } from '../compose.ts';
import type { Part } from '../part.ts';
import { parts } from '../parts.ts';
import { connectedBus } from './bus.ts';

/** Starts a process of this role. @returns why it did not start, and for each sign of life of its worker whether it leaves. */
async function failedStart(
  role: Role,
  listen: string,
  mayHear: (name: string) => boolean,
): Promise<{ readonly problem: unknown; readonly isLeaving: readonly boolean[] }> {
  const text = JSON.stringify({ mcpServers: {}, listen, admin: '127.0.0.1:0', timeouts: { drain: '1s' } });
  const config = configOf(text);
  const isLeaving: boolean[] = [];
  const shared: Part = {
    name: 'a bus that is shared',
    async start(host) {
      const bus = host.of(connectedBus);
      const note = (sign: { readonly isLeaving: boolean }): void => void isLeaving.push(sign.isLeaving);
      await bus.subscribe(subjects.edgePresence, note);
      await bus.subscribe(subjects.presence, note);
      const subscribe = bus.subscribe.bind(bus);
      const refuse: typeof subscribe = (to, ...rest) =>
        mayHear(to.name) ? subscribe(to, ...rest) : Promise.reject(new Error('no permission'));
      Object.assign(bus, { isShared: true, subscribe: refuse });
      return { offers: undefined };
    },
  };
  const at = parts.indexOf(connectedBus) + 1;
  const problem: unknown = await compose(
    {
      config,
      baseFolder: '.',
      role,
      isServing: true,
      log: createLogger({ level: 'silent', format: 'json' }),
      reload: () => Promise.resolve({ problems: [], later: [] }),
      history: new ConfigHistory('', undefined),
    },
    [...parts.slice(0, at), shared, ...parts.slice(at)],
  ).catch((error: unknown) => error);
  return { problem, isLeaving };
}

it('an edge that cannot listen says that it leaves: no other process waits for its signs of life', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { problem, isLeaving } = await failedStart('edge', `127.0.0.1:${port}`, () => true);
  expect(String(problem)).toMatch(`the edge: 127.0.0.1:${port}`);
  expect(isLeaving).toEqual([false, true]);
  other.close();
});

it('a session worker that the bus lets take no sessions says that it leaves: no edge sends it any', async () => {
  const { problem, isLeaving } = await failedStart('session', '127.0.0.1:0', (name) => !name.includes('session-open'));
  expect(String(problem)).toMatch('the session worker: no permission');
  expect(isLeaving).toEqual([false, true]);
});
