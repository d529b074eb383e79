/**
 * Measures the inputs for the calculations of `docs/explanation/scale.md`, with three processes of the built gateway over a real NATS: `node scripts/scale-inputs.mjs
 * 200`. Messages are counted by NATS itself, at its monitoring port.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callTool, freePort, natsServes, openSession, pause, startRole, startServer } from './measured-gateway.mjs';

const count = Number(process.argv[2] ?? 200);
const folder = mkdtempSync(join(tmpdir(), 'omnibus-scale-'));
const children = [];

const upstream = await startServer(
  Array.from({ length: 10 }, (_, index) => ({
    name: `tool${index}`,
    description: 'does something that takes a sentence to say',
    inputSchema: { type: 'object', properties: { text: { type: 'string', description: 'some text' } } },
  })),
);
const [port, monitor] = [await freePort(), await freePort()];
const nats = spawn(
  'nats-server',
  ['-a', '127.0.0.1', '-p', String(port), '-m', String(monitor), '-js', '-sd', join(folder, 'js')],
  { stdio: 'ignore' },
);
children.push(nats);
const at = async (path) => (await fetch(`http://127.0.0.1:${monitor}/${path}`)).json();
await natsServes(monitor);

const parts = {};
for (const role of ['backend', 'session', 'edge']) {
  parts[role] = await startRole(role, port, join(folder, 'omnibus.json'), {
    mcpServers: { measured: { url: upstream.url } },
  });
  children.push(parts[role].child);
}
const { endpoint } = parts.edge;
const memory = async () =>
  new Map(
    await Promise.all(
      Object.entries(parts).map(async ([role, { admin }]) => [
        role,
        Number(
          /^process_resident_memory_bytes (\S+)/m.exec(await (await fetch(`http://${admin}/metrics`)).text())?.[1],
        ),
      ]),
    ),
  );
const traffic = async () => {
  const { in_msgs: said, in_bytes: bytes } = await at('varz');
  return { said, bytes };
};
/** Messages and bytes during an activity, without those of an idle time of the same length. */
const during = async (ms, work) => {
  const [idleFrom, idleAt] = [await traffic(), performance.now()];
  await pause(ms);
  const idleTo = await traffic();
  const perMs = {
    said: (idleTo.said - idleFrom.said) / (performance.now() - idleAt),
    bytes: (idleTo.bytes - idleFrom.bytes) / (performance.now() - idleAt),
  };
  const began = performance.now();
  await work();
  const [after, tookMs] = [await traffic(), performance.now() - began];
  return {
    idlePerSecond: { said: perMs.said * 1_000, bytes: perMs.bytes * 1_000 },
    each: {
      said: (after.said - idleTo.said - perMs.said * tookMs) / count,
      bytes: (after.bytes - idleTo.bytes - perMs.bytes * tookMs) / count,
    },
  };
};

const before = await memory();
const sessions = [];
const opening = await during(4_000, async () => {
  for (let index = 0; index < count; index += 1) sessions.push(await openSession(endpoint));
});
const calling = await during(4_000, async () => {
  for (const session of sessions) await callTool(endpoint, session, 'tool0');
});
await pause(2_000);
const after = await memory();
const { connections } = await at('connz?subs=1');
const {
  account_details: [{ stream_detail: streams }],
} = await at('jsz?streams=1&accounts=1');
const [sessionStream, catalog] = ['KV_omnibus-sessions', 'KV_omnibus-catalog'].map(
  (name) => streams.find((stream) => stream.name === name).state,
);
const rows = {
  'subscriptions of each process': Object.fromEntries(
    connections.map(({ name, subscriptions }) => [name, subscriptions]),
  ),
  'said a second while nothing is asked, all three processes': opening.idlePerSecond,
  'said for opening a session': opening.each,
  'said for a call': calling.each,
  'bytes of a session record in JetStream': sessionStream.bytes / sessionStream.messages,
  'bytes of a catalogue record (one server, ten tools)': catalog.bytes / catalog.messages,
  'bytes of memory for a session without a stream': Object.fromEntries(
    [...after].map(([role, bytes]) => [role, Math.round((bytes - before.get(role)) / count)]),
  ),
};
console.log(
  JSON.stringify(
    { sessions: count, ...rows },
    (_key, value) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value),
    2,
  ),
);
for (const child of children.toReversed()) {
  child.kill('SIGTERM');
  await once(child, 'exit');
}
upstream.server.close();
rmSync(folder, { recursive: true, force: true });
