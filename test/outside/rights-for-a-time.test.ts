/** Rights for a time with the commands, in the running gateway: further calls after an approval, grants that callers ask for, and approvals by several approvers. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Approvals } from '@omnibus/admin-api';
import type { JsonObject } from '@omnibus/protocol';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { saidHere } from '../support/command-here.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

const newest = '2025-11-25';
const reasonOf = ({ last }: Answer): unknown => (last.result === undefined ? last.error?.data?.['reason'] : 'answered');

describe.each(shapesOfLane)('%s', (shape) => {
  let folder: string;
  let keys: Keys;
  let bank: Upstream;
  let gateway: GatewayHere;
  let admin: string;

  /** A command of a person; its output, with the status in front of it where it is not 0. */
  const omnibus = async (as: string, ...args: readonly string[]): Promise<string> => {
    const { status, output } = await saidHere([...args, '--admin', admin], {
      env: { OMNIBUS_TOKEN: keys.headersOf(as)['authorization']?.slice('Bearer '.length) ?? '' },
    });
    return `${status === 0 ? '' : `${status}: `}${output}`;
  };

  /** The id of the call that waits. */
  const waiting = async (): Promise<string> => {
    let id: string | undefined;
    await expect
      .poll(async () => {
        const response = await fetch(`http://${admin}/api/v1/approvals`, { headers: keys.headersOf('fin') });
        const { approvals } = (await response.json()) as Approvals;
        return (id = approvals.find(({ state }) => state === 'waiting')?.id);
      })
      .toBeDefined();
    return id ?? '';
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-rights-'));
    keys = await Keys.makeOf({
      ann: ['support'],
      both: ['support', 'finance'],
      fin: ['finance'],
      flo: ['finance'],
      ops: [],
    });
    bank = await Upstream.start({ tools: ['refund', 'look', 'wire'].map(tool) });
    gateway = await startGatewayHere(shape, {
      auth: { ...keys.auth, admin: { roles: { approver: ['group:finance'], operator: ['key:ops'] } } },
      mcpServers: { bank: { url: bank.url } },
      access: {
        rules: [
          { id: 'large', who: 'group:support', ask: ['bank/refund'], approvers: ['group:finance'], lasts: '1h' },
          { id: 'wires', who: 'group:support', ask: ['bank/wire'], approvers: ['group:finance'], quorum: 2 },
          { id: 'night', who: 'grant:night', allow: ['bank/look'] },
        ],
        grants: [
          {
            id: 'night',
            who: 'group:support',
            lasts: '1h',
            approvers: ['group:finance'],
            because: 'name the incident',
          },
        ],
      },
      audit: { sinks: [{ kind: 'file', folder: join(folder, 'audit') }] },
    });
    // The approver asks another process than the one that holds the call.
    const session = shape === 'nats' ? await gateway.startPart('session') : gateway.edge;
    admin = await gateway.admin(session);
    using hers = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    await hers.untilTools((names) => names.includes('refund'));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await Promise.all([bank, keys].map((each) => each[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true });
  });

  it('makes further calls of a tool without a question after an approval for a time, until it is ended at another process', async () => {
    using mine = await RawClient.open(gateway.url, newest, keys.headersOf('both'));
    using modern = new ModernClient(gateway.url, {}, keys.headersOf('both'));
    const pending = mine.callTool('refund', { amount: 9_000 });
    const id = await waiting();
    expect(await omnibus('fin', 'approvals', 'approve', id, '--yes', '--for', '2h')).toContain('at most 3600 s');
    expect(await omnibus('fin', 'approvals', 'approve', id, '--yes', '--for', '30m')).toContain(`${id} is approved`);
    expect(reasonOf(await pending)).toBe('answered');
    expect(reasonOf(await modern.call('refund', { arguments: { amount: 9_500 } }))).toBe('answered');
    expect(await omnibus('fin', 'grants', 'list')).toMatch(
      new RegExp(`${id} +active +bank/refund \\(rule large\\) +omnibus:keys\\|both`),
    );
    expect(await omnibus('ann', 'grants', 'list')).not.toContain(id);
    expect(await omnibus('ann', 'grants', 'end', id)).toMatch(/^5: [^]*that you may end/);
    expect(await omnibus('fin', 'approvals', 'withdraw', 'none')).toMatch(/^5: [^]*no call "none" waits/);
    expect(await omnibus('ops', 'grants', 'end', id)).toContain(`${id} is ended`);
    expect(await omnibus('fin', 'grants', 'end', id)).toContain('is over already');
    const again = modern.call('refund', { arguments: { amount: 9_600 } });
    expect(await omnibus('fin', 'approvals', 'deny', await waiting())).toContain('is refused');
    expect(reasonOf(await again)).toBe('approval.refused');
  });

  it('gives a caller a tool for a time after its request and the decision of another person, at every process, until its end', async () => {
    using client = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    using modern = new ModernClient(gateway.url, {}, keys.headersOf('ann'));
    const look = async (): Promise<unknown> => reasonOf(await client.callTool('look', {}));
    expect(await look()).toBe('tool.unknown');
    const request = (as: string, time: string): Promise<string> =>
      omnibus(as, 'grants', 'request', 'night', '--for', time, '--reason', 'incident 4711', '--json');
    expect(await request('ops', '30m')).toContain('that you may ask for');
    expect(await request('ann', '2h')).toContain('at most 3600 s');
    const { id } = JSON.parse(await request('ann', '30m')) as { readonly id: string };
    expect(await request('ann', '30m')).toContain('already');
    expect(await look()).toBe('tool.unknown');
    expect(await omnibus('ann', 'grants', 'list')).toMatch(
      /requested +grant:night +omnibus:keys\|ann .*incident 4711[^]*you may ask for night, for at most 60 min: name the incident/,
    );
    expect(await omnibus('ann', 'grants', 'approve', id)).toMatch(/has no role here/);
    expect(await omnibus('ops', 'grants', 'approve', id)).toContain('this is for group:finance');
    expect(await omnibus('fin', 'grants', 'approve', id, '--for', '10m')).toContain(`${id} is active until`);
    await expect.poll(look).toBe('answered');
    expect(reasonOf(await modern.call('look', {}))).toBe('answered');
    expect(await omnibus('ann', 'grants', 'end', id)).toContain(`${id} is ended`);
    await expect.poll(look).toBe('tool.unknown');
    expect(await omnibus('fin', 'grants', 'end', id)).toContain('over already');
  });

  it('makes a call after two different approvers, of whom one may change their mind, and never with its caller', async () => {
    using mine = await RawClient.open(gateway.url, newest, keys.headersOf('both'));
    const before = bank.requests.filter(({ method }) => method === 'tools/call').length;
    const pending = mine.callTool('wire', { amount: 1 });
    const id = await waiting();
    const approve = (as: string): Promise<string> => omnibus(as, 'approvals', 'approve', id, '--yes');
    expect(await approve('both')).toContain('no user approves their own calls or grants');
    expect(await approve('fin')).toContain(`${id} is approved by you, and waits for 1 more`);
    expect(await approve('fin')).toContain('2 different approvers');
    expect(await omnibus('flo', 'approvals', 'show', id)).toMatch(/approvals +1 of 2: omnibus:keys\|fin/);
    expect(await omnibus('flo', 'approvals', 'withdraw', id)).toContain('you have not approved');
    expect(await omnibus('fin', 'approvals', 'withdraw', id)).toContain('is taken back');
    expect(await approve('flo')).toContain('waits for 1 more');
    expect(bank.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(before);
    expect(await approve('fin')).toMatch(/ is approved$/);
    expect(reasonOf(await pending)).toBe('answered');
    const refused = mine.callTool('wire', { amount: 2 });
    const other = await waiting();
    expect(await omnibus('fin', 'approvals', 'approve', other, '--yes')).toContain('waits for 1 more');
    expect(await omnibus('flo', 'approvals', 'deny', other)).toContain('is refused');
    expect(reasonOf(await refused)).toBe('approval.refused');
  });

  it('has every request, decision and end on record, with its person', async () => {
    await expect
      .poll(async () => {
        const files = await readdir(join(folder, 'audit'));
        const texts = await Promise.all(files.map((file) => readFile(join(folder, 'audit', file), 'utf8')));
        const records = texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line) as JsonObject);
        const names = records.map((record) => String(record['event.name']));
        return [...new Set(names.filter((name) => /grants|withdraw|reused/.test(name)))].toSorted();
      })
      .toEqual([
        'admin.approvals.withdraw',
        'admin.grants.approve',
        'admin.grants.change',
        'admin.grants.end',
        'admin.grants.request',
        'approval.reused',
      ]);
  });
});
