/** Sinks over the network: each against a server that stores its batches, fails for a while, and is back. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { readCheckpointKey, type Checkpoint, type CheckpointKey } from '../checkpoint.ts';
import { asOcsf } from '../ocsf.ts';
import { linesOfEntry } from '../search/files.ts';
import { sha256 } from '../sha256.ts';
import type { Sink } from '../sink.ts';
import type { TrailOptions } from '../trail.ts';
import { callOf, trailUnderTest, SinkUnderTest, verify } from '../trail-under-test.ts';
import { Verifier, type VerifyResult } from '../verify/verify.ts';
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

/** A ledger as NATS keeps it: an entry must follow the last one of its writer. */
class LedgerUnderTest {
  readonly entries: { readonly writer: string; readonly text: string; readonly number: number }[] = [];
  readonly foreign = new Error('another process has written');
  /** Whether entries are stored and their answers are lost. */
  isMute = false;
  readonly #own = new Map<string, number>();

  add(writer: string, text: string): number {
    this.entries.push({ writer, text, number: this.entries.length + 1 });
    return this.entries.length;
  }

  append(writer: string, text: string): Promise<number> {
    const last = this.entries.findLast((entry) => entry.writer === writer);
    if (last?.text !== text && (last?.number ?? 0) !== (this.#own.get(writer) ?? 0))
      return Promise.reject(this.foreign);
    const number = last?.text === text ? last.number : this.add(writer, text);
    if (this.isMute) return Promise.reject(new Error('no answer'));
    this.#own.set(writer, number);
    return Promise.resolve(number);
  }

  /** A trail that writes to it, and goes on as `next-1`, `next-2` and so on where it has to. */
  trail(more: Partial<TrailOptions> = {}): ReturnType<typeof trailUnderTest> {
    let chains = 0;
    const sink = new LedgerSink({
      name: 'jetstream',
      writer: 'session-under-test',
      append: (writer, text) => this.append(writer, text),
      isForeign: (error) => error === this.foreign,
      broken: (writer, entry) => {
        chains += 1;
        made.trail.begin(`next-${chains}`, { writer, entry });
        return `next-${chains}`;
      },
    });
    const made = trailUnderTest([{ sink, isOptional: false }], more);
    return made;
  }

  verified(checkpoints: readonly Checkpoint[] = [], key?: CheckpointKey): VerifyResult {
    const verifier = new Verifier();
    for (const entry of this.entries)
      for (const { text, place, isWhole, entry: at } of linesOfEntry(entry)) verifier.add(text, place, isWhole, at);
    return verifier.finish(checkpoints, key);
  }
}

it('a ledger is given a batch that failed once more as it was, so that one which came through is known', async () => {
  const ledger = new LedgerUnderTest();
  ledger.isMute = true;
  const { trail, counted } = ledger.trail();
  for (let number = 0; number < 120; number += 1) trail.record(callOf(number));
  await expect.poll(() => counted.failed).toBe(1);
  ledger.isMute = false;
  await expect.poll(() => counted.recovered).toBe(1);
  await trail.close();
  expect(ledger.verified()).toMatchObject({ findings: [], records: 122 });
});

it.each([
  ['words', () => 'no record'],
  ['a record that another program has forged', (prev: string, seq: number) => forged('session-under-test', prev, seq)],
  [
    'the end of the chain, forged',
    (prev: string, seq: number) => forged('session-under-test', prev, seq, 'audit.closed'),
  ],
])(
  'after an entry of another program (%s) the audit continues with a new chain, loses nothing, and verify shows the entry as foreign',
  async (_what, textOf) => {
    const ledger = new LedgerUnderTest();
    const key = readCheckpointKey(randomBytes(32).toString('base64'));
    const checkpoints: Checkpoint[] = [];
    const { trail, counted } = ledger.trail({
      isStrict: true,
      checkpoints: {
        key,
        everyMs: 60_000,
        write: (checkpoint) => Promise.resolve(void checkpoints.push(checkpoint)),
      },
    });
    expect(await trail.confirm(callOf(1))).toBe(true);
    const { hash, seq } = trail.head;
    const strange = ledger.add('session-under-test', textOf(hash, seq + 1));
    expect(await trail.confirm(callOf(2))).toBe(true);
    const again = ledger.add('next-1', textOf(hash, seq + 1));
    expect(await trail.confirm(callOf(3))).toBe(true);
    await trail.close();
    const late = ledger.add('session-under-test', textOf(hash, seq + 2));
    expect([counted.failed, counted.dropped]).toEqual([0, 0]);
    for (const result of [ledger.verified(), ledger.verified(checkpoints, key)]) {
      expect(result).toMatchObject({ writers: 3, records: 7 });
      expect(result.findings.every(({ weight }) => weight === 'foreign')).toBe(true);
      expect(result.findings.map(({ text }) => Number(/entry (\d+)/.exec(text)?.[1])).sort((a, b) => a - b)).toEqual([
        strange,
        again,
        late,
      ]);
    }
    const opened = ledger.entries
      .flatMap(({ text }) => text.split('\n'))
      .find((line) => line.includes('"writer":"next-1","seq":1,'));
    expect(JSON.parse(opened as string)).toMatchObject({
      'event.name': 'audit.opened',
      'omnibus.break.writer': 'session-under-test',
      'omnibus.break.entry': strange - 1,
      'omnibus.after.writer': 'session-under-test',
      'omnibus.after.seq': 3,
    });
  },
);

it('a ring that is full when another program writes overwrites no record by the beginning of the new chain', async () => {
  const ledger = new LedgerUnderTest();
  ledger.isMute = true;
  const { trail, counted } = ledger.trail({ ring: 20 });
  for (let number = 0; number < 40; number += 1) trail.record(callOf(number));
  await expect.poll(() => counted.failed).toBe(1);
  ledger.add('session-under-test', 'no record');
  ledger.isMute = false;
  await expect.poll(() => counted.recovered).toBe(1);
  await trail.close();
  const { findings } = ledger.verified();
  expect(findings.map(({ kind }) => kind).toSorted()).toEqual(['foreign', 'gap']);
});

/** A record that fits where it stands, as every program can make one that has read the record before. */
function forged(writer: string, prev: string, seq: number, name = 'mcp.call'): string {
  const body = `{"event.name":"${name}","omnibus.chain":{"writer":"${writer}","seq":${seq},"prev":"${prev}"}}`;
  return `${body.slice(0, -1)},"hash":"${sha256(body)}"}`;
}

it('gives systems that collect OCSF what they know: requests, sign-ins, what users allow, and changes of directories', async () => {
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
  const user = { user: 'https://login.example.com|ann', id: '7' };
  trail.record({ name: 'scim.user.deactivated', weight: 'always', outcome: 'ok', more: user });
  trail.record({
    name: 'scim.group.members',
    weight: 'always',
    outcome: 'ok',
    more: { group: 'eng', id: '8', added: [] },
  });
  await trail.close();
  const [, call, read, refused, consent, deactivated, members] = sink.records;
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
  expect(deactivated).toMatchObject({ class_uid: 3_001, activity_id: 5, user: { uid: '7', name: user.user } });
  expect(members).toMatchObject({ class_uid: 3_006, activity_id: 3, group: { uid: '8', name: 'eng' } });
});

it('a webhook that answers wrongly in every way gets the batch again until it has stored it, and no other sink waits for it', async () => {
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
  await expect.poll(() => counted.recovered).toBe(1);
  await trail.close();
  expect([counted.failed, counted.dropped]).toEqual([1, 0]);
  for (const lines of [steady.lines, stored]) expect(verify(lines)).toMatchObject({ findings: [], records: 122 });
});
