/** Requests without a session of hostile clients, through the gateway as built. */
import type { JsonObject } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { EraServer } from '../matrix/era-server.ts';
import { shapesOfLane, startGateway } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';

const capabilities = { elicitation: { form: {} }, roots: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** Creates a task that needs input. @returns its id and the key of its question. */
async function needy(client: ModernClient): Promise<{ readonly taskId: string; readonly key: string }> {
  const { last } = await client.call('task');
  const taskId = last.result?.['taskId'] as string;
  for (;;) {
    const state = await client.request('tasks/get', { taskId });
    const [key] = Object.keys((state.last.result?.['inputRequests'] ?? {}) as JsonObject);
    if (key !== undefined) return { taskId, key };
  }
}

it.each(shapesOfLane)(
  "a client cannot answer the question of another client's task with its updates, %s",
  async (shape) => {
    await using server = await EraServer.start('2025-11-25');
    await using gateway = await startGatewayHere(shape, { mcpServers: { up: { url: server.url } } });
    using probe = await RawClient.open(gateway.url);
    await probe.untilTools((names) => names.includes('task'));
    using owner = new ModernClient(gateway.url, capabilities);
    using attacker = new ModernClient(gateway.url, capabilities);
    const [mine, others] = [await needy(owner), await needy(attacker)];
    const worker = /^session-[\w-]+/.exec(mine.key)?.[0] ?? 'session';
    const guesses = Object.fromEntries(
      [mine.key, ...Array.from({ length: 20 }, (_, count) => `${worker}.${count}`)].map((key) => [
        key,
        { roots: [{ uri: 'file:///of/the/attacker' }] },
      ]),
    );
    const { last } = await attacker.request('tasks/update', { taskId: others.taskId, inputResponses: guesses });
    expect(last.result?.['resultType']).toBe('complete');
    await owner.request('tasks/update', {
      taskId: mine.taskId,
      inputResponses: { [mine.key]: { roots: [{ uri: 'file:///of/the/owner' }] } },
    });
    const [first] = await server.answers.until(1);
    expect(JSON.stringify(first)).toContain('of/the/owner');
    await attacker.request('tasks/update', { taskId: others.taskId, inputResponses: { [others.key]: { roots: [] } } });
    const answers = await server.answers.until(2);
    expect(JSON.stringify(answers)).not.toContain('of/the/attacker');
  },
);

it('a client that leaves the questions of its calls unanswered takes no capacity from others', async () => {
  await using server = await EraServer.start('2025-11-25');
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { up: { url: server.url } },
    limits: { maxInFlightPerSession: 3, maxParkedPerClient: 100 },
  });
  using probe = await RawClient.open(gateway.url);
  await probe.untilTools((names) => names.includes('form'));
  using parks = new ModernClient(gateway.url);
  for (let count = 0; count < 6; count += 1)
    required(await parks.request('tools/call', { name: 'form', arguments: { say: `question ${count}` } }));
  using other = new ModernClient(gateway.url);
  expect((await other.request('tools/call', { name: 'echo', arguments: { say: 'hello' } })).last.result).toMatchObject({
    content: [{ type: 'text', text: 'hello' }],
  });
});

it('a backend that is paused for three seconds keeps its calls', async () => {
  await using server = await EraServer.start('2025-11-25');
  await using gateway = await startGateway('nats', { mcpServers: { up: { url: server.url } } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('form'));
  const session = gateway.processes.find((part) => part !== gateway.edge && part !== gateway.backend);
  using modern = new ModernClient(gateway.url);
  const { requests, requestState } = required(await modern.call('form'));
  gateway.backend.kill('SIGSTOP');
  await session?.line(/backend workers are gone/);
  gateway.backend.kill('SIGCONT');
  const [key = ''] = Object.keys(requests);
  const { last } = await modern.call('form', {
    requestState,
    inputResponses: { [key]: { action: 'accept', content: { answer: 'after the pause' } } },
  });
  expect(JSON.stringify(last.result)).toContain('after the pause');
});
