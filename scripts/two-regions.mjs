/**
 * Measures the figures of docs/explanation/scale.md for two regions: two NATS clusters joined by a gateway, with processes of Omnibus in each, and a link with the
 * latency of one between continents: `node scripts/two-regions.mjs [MILLISECONDS ONE WAY] [CALLS]`. Also measures the throughput of one NATS with a
 * publisher that does nothing else. Traffic between the regions is counted by NATS itself, at its monitoring port.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  callTool,
  freePort,
  listening,
  natsServes,
  openSession,
  pause,
  startRole,
  startServer,
} from './measured-gateway.mjs';
import { natsThroughput } from './nats-throughput.mjs';

const oneWayMs = Number(process.argv[2] ?? 20);
const count = Number(process.argv[3] ?? 300);
const folder = mkdtempSync(join(tmpdir(), 'omnibus-regions-'));
const children = [];

/** A proxy to a port with latency: bytes arrive in order, each delayed by the same time. */
const farFrom = async (port) => {
  const pass = (from, to) => {
    from.on('data', (chunk) => setTimeout(() => to.write(chunk), oneWayMs));
    from.on('close', () => setTimeout(() => to.destroy(), oneWayMs));
    from.on('error', () => undefined);
  };
  const server = createServer((socket) => {
    const other = connect(port, '127.0.0.1');
    for (const each of [socket, other]) each.setNoDelay(true);
    pass(socket, other);
    pass(other, socket);
  });
  return listening(server);
};

const ports = Object.fromEntries(
  await Promise.all(
    ['east', 'west'].map(async (name) => [
      name,
      { client: await freePort(), monitor: await freePort(), routes: await freePort(), gateway: await freePort() },
    ]),
  ),
);
const farPorts = { east: await farFrom(ports.east.gateway), west: await farFrom(ports.west.gateway) };
const startNats = async (name) => {
  const { client, monitor, routes, gateway } = ports[name];
  const other = name === 'east' ? 'west' : 'east';
  const file = join(folder, `${name}.conf`);
  // Each cluster is connected to the other by the slow link; a gateway must not advertise a direct address.
  writeFileSync(
    file,
    `server_name: ${name}-1\nlisten: 127.0.0.1:${client}\nhttp: 127.0.0.1:${monitor}\ncluster { name: ${name}, listen: 127.0.0.1:${routes}, routes: ["nats://127.0.0.1:${routes}"] }
gateway { name: ${name}, listen: 127.0.0.1:${gateway}, advertise: "127.0.0.1:${farPorts[name]}", gateways: [{ name: ${other}, url: "nats://127.0.0.1:${farPorts[other]}" }] }
jetstream { store_dir: ${JSON.stringify(join(folder, name))}, domain: hub }
accounts { SYS { users: [{ user: sys, password: sys }] }, APP { jetstream: enabled, users: [{ user: app, password: app }] } }\nsystem_account: SYS\nno_auth_user: app\n`,
  );
  children.push(spawn('nats-server', ['--config', file], { stdio: 'ignore' }));
  await natsServes(monitor);
};
await Promise.all([startNats('east'), startNats('west')]);

const { url, server: upstream } = await startServer([{ name: 'echo', inputSchema: { type: 'object' } }]);

/** Starts a process of one role in a region; `servers` as in its configuration. */
const start = async (region, role, mcpServers) => {
  const file = join(folder, `${region}-${role}-${children.length}.json`);
  const part = await startRole(role, ports[region].client, file, { prefix: 'always', nats: { region }, mcpServers });
  children.push(part.child);
  return part;
};
const both = { both: { url }, eastern: { url } };
await start('east', 'backend', both);
await start('west', 'backend', { both: { url } });
const eastSession = await start('east', 'session', both);
await start('west', 'session', both);
const [eastEdge, westEdge] = [await start('east', 'edge', both), await start('west', 'edge', both)];
await pause(3_000);

const call = async (endpoint, session, server) =>
  (await callTool(endpoint, session, `${server}__echo`)).includes('xxxx');
const crossed = async () => {
  const { outbound_gateways: outbound } = await (await fetch(`http://127.0.0.1:${ports.east.monitor}/gatewayz`)).json();
  const {
    west: { connection },
  } = outbound;
  const { outbound_gateways: back } = await (await fetch(`http://127.0.0.1:${ports.west.monitor}/gatewayz`)).json();
  return connection.out_msgs + back.east.connection.out_msgs;
};
const percentile = (sorted, part) =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] * 10) / 10;
const measure = async (endpoint, session, server) => {
  for (let index = 0; index < 20; index += 1) await call(endpoint, session, server);
  const idleFrom = await crossed();
  const idleAt = performance.now();
  await pause(2_000);
  const idlePerMs = ((await crossed()) - idleFrom) / (performance.now() - idleAt);
  const times = [];
  let wrong = 0;
  const [from, began] = [await crossed(), performance.now()];
  for (let index = 0; index < count; index += 1) {
    const at = performance.now();
    if (!(await call(endpoint, session, server))) wrong += 1;
    times.push(performance.now() - at);
  }
  const tookMs = performance.now() - began;
  const sorted = times.toSorted((a, b) => a - b);
  return {
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    crossedPerCall: Math.round((((await crossed()) - from - idlePerMs * tookMs) / count) * 10) / 10,
    wrong,
  };
};

const eastOne = await openSession(eastEdge.endpoint);
const westOne = await openSession(westEdge.endpoint);
const rows = {
  'everything in one region': await measure(eastEdge.endpoint, eastOne, 'both'),
  'the edge in the other region (a client that moved)': await measure(westEdge.endpoint, eastOne, 'both'),
  'the adapter in the other region (none in its own)': await measure(westEdge.endpoint, westOne, 'eastern'),
};
// The worker of the east region is killed: its sessions continue in the west, used through edges of both regions.
const takenOver = {};
const sessions = [];
for (let index = 0; index < 20; index += 1) sessions.push(await openSession(eastEdge.endpoint));
for (const session of sessions) await call(eastEdge.endpoint, session, 'both');
await pause(1_500);
eastSession.child.kill('SIGKILL');
const killedAt = performance.now();
const answered = await Promise.all(
  sessions.map(async (session, index) => {
    const endpoint = index % 2 === 0 ? eastEdge.endpoint : westEdge.endpoint;
    while (!(await call(endpoint, session, 'both').catch(() => false))) await pause(20);
    return performance.now() - killedAt;
  }),
);
answered.sort((a, b) => a - b);
takenOver.p50Ms = percentile(answered, 0.5);
takenOver.slowestMs = percentile(answered, 1);
const idle = await (async () => {
  const [from, at] = [await crossed(), performance.now()];
  await pause(4_000);
  return Math.round((((await crossed()) - from) / (performance.now() - at)) * 10_000) / 10;
})();
for (const child of children.splice(0).toReversed()) {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
const throughput = await natsThroughput();
console.log(
  JSON.stringify(
    {
      load: loadavg()[0],
      oneWayMs,
      calls: count,
      ...rows,
      'from the kill of a session worker to the answer of its sessions elsewhere': takenOver,
      'crosses a second while nobody asks anything': idle,
      nats: throughput,
    },
    undefined,
    2,
  ),
);
upstream.close();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
