import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { Audit, AuditEvent } from '@omnibus/audit';
import { Blocks, MemoryBus } from '@omnibus/bus';
import { createLogger, Metrics } from '@omnibus/telemetry';
import type { AdminAccess } from './access.ts';
import { meteringRoutes } from './metering.ts';

it('who blocks somebody or something, and who takes it back, is on record', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const blocks = await Blocks.open(bus);
  const recorded: AuditEvent[] = [];
  const audit = (): Audit => ({
    isStrict: false,
    wantsResults: true,
    wants: () => true,
    record: (event) => void recorded.push(event),
    confirm: () => Promise.resolve(true),
  });
  const access = { of: () => ({ name: 'test|ann', roles: ['operator'], facts: undefined }) } as unknown as AdminAccess;
  const routes = meteringRoutes({
    access,
    kept: () => ({ bus, blocks }),
    hasServer: (name) => name === 'bank',
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    audit,
  });
  const run = (method: string, rest: string | undefined, body: object): unknown =>
    routes
      .find((route) => route.name === 'blocks' && route.method === method)
      ?.run({ request: { socket: new Socket(), headers: {} } as IncomingMessage, rest, body: JSON.stringify(body) });
  for (const [kind, name] of [
    ['user', 'ann'],
    ['user', 'key:ann '],
    ['key', 'omk_3f9c21d07ab4_secret'],
    ['tool', 'pay'],
    ['tool', 'bank/'],
    ['tool', 'bank/*'],
    ['server', '*'],
  ])
    expect(await run('POST', undefined, { kind, name }), name).toEqual({
      status: 422,
      text: expect.stringMatching(/^name: (?!.*secret)/) as string,
    });
  await run('POST', undefined, { kind: 'tool', name: 'bank/pay', forMs: 60_000, because: 'odd' });
  await run('DELETE', 'tool:bank/pay', {});
  await run('DELETE', 'tool:bank/pay', {}); // There is none any more.
  expect(recorded.map(({ name, outcome, more }) => ({ name, outcome, more }))).toEqual([
    {
      name: 'admin.block',
      outcome: 'ok',
      more: { by: 'test|ann', kind: 'tool', name: 'bank/pay', because: 'odd', for_ms: 60_000 },
    },
    { name: 'admin.unblock', outcome: 'ok', more: { by: 'test|ann', kind: 'tool', name: 'bank/pay' } },
  ]);
  expect(await run('POST', undefined, { kind: 'server', name: 'bnak' })).toEqual({
    status: 201,
    text: 'server bnak is blocked; there is no server "bnak" now\n',
  });
  expect(await run('POST', undefined, { kind: 'server', name: 'bank' })).toEqual({
    status: 201,
    text: 'server bank is blocked\n',
  });
  for (const name of ['https://login.example|ann', 'key:ann', 'p_x'])
    expect(await run('POST', undefined, { kind: 'user', name })).toMatchObject({ status: 201 });
  blocks.close();
});
