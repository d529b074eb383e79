/** The set-up at a cluster of NATS that lacks a node. For a single node see `effects.test.ts`. */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { startNatsCluster } from '../testing/nats-cluster.ts';
import { setUpNats, type SetUpOptions } from './setup.ts';
import { reservedBytes } from './streams.ts';

it('a set-up without all nodes says which streams lack replicas, and one that waits for the last node gives them these', async () => {
  await using cluster = await startNatsCluster(Math.ceil(reservedBytes() / 2 ** 20) + 64, 2);
  const [first, second, third] = cluster.nodes;
  const servers = `127.0.0.1:${first?.port},127.0.0.1:${second?.port}`;
  const run = async (options: Partial<SetUpOptions>): Promise<ReadonlySet<string>> => {
    const steps = await setUpNats({ servers, clientName: 'setup', connectTimeoutMs: 1, ...options }, undefined);
    return new Set(steps.map(({ did, changed, problem = '-' }) => [did, problem, ...changed].join(' ')));
  };
  const short =
    'it is there and works, with 1 of 3 replicas, since nodes of NATS are missing: run this again when they are there, or with --replicas 1 if there are no more';
  expect(await run({})).toEqual(new Set([`failed ${short}`]));
  expect(await run({})).toEqual(new Set([`failed ${short}`]));
  expect(await run({ replicas: 1 })).toEqual(new Set(['left -']));
  const said: string[] = [];
  const waiting = (problem: string): void => {
    if (said.push(problem) === 1) void third?.start();
  };
  expect(await run({ connectTimeoutMs: 120_000, waiting })).toEqual(new Set(['updated - num_replicas']));
  expect(said[0]).toBe('fewer than 3 nodes of NATS with JetStream answer');
  const connection = await connect({ servers: servers.split(',') });
  const manager = await jetstreamManager(connection);
  expect((await manager.streams.info('KV_omnibus-sessions')).config.num_replicas).toBe(3);
  await connection.close();
}, 120_000);

it('a set-up whose nodes have no room for all streams says so at once, and does not wait for nodes', async () => {
  await using cluster = await startNatsCluster(100);
  const servers = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const steps = await setUpNats({ servers, clientName: 'setup', connectTimeoutMs: 3_600_000 }, undefined);
  const problems = steps.flatMap(({ did, problem }) => (did === 'failed' ? [problem] : []));
  expect(problems.length).toBeGreaterThan(0);
  for (const problem of problems)
    expect(problem).toMatch(
      /^JetStream has no room for the stream .*give it more storage|^it is there and works, with 1 of 3 replicas, since nodes of NATS have no room for the others/,
    );
}, 120_000);
