/**
 * Measures the inputs for the calculations of `docs/explanation/scale.md`, with three processes of the built gateway over a real NATS: `node scripts/scale-inputs.mjs
 * 200`. Messages are counted by NATS itself, at its monitoring port.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const count = Number(process.argv[2] ?? 200);
const folder = mkdtempSync(join(tmpdir(), 'omnibus-scale-'));
const children = [];
const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
};
const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));

/** A server of 2025-11-25 with ten tools. */
const tools = Array.from({ length: 10 }, (_, index) => ({
  name: `tool${index}`,
  description: 'does something that takes a sentence to say',
  inputSchema: { type: 'object', properties: { text: { type: 'string', description: 'some text' } } },
}));
const answers = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'measured', version: '1' },
  },
  'tools/list': { tools },
  'tools/call': { content: [{ type: 'text', text: 'x'.repeat(100) }] },
};
const upstream = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const { id, method } = request.method === 'POST' ? JSON.parse(body) : {};
    if (request.method !== 'POST') response.writeHead(405).end();
    else if (id === undefined) response.writeHead(202).end();
    else
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          ...(answers[method] === undefined ? { error: { code: -32601, message: 'no' } } : { result: answers[method] }),
        }),
      );
  });
}).listen(0, '127.0.0.1');
await once(upstream, 'listening');

const [port, monitor] = [await freePort(), await freePort()];
const nats = spawn(
  'nats-server',
  ['-a', '127.0.0.1', '-p', String(port), '-m', String(monitor), '-js', '-sd', join(folder, 'js')],
  { stdio: 'ignore' },
);
children.push(nats);
const at = async (path) => (await fetch(`http://127.0.0.1:${monitor}/${path}`)).json();
while (
  !(await at('healthz').then(
    () => true,
    () => false,
  ))
)
  await pause(100);

const config = join(folder, 'omnibus.json');
writeFileSync(
  config,
  JSON.stringify({
    log: { format: 'json' },
    mcpServers: { measured: { url: `http://127.0.0.1:${upstream.address().port}/mcp` } },
  }),
);
const endpoints = [];
const admins = [];
for (const role of ['backend', 'session', 'edge']) {
  const child = spawn(
    'node',
    [
      join(root, 'services/gateway/dist/main.js'),
      'serve',
      '-c',
      config,
      '-l',
      '127.0.0.1:0',
      '-a',
      '127.0.0.1:0',
      '-r',
      role,
      '-b',
      `nats://127.0.0.1:${port}`,
    ],
    {
      env: { ...process.env, OMNIBUS_SEALING_KEY: Buffer.alloc(32, 7).toString('base64') },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  children.push(child);
  for await (const line of createInterface({ input: child.stderr })) {
    const { endpoint, admin, msg } = JSON.parse(line);
    if (endpoint !== undefined) endpoints.push(endpoint);
    if (admin !== undefined) admins.push([role, admin]);
    if (msg === 'ready') break;
  }
  child.stderr.resume();
}
const post = async (body, session) => {
  const response = await fetch(endpoints[0], {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  });
  await response.text();
  return response.headers.get('mcp-session-id');
};
const memory = async () =>
  new Map(
    await Promise.all(
      admins.map(async ([role, admin]) => [
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
  for (let index = 0; index < count; index += 1) {
    const session = await post({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'measure', version: '1' } },
    });
    await post({ method: 'notifications/initialized' }, session);
    sessions.push(session);
  }
});
const calling = await during(4_000, async () => {
  for (const session of sessions)
    await post(
      { id: 2, method: 'tools/call', params: { name: 'tool0', arguments: { text: 'y'.repeat(100) } } },
      session,
    );
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
upstream.close();
rmSync(folder, { recursive: true, force: true });
