/** Composite tools where lists are short and results are bounded: found, described, called by scripts, cut, and counted by limits that name them. */
import type { AuditEvent } from '@omnibus/audit';
import { coderNames, finderNames } from '@omnibus/catalog';
import { afterEach, describe, expect, it } from 'vitest';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  type CatalogRecord,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { auditIn, textOf } from '../../answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const eras: readonly Revision[] = [latestLegacyRevision, latestModernRevision];
const crm: Partial<CatalogRecord> = {
  revision: latestLegacyRevision,
  capabilities: { tools: {} },
  lists: {
    ...noLists,
    tools: ['find', 'close'].map((name) => ({ name, description: `${name} tickets`, inputSchema: { type: 'object' } })),
  },
};
const close_late = {
  description: 'Closes the oldest late ticket.',
  inputSchema: { type: 'object', properties: { team: { type: 'string' } }, required: ['team'] },
  steps: [
    { id: 'find', call: 'crm/find', arguments: { team: '{args.team}' } },
    { id: 'shut', call: 'crm/close' },
  ],
};
const long = 'A line of the answer.\n'.repeat(2_000);
const events: AuditEvent[] = [];
const audit = auditIn(events);

async function started(settings: object, composite: object = {}): Promise<WorkerUnderTest> {
  events.length = 0;
  const all = { composites: { close_late: { ...close_late, ...composite } }, ...settings };
  up = await WorkerUnderTest.start(['crm'], all, audit);
  await up.put('crm', crm);
  up.outcome = textOf('done');
  return up;
}

const call = async (client: ClientUnderTest, name: string, given: JsonObject): Promise<string> => {
  const { result, error } = await client.ask('tools/call', { name, arguments: given });
  const content = result?.['content'] as readonly { readonly text?: string }[] | undefined;
  return content?.map(({ text }) => text ?? '').join('\n') ?? JSON.stringify(error);
};
const run = (client: ClientUnderTest, code: string): Promise<string> => call(client, coderNames.run, { code });
const uriIn = (text: string): string => /omnibus:\/\/result\/[\w.-]+/.exec(text)?.[0] ?? '';

describe.each(eras)('a client of %s', (revision) => {
  it('finds a composite tool by its words, reads its definition, and calls it by call_tool', async () => {
    const client = await (await started({ listing: 'search' })).open(revision);
    expect(await call(client, finderNames.find, { query: 'close a late ticket' })).toContain(
      'close_late(team*): Closes the oldest late ticket.',
    );
    expect(await call(client, finderNames.find, { query: 'close tickets' })).toContain('close(): close tickets');
    const definition = await call(client, finderNames.describe, { names: ['close_late'] });
    expect(JSON.parse(definition)).toMatchObject({ name: 'close_late', inputSchema: close_late.inputSchema });
    expect(await call(client, finderNames.call, { name: 'close_late', arguments: { team: 'core' } })).toBe('done');
    expect(up?.reached).toEqual(['crm', 'crm']);
  });

  it('does not find steps that a composite tool hides, and calls them as before', async () => {
    const client = await (await started({ listing: 'search' }, { hideSteps: true })).open(revision);
    const found = await call(client, finderNames.find, { query: 'close tickets' });
    expect(found).toContain('close_late');
    expect(found).not.toContain('close(): close tickets');
    expect(await call(client, 'close', {})).toBe('done');
  });

  it('calls a composite tool from a script, as one function whose steps are on record', async () => {
    const client = await (await started({ listing: 'code' })).open(revision);
    expect(await call(client, coderNames.find, { query: 'close a late ticket' })).toContain(
      'servers.omnibus.close_late(args: { team: string }): Promise<any>',
    );
    expect(await run(client, `return await servers.omnibus.close_late({ team: 'core' });`)).toBe('done');
    const calls = events.filter(({ name }) => name === 'mcp.call');
    expect(calls.map(({ target }) => target)).toEqual(['find', 'close', 'close_late', coderNames.run]);
    expect(calls[2]?.more?.['within']).toBe(calls[3]?.more?.['run']);
    expect(await run(client, `await servers.omnibus.close_late();`)).toContain('CallError: The tool needs "team".');
  });

  it.each(['full', 'code'])(
    'gets a long result of a composite tool within its bound (listing: %s)',
    async (listing) => {
      const worker = await started({ listing, results: { maxTokens: 500 } });
      const client = await worker.open(revision, {}, callerOf('ann'));
      worker.outcome = textOf(long);
      const text = await call(client, 'close_late', { team: 'core' });
      expect(text.length).toBeLessThan(2_000);
      const { result } = await client.ask('resources/read', { uri: uriIn(text) });
      expect(result?.['contents']).toMatchObject([{ text: long }]);
      if (listing === 'full') return;
      // A script gets it whole, and its own answer has the bound.
      expect(await run(client, `return (await servers.omnibus.close_late({ team: 'core' })).length;`)).toBe(
        String(long.length),
      );
      const answer = await run(client, `return await servers.crm.find();`);
      expect(answer.length).toBeLessThan(2_000);
      expect(await call(client, 'read_result', { uri: uriIn(answer), lines: '2-2' })).toContain(
        'A line of the answer.',
      );
    },
  );

  it('reads a stored answer only while every tool that it is from may be used', async () => {
    const keyed = { auth: { keys: { file: 'keys.yaml' } }, results: { maxTokens: 500 } };
    const worker = await started(keyed);
    worker.outcome = textOf(long);
    const client = await worker.open(revision, {}, callerOf('ann'));
    const uri = uriIn(await call(client, 'close_late', { team: 'core' }));
    expect((await client.ask('resources/read', { uri })).result).toBeDefined();
    const rules = [
      { who: 'everyone', allow: '*' },
      { who: 'everyone', deny: 'crm/find' },
    ];
    await worker.apply(['crm'], { ...keyed, composites: { close_late }, access: { rules } });
    expect((await client.ask('resources/read', { uri })).error?.message).toContain('there is no such stored result');
  });

  it('is limited in scripts and composite tools by rules that name them, and by no others', async () => {
    const rules = [
      { id: 'scripts', what: ['omnibus/run_code'], rate: '1/h' },
      { id: 'closing', what: ['omnibus/close_late'], rate: '1/h' },
      { id: 'all', concurrency: 1 },
    ];
    const client = await (await started({ listing: 'code', limits: { rules } })).open(revision);
    // The one place of the last rule is for the call, and not for the script.
    expect(await run(client, `return await servers.crm.find();`)).toBe('done');
    expect(await run(client, `return 1;`)).toContain('limit.rate');
    expect(await call(client, 'close_late', { team: 'core' })).toBe('done');
    expect(await call(client, 'close_late', { team: 'core' })).toContain('limit.rate');
    expect(up?.reached).toHaveLength(3);
  });
});
