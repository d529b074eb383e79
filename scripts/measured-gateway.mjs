/** The parts that measurements of the built gateway need: a server with equal answers, processes over NATS, and requests of a client. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = join(dirname(fileURLToPath(import.meta.url)), '..', 'services/gateway/dist/main.js');

export const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));

/** @returns the port at which the server listens. */
export async function listening(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

export async function freePort() {
  const server = createServer();
  const port = await listening(server);
  server.close();
  return port;
}

/** Waits until the NATS server with this monitoring port serves. */
export async function natsServes(monitor) {
  const serves = () =>
    fetch(`http://127.0.0.1:${monitor}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await serves())) await pause(100);
}

/** A server of 2025-11-25, whose calls are answered with 100 letters. @returns its address, and the server. */
export async function startServer(tools) {
  const answers = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'measured', version: '1' },
    },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: 'x'.repeat(100) }] },
  };
  const server = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const { id, method } = request.method === 'POST' ? JSON.parse(body) : {};
      const result = answers[method];
      const answer = result === undefined ? { error: { code: -32601, message: 'no' } } : { result };
      if (request.method !== 'POST') response.writeHead(405).end();
      else if (id === undefined) response.writeHead(202).end();
      else
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
  });
  return { url: `http://127.0.0.1:${await listening(server)}/mcp`, server };
}

/** Starts a process of one role, and waits until it is ready. @param file where its configuration is written. */
export async function startRole(role, natsPort, file, config) {
  writeFileSync(file, JSON.stringify({ log: { format: 'json' }, ...config }));
  const child = spawn(
    process.execPath,
    [
      program,
      'serve',
      '-c',
      file,
      '-l',
      '127.0.0.1:0',
      '-a',
      '127.0.0.1:0',
      '-r',
      role,
      '-b',
      `nats://127.0.0.1:${natsPort}`,
    ],
    {
      env: { ...process.env, OMNIBUS_SEALING_KEY: Buffer.alloc(32, 7).toString('base64') },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const part = { child, endpoint: undefined, admin: undefined };
  for await (const line of createInterface({ input: child.stderr })) {
    const { endpoint, admin, msg } = JSON.parse(line);
    part.endpoint ??= endpoint;
    part.admin ??= admin;
    if (msg === 'ready') break;
  }
  child.stderr.resume();
  return part;
}

/** Posts one message. @returns the text of the answer, and the session. */
async function post(endpoint, body, session) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  });
  return { text: await response.text(), session: response.headers.get('mcp-session-id') };
}

/** @returns the id of a new session. */
export async function openSession(endpoint) {
  const { session } = await post(endpoint, {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'measure', version: '1' } },
  });
  await post(endpoint, { method: 'notifications/initialized' }, session);
  return session;
}

/** @returns the text of the answer. */
export async function callTool(endpoint, session, name) {
  const params = { name, arguments: { text: 'y'.repeat(100) } };
  return (await post(endpoint, { id: 2, method: 'tools/call', params }, session)).text;
}
