/** A disk that takes nothing more while calls go on, and takes records again: every record is there, or a gap names how many are not. A limit on the size of files stands for the full disk. */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { metricsOf } from '../support/metrics.ts';
import { end, omnibusProgram, startProcess } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

type Entry = Readonly<Record<string, unknown>>;

let folder: string;
let upstream: Upstream;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-full-'));
  upstream = await Upstream.start({ tools: [tool('write'), { ...tool('look'), annotations: { readOnlyHint: true } }] });
});

afterEach(async () => {
  await upstream[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** The gateway, with an audit in `folder`. */
const started = (audit: object): Promise<GatewayUnderTest> =>
  startGateway('embedded', {
    mcpServers: { up: { url: upstream.url, hints: 'believe' } },
    audit: { sinks: [{ kind: 'file', folder }], ...audit },
  });
const files = async (): Promise<string[]> => (await readdir(folder)).map((file) => join(folder, file));
const reasonOf = ({ last }: Answer): unknown => last.error?.data?.['reason'];
const executed = (): number => upstream.calls.values.filter(({ name }) => name === 'write').length;

/** From now on no file of the process may grow; its records have begun before. */
async function fill(gateway: GatewayUnderTest): Promise<void> {
  const largest = async (): Promise<number> =>
    Math.max(0, ...(await Promise.all((await files()).map(async (file) => (await stat(file)).size))));
  await expect.poll(largest).toBeGreaterThan(0);
  limit(gateway, String(await largest()));
}

/** @param bytes the largest size of a file. */
function limit({ edge: { pid } }: GatewayUnderTest, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}

async function entries(): Promise<readonly Entry[]> {
  const texts = await Promise.all((await files()).map((file) => readFile(file, 'utf8')));
  return texts
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
}

async function verified(): Promise<{ readonly status: number; readonly said: string }> {
  const running = startProcess('node', [omnibusProgram, 'audit', 'verify', folder]);
  const status = await new Promise<number>((resolve) => {
    running.child.once('close', (code) => resolve(code ?? -1));
  });
  return { status, said: running.output() };
}

it('calls continue, records beyond the ring are counted, logged and named as a gap, and the rest is written when there is room', async () => {
  const calls = 250;
  {
    await using gateway = await started({ ring: 100 });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('write'));
    await fill(gateway);
    for (let count = 0; count < calls; count += 50)
      for (const { last } of await Promise.all(Array.from({ length: 50 }, () => client.callTool('write'))))
        expect(last.result).toBeDefined();
    await gateway.edge.line(/EFBIG.*a sink of the audit takes no records; they wait/);
    // The last events become records within a quarter of a second.
    await expect
      .poll(async () => (await metricsOf(gateway.edge)).get('omnibus_audit_dropped_total{sink="all"}'))
      .toBeGreaterThanOrEqual(calls - 100);
    await expect
      .poll(async () => {
        const during = await metricsOf(gateway.edge);
        return [during.get('omnibus_audit_failing{sink="file"}'), during.get('omnibus_audit_behind{sink="file"}')];
      })
      .toEqual([1, 100]);
    limit(gateway, 'unlimited');
    await gateway.edge.line(/the sink of the audit takes records again/);
    expect((await client.callTool('write')).last.result).toBeDefined();
    await end(gateway.edge, 'SIGTERM');
  }
  const written = await entries();
  // There are several gaps where the sink took a record before the disk was full.
  const gaps = written
    .filter((entry) => entry['event.name'] === 'audit.gap')
    .map((entry) => Number(entry['omnibus.records']));
  const missing = gaps.reduce((sum, records) => sum + records, 0);
  expect(executed()).toBe(calls + 1);
  expect(
    written.filter((entry) => entry['event.name'] === 'mcp.call' && entry['omnibus.tool'] === 'write').length + missing,
  ).toBeGreaterThanOrEqual(calls + 1);
  const { status, said } = await verified();
  expect([
    status,
    ...Array.from(said.matchAll(/: (\d+) records of .* were not kept/g), ([, records]) => Number(records)),
  ]).toEqual([7, ...gaps]);
});

it('with strict, calls that are not read-only are refused and not executed while nothing can be recorded, and no record is missing afterwards', async () => {
  {
    await using gateway = await started({ strict: true, strictWait: '3s' });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('write'));
    expect((await client.callTool('write')).last.result).toBeDefined();
    await fill(gateway);
    expect((await Promise.all(Array.from({ length: 20 }, () => client.callTool('write')))).map(reasonOf)).toEqual(
      Array.from({ length: 20 }, () => 'audit.unavailable'),
    );
    expect((await client.callTool('look')).last.result).toBeDefined();
    expect(executed()).toBe(1);
    expect((await metricsOf(gateway.edge)).get('omnibus_audit_refusals_total')).toBe(20);
    limit(gateway, 'unlimited');
    await gateway.edge.line(/the sink of the audit takes records again/);
    expect((await client.callTool('write')).last.result).toBeDefined();
    await end(gateway.edge, 'SIGTERM');
  }
  const written = (await entries()).filter((entry) => entry['omnibus.tool'] === 'write');
  expect(written.filter((entry) => entry['omnibus.outcome'] === 'ok').length).toBe(executed());
  expect(written.filter((entry) => entry['omnibus.outcome'] === 'started').length).toBe(executed() + 20);
  expect(await verified()).toMatchObject({ status: 0 });
});

it('a process that ends while its disk is full says how many records are lost with it, and its chain has no end', async () => {
  {
    await using gateway = await started({});
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('write'));
    await fill(gateway);
    for (let count = 0; count < 5; count += 1) expect((await client.callTool('write')).last.result).toBeDefined();
    const lost = gateway.edge.line(
      /"sink":"file","records":(\d+),.*the process ends, and a sink of the audit has not stored all records/,
    );
    await end(gateway.edge, 'SIGTERM');
    expect(Number(((await lost) as unknown as RegExpExecArray)[1])).toBeGreaterThanOrEqual(5);
  }
  expect(await verified()).toMatchObject({
    status: 7,
    said: expect.stringMatching(/OPEN.*never said that it ends/) as string,
  });
});

it('a process whose disk does not answer any more ends all the same, and its records are on the disks that do', async () => {
  const [keyFile, file] = [join(tmpdir(), `${basename(folder)}.pem`), join(tmpdir(), `${basename(folder)}.fifo`)];
  await writeFile(keyFile, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  // It has no reader, so that a writer waits without end.
  execFileSync('mkfifo', [file]);
  try {
    await using gateway = await started({ checkpoints: { keyFile, file } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('write'));
    expect((await client.callTool('write')).last.result).toBeDefined();
    const ended = gateway.edge.line(/an operation on a file does not end/);
    await end(gateway.edge, 'SIGTERM');
    await ended;
  } finally {
    await Promise.all([rm(keyFile), rm(file)]);
  }
  expect(await verified()).toMatchObject({ status: 0 });
});
