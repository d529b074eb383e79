/** Labels of conversations at the admin port and with the commands: an approver sees where they are from and clears them, within its tenant, on record. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LabelList } from '@omnibus/admin-api';
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
  let web: Upstream;
  let gateway: GatewayHere;
  let admin: string;

  /** A command of a person; its output, with the status in front of it where it is not 0. */
  const omnibus = async (as: string, ...args: readonly string[]): Promise<string> => {
    const { status, output } = await saidHere(['labels', ...args, '--admin', admin], {
      env: { OMNIBUS_TOKEN: keys.headersOf(as)['authorization']?.slice('Bearer '.length) ?? '' },
    });
    return `${status === 0 ? '' : `${status}: `}${output}`;
  };
  const listFor = async (as: string): Promise<LabelList['conversations']> => {
    const response = await fetch(`http://${admin}/api/v1/labels`, { headers: keys.headersOf(as) });
    return ((await response.json()) as LabelList).conversations ?? [];
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-labels-'));
    keys = await Keys.makeOf(
      { ann: [], bob: [], boss: [], app: [], ops: [] },
      { ann: 'acme', boss: 'acme', bob: 'beta' },
    );
    web = await Upstream.start({ tools: ['fetch', 'send'].map(tool) });
    gateway = await startGatewayHere(shape, {
      auth: {
        ...keys.auth,
        admin: { roles: { approver: ['key:app'], operator: ['key:ops'] }, tenants: { acme: ['key:boss'] } },
      },
      mcpServers: { web: { url: web.url } },
      access: {
        default: 'allow',
        rules: [
          { id: 'from-web', who: 'everyone', label: 'web/fetch', as: 'untrusted' },
          { id: 'no-way-out', who: 'everyone', deny: 'web/send', after: 'untrusted' },
        ],
      },
      audit: { sinks: [{ kind: 'file', folder: join(folder, 'audit') }] },
    });
    // The approver asks another process than the one that holds the session.
    const session = shape === 'nats' ? await gateway.startPart('session') : gateway.edge;
    admin = await gateway.admin(session);
    using hers = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    await hers.untilTools((names) => names.includes('fetch'));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await Promise.all([web, keys].map((each) => each[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true });
  });

  it('are seen and cleared by approvers, by administrators of a tenant within it, and by no caller for itself', async () => {
    using ann = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    using bob = new ModernClient(gateway.url, {}, keys.headersOf('bob'));
    for (const client of [ann, bob]) {
      const call = (name: string): Promise<Answer> =>
        client === ann ? ann.callTool(name, {}) : bob.call(name, { arguments: {} });
      expect(reasonOf(await call('send'))).toBe('answered');
      expect(reasonOf(await call('fetch'))).toBe('answered');
      expect(reasonOf(await call('send'))).toBe('policy.denied');
    }
    const all = await listFor('app');
    expect(all.map(({ who, kind, tenant }) => `${who[0]} ${kind} ${tenant}`).toSorted()).toEqual([
      'omnibus:keys|ann session acme',
      'omnibus:keys|bob caller beta',
    ]);
    const idOf = (subject: string): string => all.find(({ who }) => who[0]?.endsWith(subject))?.id ?? '';
    expect((await listFor('boss')).map(({ id }) => id)).toEqual([idOf('ann')]);
    expect(await listFor('ann')).toEqual([]);
    const listed = await omnibus('boss', 'list', '--user', 'ann');
    expect(listed).toMatch(new RegExp(`${idOf('ann')} +untrusted +web/fetch +20.*omnibus:keys\\|ann of acme`));
    const clear = (as: string, subject: string): Promise<string> =>
      omnibus(as, 'clear', 'untrusted', '--conversation', idOf(subject), '--reason', 'the page is ours');
    expect(await clear('boss', 'bob')).toMatch(/^5: .*there is no conversation/);
    // No id of a conversation, and no key of a bucket of NATS.
    const made = ['clear', 'untrusted', '--conversation', 'no id', '--reason', 'none'];
    expect(await omnibus('ops', ...made)).toMatch(/^5: .*there is no conversation/);
    expect(await clear('ann', 'ann')).toMatch(/^\d: .*has no role here/);
    expect(await clear('boss', 'ann')).toContain('does not have the label "untrusted" any more');
    expect(reasonOf(await ann.callTool('send', {}))).toBe('answered');
    expect(reasonOf(await bob.call('send', { arguments: {} }))).toBe('policy.denied');
    expect(await clear('ops', 'bob')).toContain('which the result of web/fetch had added');
    expect(reasonOf(await bob.call('send', { arguments: {} }))).toBe('answered');
    expect(await omnibus('app', 'list')).toContain('no conversation has labels');
  });

  it('are on record: their source, the refusals, and each clearing with person and reason', async () => {
    const recordsOf = async (): Promise<readonly JsonObject[]> => {
      const files = await readdir(join(folder, 'audit'));
      const texts = await Promise.all(files.map((file) => readFile(join(folder, 'audit', file), 'utf8')));
      return texts.flatMap((text) => text.trim().split('\n')).map((line) => JSON.parse(line) as JsonObject);
    };
    const members = ['event.name', 'user.id', 'omnibus.server', 'omnibus.label', 'omnibus.reason', 'omnibus.caller'];
    const about = async (): Promise<unknown> =>
      (await recordsOf())
        .filter(
          (record) =>
            /^(flow|admin\.labels)\./.test(String(record['event.name'])) && record['omnibus.outcome'] !== 'denied',
        )
        .map((record) =>
          members
            .filter((name) => record[name] !== undefined)
            .map((name) => String(record[name]))
            .join(' '),
        )
        .toSorted();
    await expect
      .poll(about)
      .toEqual([
        'admin.labels.clear boss web untrusted the page is ours omnibus:keys|ann',
        'admin.labels.clear ops web untrusted the page is ours omnibus:keys|bob',
        'flow.labelled ann web untrusted',
        'flow.labelled bob web untrusted',
      ]);
    const refused = (await recordsOf()).filter((record) => record['omnibus.rule'] === 'no-way-out');
    expect(refused.length).toBeGreaterThan(0);
    for (const record of refused)
      expect(record['omnibus.labels']).toEqual([expect.stringMatching(/^untrusted \(web\/fetch at /)]);
  });
});
