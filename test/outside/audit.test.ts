/**
 * The audit records in the files, compared with the answers that clients received, also when a process is killed; and the detection of changed records.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { legacyRevisions } from '@omnibus/protocol';
import { inHere } from '../support/command-here.ts';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { isLongLane } from '../support/lane.ts';
import { ModernClient } from '../support/modern-client.ts';
import { end, omnibusProgram } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';

type Entry = Readonly<Record<string, unknown>>;

let folder: string;
let upstream: Upstream;

/** Runs a command. @returns its output and exit status. */
async function omnibus(...args: string[]): Promise<{ readonly status: number; readonly said: string }> {
  const { status, stdout } = await inHere(args);
  return { status, said: stdout };
}

async function recordsIn(records: string): Promise<readonly Entry[]> {
  const texts = await Promise.all((await readdir(records)).map((file) => readFile(join(records, file), 'utf8')));
  return texts
    .join('')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Entry);
}

const callsIn = (entries: readonly Entry[], target: string): readonly Entry[] =>
  entries.filter(
    (entry) => entry['event.name'] === 'mcp.call' && (entry['omnibus.tool'] ?? entry['gen_ai.tool.name']) === target,
  );
const outcomes = (entries: readonly Entry[]): unknown[] => entries.map((entry) => entry['omnibus.outcome']);
const reasonOf = ({ last }: Answer): unknown => last.error?.data?.['reason'];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-audit-'));
  upstream = await Upstream.start({
    tools: [tool('write'), { ...tool('look'), annotations: { readOnlyHint: true } }, tool('slow'), tool('bad')],
    resources: [{ uri: 'up://one', name: 'one' }],
    onCall: (call) =>
      call.name === 'slow'
        ? upstream.looked.add(call)
        : call.answer(call.name === 'bad' ? { ...text('no'), isError: true } : text(call.name)),
  });
});

afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe('in one process', () => {
  it('requests of clients of every revision are recorded once, can be verified and searched, and a changed record is detected', async () => {
    const records = join(folder, 'one');
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await writeFile(join(folder, 'public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    const elsewhere = join(folder, 'checkpoints.jsonl');
    {
      await using gateway = await startGatewayHere('embedded', {
        mcpServers: { up: { url: upstream.url, excludeTools: ['missing'] } },
        audit: {
          sinks: [{ kind: 'file', folder: records }],
          checkpoints: { keyFile: join(folder, 'key.pem'), file: elsewhere },
          record: [{ tool: 'up/write', arguments: { keep: ['/to'], redact: ['/secret'] } }],
        },
      });
      for (const revision of [undefined, ...legacyRevisions]) {
        const client =
          revision === undefined ? new ModernClient(gateway.url) : await RawClient.open(gateway.url, revision);
        using _closing = client;
        const call = (name: string): Promise<Answer> =>
          client.request('tools/call', { name, arguments: { to: 'ann', secret: 'hunter2' } });
        await client.request('tools/list', {});
        expect((await call('write')).last.result).toMatchObject(text('write'));
        expect((await call('look')).last.result).toMatchObject(text('look'));
        expect((await call('bad')).last.result).toMatchObject({ isError: true });
        expect(reasonOf(await call('missing'))).toBe('tool.unknown');
        await client.request('resources/read', { uri: 'up://one' });
      }
      expect(
        (
          await fetch(`http://${await gateway.admin(gateway.edge)}/api/v1/reload`, {
            method: 'POST',
            headers: { 'x-omnibus-console': '1' },
          })
        ).status,
      ).toBe(200);
      await gateway.edge.stop();
    }
    const entries = await recordsIn(records);
    const revisions = 1 + legacyRevisions.length;
    expect(outcomes(callsIn(entries, 'write'))).toEqual(Array.from({ length: revisions }, () => 'ok'));
    expect(outcomes(callsIn(entries, 'look'))).toEqual(Array.from({ length: revisions }, () => 'ok'));
    expect(outcomes(callsIn(entries, 'bad'))).toEqual(Array.from({ length: revisions }, () => 'tool_error'));
    expect(new Set(entries.map((entry) => entry['mcp.protocol.version'])).size).toBe(revisions + 1);
    for (const [name, count] of [
      ['mcp.refused', revisions],
      ['mcp.list', revisions],
      ['mcp.read', revisions],
      ['admin.reload', 1],
    ] as const)
      expect([name, entries.filter((entry) => entry['event.name'] === name).length]).toEqual([name, count]);
    expect(callsIn(entries, 'write')[0]).toMatchObject({
      'omnibus.arguments': { to: 'ann' },
      'omnibus.server': 'up',
      'omnibus.principal': 'anonymous',
    });
    const files = (await readdir(records)).map((file) => join(records, file));
    expect(await readFile(files[0] as string, 'utf8')).not.toContain('hunter2');

    const verify = (): ReturnType<typeof omnibus> =>
      omnibus('audit', 'verify', records, '--checkpoints', elsewhere, '--key', join(folder, 'public.pem'));
    expect(await verify()).toEqual({
      status: 0,
      said: expect.stringMatching(/of 1 writers, 1 checkpoints: all as they were written/) as string,
    });
    const found = await omnibus(
      'audit',
      'search',
      records,
      '--tool',
      'bad',
      '--outcome',
      'tool_error',
      '--since',
      '1h',
      '--json',
    );
    expect(found.said.trim().split('\n').length).toBe(revisions);
    const written = await readFile(files[0] as string, 'utf8');
    await writeFile(files[0] as string, written.replace('"omnibus.outcome":"tool_error"', '"omnibus.outcome":"ok"'));
    expect(await verify()).toMatchObject({
      status: 8,
      said: expect.stringContaining('is not as it was written') as string,
    });
    await writeFile(files[0] as string, `${written.trimEnd().split('\n').slice(0, -2).join('\n')}\n`);
    expect(await verify()).toMatchObject({
      status: 8,
      said: expect.stringMatching(/ends with record \d+, and it had \d+/) as string,
    });
    // The records and checkpoints of the configuration, without other arguments.
    const config = join(folder, 'omnibus.yaml');
    await writeFile(
      config,
      'mcpServers: {}\naudit: { sinks: [{ kind: file, folder: one }], checkpoints: { keyFile: key.pem, file: checkpoints.jsonl } }\n',
    );
    expect(spawnSync('node', [omnibusProgram, 'audit', 'verify'], { cwd: folder }).status).toBe(8);
    expect((await omnibus('audit', 'verify', records, '--checkpoints', elsewhere)).status).toBe(64); // No key would check their signatures.
    expect(
      (
        await omnibus(
          'audit',
          'verify',
          records,
          '--checkpoints',
          join(folder, 'none'),
          '--key',
          join(folder, 'public.pem'),
        )
      ).status,
    ).toBe(5);
    await writeFile(files[0] as string, `${written}${written}`);
    expect(await verify()).toEqual({
      status: 0,
      said: expect.stringContaining(`${entries.length} records of 1 writers`) as string,
    });
  });
});

it('files that are removed while they are verified, because they are old, are no harm', async () => {
  const records = join(folder, 'rotated');
  await mkdir(records);
  const [held, gone] = [join(records, 'a-000001.jsonl'), join(records, 'b-000001.jsonl')];
  // A reader of the first file waits until a writer opens it; by then both files have been removed.
  execFileSync('mkfifo', [held]);
  await writeFile(gone, '');
  const verifying = omnibus('audit', 'verify', records);
  const writing = await open(held, 'w');
  await rm(held);
  await rm(gone);
  await writing.close();
  expect(await verifying).toEqual({ status: 5, said: '0 records of 0 writers\n' }); // There are none, and no harm is found.
});

describe.each([false, true])('over NATS, strict: %s', (isStrict) => {
  let gateway: GatewayUnderTest;
  const records = (): string => join(folder, `nats-${String(isStrict)}`);

  beforeAll(async () => {
    gateway = await startGateway('nats', {
      mcpServers: { up: { url: upstream.url } },
      audit: { strict: isStrict, sinks: [{ kind: 'file', folder: records() }] },
    });
  });

  afterAll(() => gateway[Symbol.asyncDispose]());

  it('a killed session worker loses at most one batch, which verify names, and no call if the audit is strict', async () => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('write'));
    let answered = 0;
    const first = upstream.looked.values.length;
    const slow = client.callTool('slow');
    await upstream.looked.until(first + 1);
    // Calls that are answered before the worker is killed are counted; and so is a call that the next worker continues.
    for (let burst = 0; burst < 4; burst += 1) {
      await Promise.all(
        Array.from({ length: 150 }, () =>
          client.callTool('write').then(
            (answer) => {
              if (answer.last.result !== undefined) answered += 1;
            },
            () => undefined,
          ),
        ),
      );
    }
    const session = gateway.processes[1] ?? expect.fail('there is no session worker');
    const other = await gateway.startPart('session');
    await gateway.lose(session);
    // The next worker goes on with the call, and records how it ends.
    (upstream.looked.values[first] as Call).answer(text('at last'));
    expect((await slow).last.result).toEqual(text('at last'));
    const { status } = await client.callTool('write');
    if (status === 200) answered += 1;
    for (const process of [gateway.edge, other]) await end(process, 'SIGTERM');
    // In order, it waits ten seconds for the next owner of calls of the killed worker, and then ends its part of the audit.
    await end(gateway.backend, isLongLane ? 'SIGTERM' : 'SIGKILL');
    const killed = isLongLane ? ['session'] : ['session', 'backend'];
    const entries = await recordsIn(records());
    const done = callsIn(entries, 'write').filter((entry) => entry['omnibus.outcome'] === 'ok').length;
    expect(answered - done).toBeGreaterThanOrEqual(0);
    expect(answered - done).toBeLessThanOrEqual(400);
    expect(outcomes(callsIn(entries, 'slow'))).toEqual(
      isStrict ? (expect.arrayContaining(['started', 'ok']) as unknown[]) : ['ok'],
    );
    if (isStrict)
      expect(callsIn(entries, 'write').filter((entry) => entry['omnibus.outcome'] === 'started').length).toBe(answered);
    const { status: verified, said } = await omnibus('audit', 'verify', records());
    expect(verified).toBe(7);
    for (const role of killed) expect(said).toMatch(new RegExp(`OPEN {2}.*${role}-.* never said that it ends`));
    expect(said.match(/OPEN/g)).toHaveLength(killed.length);
  });
});
