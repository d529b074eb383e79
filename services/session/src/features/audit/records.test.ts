import type { Audit, AuditEvent } from '@omnibus/audit';
import { expect, it, onTestFinished } from 'vitest';
import {
  latestModernRevision,
  legacyRevisions,
  noLists,
  type ExchangeEvent,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

/** Takes everything down, and says of each record whether it is safe. */
class Recording implements Audit {
  readonly events: AuditEvent[] = [];
  readonly confirmed: AuditEvent[] = [];
  readonly wantsResults = true;
  isSafe = true;
  readonly isStrict: boolean;

  constructor(isStrict = false) {
    this.isStrict = isStrict;
  }

  wants(): boolean {
    return true;
  }

  record(event: AuditEvent): void {
    this.events.push(event);
  }

  confirm(event: AuditEvent): Promise<boolean> {
    this.confirmed.push(event);
    return Promise.resolve(this.isSafe);
  }

  /** A short form of each. */
  get said(): readonly (readonly unknown[])[] {
    return this.events.map(({ name, method, target, outcome, reason }) => [
      name,
      method,
      target ?? '-',
      outcome,
      reason ?? '-',
    ]);
  }
}

const tools = [
  { name: 'write', inputSchema: { type: 'object' } },
  { name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
];

async function start(
  revision: Revision,
  audit: Recording,
  capabilities: JsonObject = {},
): Promise<{ readonly worker: WorkerUnderTest; readonly client: ClientUnderTest }> {
  // Names that are not listed reach no server with this option.
  const worker = await WorkerUnderTest.start(
    ['notes'],
    { mcpServers: { notes: { url: 'http://127.0.0.1:1/mcp', validation: 'enforce' } } },
    audit,
  );
  onTestFinished(() => worker.stop());
  await worker.put('notes', {
    capabilities: { tools: {}, resources: {} },
    lists: { ...noLists, tools, resources: [{ uri: 'notes://one', name: 'one' }] },
  });
  return { worker, client: await worker.open(revision, capabilities) };
}

const revisions: readonly Revision[] = [latestModernRevision, ...legacyRevisions];

it.each(revisions)(
  '%s: each call, list, read and refusal is on record once, with what the server was asked and what came of it',
  async (revision) => {
    const audit = new Recording();
    const { worker, client } = await start(revision, audit);
    const call = async (name: string, outcome: ExchangeEvent): Promise<unknown> => {
      worker.outcome = outcome;
      return worker.turning(client.ask('tools/call', { name, arguments: { text: 'a' } }));
    };
    await worker.turning(client.ask('tools/list'));
    await call('write', { kind: 'result', result: { content: [] } });
    await call('look', { kind: 'result', result: { content: [], isError: true } });
    await call('write', { kind: 'error', error: { code: -32_000, message: 'no' } });
    await call('write', { kind: 'fault', fault: { reason: 'upstream.timeout', message: 'too late' } });
    await call('write', { kind: 'fault', fault: { reason: 'upstream.busy', message: 'later' } });
    await call('nothing', { kind: 'result', result: {} });
    worker.outcome = { kind: 'result', result: { contents: [] } };
    await worker.turning(client.ask('resources/read', { uri: 'notes://one' }));
    await worker.turning(client.ask('no/such'));
    expect(audit.said).toEqual([
      ['mcp.list', 'tools/list', '-', 'ok', '-'],
      ['mcp.call', 'tools/call', 'write', 'ok', '-'],
      ['mcp.call', 'tools/call', 'look', 'tool_error', '-'],
      ['mcp.call', 'tools/call', 'write', 'fault', '-'],
      ['mcp.call', 'tools/call', 'write', 'unknown', 'upstream.timeout'],
      ['mcp.call', 'tools/call', 'write', 'fault', 'upstream.busy'],
      ['mcp.refused', 'tools/call', '-', 'denied', 'tool.unknown'],
      ['mcp.read', 'resources/read', '-', 'ok', '-'],
      ...audit.said.slice(8),
    ]);
    expect(audit.events).toHaveLength(9);
    expect(audit.events[1]).toMatchObject({
      weight: 'write',
      server: 'notes',
      args: { text: 'a' },
      revision,
      publicName: 'write',
      who: { principal: 'anonymous' },
    });
    expect(audit.events[1]?.responseBytes).toBeGreaterThan(10);
    expect(audit.events[2]).toMatchObject({ weight: 'read' });
    expect(audit.events[6]).toMatchObject({ publicName: 'nothing' });
    expect(audit.events[7]).toMatchObject({ uri: 'notes://one', server: 'notes' });
    expect(audit.events[1]?.session === undefined).toBe(revision === latestModernRevision);
  },
);

it.each(revisions)(
  '%s: strict, what is not read-only waits until its record is safe, and is not sent when it cannot be',
  async (revision) => {
    const audit = new Recording(true);
    const { worker, client } = await start(revision, audit);
    await client.ask('tools/call', { name: 'look' });
    expect(audit.confirmed).toEqual([]);
    await client.ask('tools/call', { name: 'write' });
    expect(audit.confirmed).toEqual([expect.objectContaining({ outcome: 'started', target: 'write' })]);
    const sent = worker.asked.values.length;
    audit.isSafe = false;
    const refused = await client.ask('tools/call', { name: 'write' });
    expect(refused.error?.data).toMatchObject({ reason: 'audit.unavailable', retry: 'same' });
    expect(worker.asked.values.length).toBe(sent);
    expect(audit.said.at(-1)).toEqual(['mcp.call', 'tools/call', 'write', 'fault', 'audit.unavailable']);
  },
);

it.each(revisions.filter((each) => each !== '2024-11-05' && each !== '2025-03-26'))(
  '%s: a question of a server and that it was answered are on record, and neither what is asked nor the answer',
  async (revision) => {
    const audit = new Recording();
    const { worker, client } = await start(revision, audit, { elicitation: {} });
    worker.takes = (reply) => {
      reply({
        kind: 'input',
        input: 1,
        method: 'elicitation/create',
        params: { message: 'your secret?', requestedSchema: { type: 'object', properties: {} } },
      });
      reply({ kind: 'input-withdrawn', input: 1, reason: 'never mind' });
      reply({ kind: 'result', result: { content: [] } });
    };
    await client.ask('tools/call', { name: 'write' });
    await expect.poll(() => audit.said.map(([name]) => name)).toContain('mcp.question');
    expect(audit.events.find(({ name }) => name === 'mcp.question')).toMatchObject({
      method: 'elicitation/create',
      server: 'notes',
      outcome: 'cancelled',
    });
    expect(JSON.stringify(audit.events.filter(({ name }) => name === 'mcp.question'))).not.toContain('secret');
  },
);

it('a call of a page by the name that its server gives a tool is on record as what that tool does', async () => {
  const audit = new Recording(true);
  const url = 'http://127.0.0.1:1/mcp';
  const worker = await WorkerUnderTest.start(
    ['notes', 'other'],
    { mcpServers: { notes: { url, definitions: 'pin' }, other: { url } } },
    audit,
  );
  onTestFinished(() => worker.stop());
  const shown = { _meta: { ui: { resourceUri: 'ui://page' } } };
  const capabilities = { tools: {}, resources: {} };
  await worker.put('notes', {
    capabilities,
    lists: { ...noLists, tools: tools.map((each) => ({ ...each, ...shown })) },
  });
  await worker.put('other', {
    capabilities,
    lists: { ...noLists, tools: [{ name: 'x', inputSchema: { type: 'object' } }] },
  });
  const client = await worker.open(latestModernRevision, {
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
  });
  await client.ask('tools/call', { name: 'look' });
  await client.ask('tools/call', { name: 'notes__look' });
  expect(audit.confirmed).toEqual([]);
  const [byPage, byName] = audit.events;
  expect(byPage).toMatchObject({ name: 'mcp.call', weight: 'read', server: 'notes', target: 'look' });
  expect(byPage?.more).toEqual(byName?.more);
  expect(byPage?.more).toMatchObject({ definition: expect.any(String) as string });
  await client.ask('tools/call', { name: 'write' });
  expect(audit.confirmed).toHaveLength(1);
});
