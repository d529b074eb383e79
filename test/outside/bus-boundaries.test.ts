/** Errors that no other code catches are handled at last. */
import { expect, it } from 'vitest';
import { fixturePath, omnibusProgram, onPurpose, sealing, startProcess } from '../support/processes.ts';
import { shapesOfLane, startGateway, writeConfig } from '../support/gateway.ts';
import { metricsOf } from '../support/metrics.ts';
import { RawClient } from '../support/raw-client.ts';

/** A bug that a test triggers in a process that runs as built. */
const bugs = `
process.on('SIGUSR2', () => {
  void Promise.reject(new Error('nobody waits for this: ${onPurpose}'));
  setImmediate(() => { throw new Error('nobody catches this: ${onPurpose}'); });
});`;
const environment = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(bugs)}` };

it.each(shapesOfLane)(
  'an uncaught rejection and an uncaught exception are logged and counted, and the process goes on, %s',
  async (shape) => {
    await using gateway = await startGateway(shape, { mcpServers: {} }, environment);
    using client = await RawClient.open(gateway.url);
    for (const running of new Set(gateway.processes)) {
      running.kill('SIGUSR2');
      const [rejection, exception] = await Promise.all([
        running.line(/nobody waits for this/),
        running.line(/nobody catches this/),
      ]);
      for (const { input } of [rejection, exception])
        expect(JSON.parse(input)).toMatchObject({
          level: 50,
          err: { stack: expect.stringContaining('at ') as string },
        });
      const values = await metricsOf(running);
      expect([
        values.get('omnibus_faults_total{part="rejection"}'),
        values.get('omnibus_faults_total{part="exception"}'),
      ]).toEqual([1, 1]);
    }
    expect((await client.request('ping')).last.result).toEqual({});
  },
);

it('a gateway on stdin and stdout goes on after an uncaught exception', async () => {
  const file = await writeConfig({ mcpServers: { local: { command: 'node', args: [fixturePath('stdio-server')] } } });
  await using running = startProcess('node', [omnibusProgram, 'stdio', '--config', file], environment, 'pipe');
  const say = (message: object): unknown => running.child.stdin?.write(`${JSON.stringify(message)}\n`);
  say({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  });
  await running.line(/"id":1,"result"/);
  running.kill('SIGUSR2');
  await Promise.all([running.line(/nobody waits for this/), running.line(/nobody catches this/)]);
  say({ jsonrpc: '2.0', id: 2, method: 'ping' });
  await running.line(/"id":2,"result":\{\}/);
  running.child.stdin?.end();
});

it('an exception while a gateway starts ends it', async () => {
  const file = await writeConfig({
    mcpServers: {},
    admin: '127.0.0.1:0',
    listen: '127.0.0.1:0',
    bus: 'nats://127.0.0.1:1',
  });
  await using running = startProcess('node', [omnibusProgram, 'serve', '--config', file], {
    ...sealing,
    ...environment,
  });
  await running.line(/waiting for the bus/);
  const status = new Promise((resolve) => {
    running.child.once('close', resolve);
  });
  running.kill('SIGUSR2');
  expect(await status).not.toBe(0);
});
