/** Sinks that speak to somebody: each against a server that takes what it is told, fails for a while, and is back. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { asOcsf } from '../ocsf.ts';
import type { Sink } from '../sink.ts';
import { callOf, trailUnderTest, SinkUnderTest, verify } from '../trail-under-test.ts';
import { LedgerSink } from './ledger.ts';
import { OtlpSink } from './otlp.ts';
import { SyslogSink } from './syslog.ts';
import { WebhookSink } from './webhook.ts';

interface Receiver {
  readonly url: string;
  readonly posted: {
    readonly url: string;
    readonly body: string;
    readonly headers: Readonly<Record<string, unknown>>;
  }[];
  isDown: boolean;
}

async function receiver(): Promise<Receiver> {
  const posted: Receiver['posted'] = [];
  const made = { url: '', posted, isDown: false };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (!made.isDown)
        posted.push({ url: request.url ?? '', body: Buffer.concat(chunks).toString(), headers: request.headers });
      response.writeHead(made.isDown ? 503 : 200).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  made.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return made;
}

/** Writes some records while a sink is down, and closes when it has them. */
async function writeThrough(sink: Sink, setDown: (isDown: boolean) => void): Promise<void> {
  setDown(true);
  const { trail, counted } = trailUnderTest([{ sink, isOptional: false }]);
  for (let number = 0; number < 120; number += 1) trail.record(callOf(number));
  await expect.poll(() => counted.failed).toBe(1);
  setDown(false);
  await expect.poll(() => counted.recovered).toBe(1);
  await trail.close();
  expect(counted.dropped).toBe(0);
}

it('a webhook has every record in the end, as lines that can be verified', async () => {
  const server = await receiver();
  await writeThrough(
    new WebhookSink({ name: 'webhook', url: `${server.url}/audit`, headers: { authorization: 'Bearer x' } }),
    (isDown) => {
      server.isDown = isDown;
    },
  );
  expect(verify(server.posted.flatMap(({ body }) => body.trimEnd().split('\n')))).toMatchObject({
    findings: [],
    records: 122,
  });
  expect(server.posted[0]).toMatchObject({
    url: '/audit',
    headers: { authorization: 'Bearer x', 'content-type': 'application/x-ndjson' },
  });
});

it('a receiver of OpenTelemetry has every record as a log with its attributes', async () => {
  const server = await receiver();
  await writeThrough(
    new OtlpSink({ name: 'otlp', endpoint: server.url, headers: {}, resource: { 'service.name': 'omnibus' } }),
    (isDown) => {
      server.isDown = isDown;
    },
  );
  interface Log {
    readonly body: { readonly stringValue: string };
    readonly timeUnixNano: string;
    readonly attributes: readonly { readonly key: string; readonly value: unknown }[];
  }
  interface Body {
    readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly Log[] }[] }[];
  }
  const logs = server.posted.flatMap(({ body }) =>
    (JSON.parse(body) as Body).resourceLogs.flatMap(({ scopeLogs }) =>
      scopeLogs.flatMap(({ logRecords }) => logRecords),
    ),
  );
  expect(server.posted[0]?.url).toBe('/v1/logs');
  expect(verify(logs.map(({ body }) => body.stringValue))).toMatchObject({ findings: [], records: 122 });
  expect(logs[1]?.attributes).toContainEqual({ key: 'event.name', value: { stringValue: 'mcp.call' } });
  expect(logs[1]?.timeUnixNano).toMatch(/^\d{19}$/);
});

it('a syslog server has every record in frames of RFC 5424, also when it comes only later', async () => {
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('data', (chunk) => received.push(chunk));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await writeThrough(
    new SyslogSink({ name: 'syslog', host: '127.0.0.1', port, tls: undefined, hostname: 'host' }),
    (isDown) => {
      if (!isDown) server.listen(port, '127.0.0.1');
    },
  );
  const lines = (): string[] => {
    const found: string[] = [];
    for (let rest = Buffer.concat(received); rest.length > 0;) {
      const blank = rest.indexOf(' ');
      const length = Number(rest.subarray(0, blank).toString());
      found.push(rest.subarray(blank + 1, blank + 1 + length).toString());
      rest = rest.subarray(blank + 1 + length);
    }
    return found;
  };
  await expect.poll(() => lines()).toHaveLength(122);
  expect(lines()[1]).toMatch(/^<110>1 \d{4}-\d\d-\d\dT[\d:.]+Z host omnibus \d+ audit - \{"time"/);
  expect(verify(lines().map((line) => line.slice(line.indexOf('{')))).findings).toEqual([]);
});

it('a ledger is given a batch that failed once more as it was, so that one which came through is known', async () => {
  const kept = new Map<string, string>();
  let isDown = true;
  const sink = new LedgerSink({
    name: 'jetstream',
    append: (id, text) => {
      // It is kept, and only the answer is lost.
      const before = kept.get(id);
      expect(before ?? text).toBe(text);
      kept.set(id, text);
      return isDown ? Promise.reject(new Error('no answer')) : Promise.resolve();
    },
  });
  await writeThrough(sink, (down) => {
    isDown = down;
  });
  expect(verify([...kept.values()].flatMap((text) => text.split('\n')))).toMatchObject({ findings: [], records: 122 });
});

it('gives systems that collect OCSF what they know: requests, sign-ins and what users allow', async () => {
  const sink = new SinkUnderTest();
  const { trail } = trailUnderTest([{ sink: asOcsf(sink), isOptional: false }]);
  trail.record(
    callOf(1, {
      outcome: 'tool_error',
      who: { subject: 'ann', issuer: 'https://login.example.com', address: '10.0.0.1', client: 'editor' },
    }),
  );
  trail.record({ name: 'mcp.read', weight: 'read', method: 'resources/read', outcome: 'ok' });
  trail.record({ name: 'auth.refused', weight: 'refusal', outcome: 'denied', reason: 'auth.invalid' });
  trail.record({ name: 'consent.given', weight: 'always', outcome: 'ok', more: { scopes: ['mcp'] } });
  await trail.close();
  const [, call, read, refused, consent] = sink.records;
  expect(call).toMatchObject({
    class_uid: 6_003,
    type_uid: 600_399,
    status_id: 2,
    status_code: 'tool_error',
    actor: { user: { name: 'ann' }, app_uid: 'editor' },
    api: { operation: 'tools/call' },
    src_endpoint: { ip: '10.0.0.1' },
    resources: [{ name: 'tool-1' }],
  });
  expect(read).toMatchObject({ class_uid: 6_003, activity_id: 2, status_id: 1 });
  expect(refused).toMatchObject({ class_uid: 3_002, activity_id: 1, status_id: 2, status_code: 'auth.invalid' });
  expect(consent).toMatchObject({ class_uid: 3_005, privileges: ['mcp'], status_id: 1 });
});

it('a webhook that answers wrongly in every way is told again until it has stored the batch, and no other sink waits for it', async () => {
  const stored: string[] = [];
  let asked = 0;
  /** The ways, one after the other; then it behaves. Nothing of a batch counts as stored before an answer that says so. */
  const wrong: readonly ((response: ServerResponse) => void)[] = [
    (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    (response) => response.destroy(),
    (response) => response.writeHead(404).end('not here'),
    (response) => response.writeHead(500, { 'content-length': 10 }).write('half', () => response.destroy()),
  ];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      expect(request.url).toBe('/audit');
      const way = wrong[asked];
      asked += 1;
      if (way !== undefined) way(response);
      else {
        stored.push(...Buffer.concat(chunks).toString().trimEnd().split('\n'));
        response.writeHead(204).end();
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const steady = new SinkUnderTest('steady');
  const { trail, counted } = trailUnderTest([
    { sink: steady, isOptional: false },
    {
      sink: new WebhookSink({
        name: 'webhook',
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/audit`,
        headers: {},
      }),
      isOptional: false,
    },
  ]);
  for (let number = 0; number < 120; number += 1) trail.record(callOf(number));
  await expect.poll(() => steady.lines.length).toBeGreaterThanOrEqual(121);
  expect(trail.behind).toMatchObject([{ sink: 'steady', isFailing: false }, { sink: 'webhook' }]);
  await expect.poll(() => counted.recovered, { timeout: 20_000 }).toBe(1);
  await trail.close();
  expect([counted.failed, counted.dropped]).toEqual([1, 0]);
  for (const lines of [steady.lines, stored]) expect(verify(lines)).toMatchObject({ findings: [], records: 122 });
});
