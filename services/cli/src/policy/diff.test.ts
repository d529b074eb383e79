/** What a comparison of two configurations says of rules about labels, grants and decision points. */
import { configOf } from '@omnibus/config/testing';
import { openPolicy } from '@omnibus/admin/policy';
import { compileAccess } from '@omnibus/setup/rules';
import { expect, it } from 'vitest';
import { differencesOf, type Side } from './diff.ts';

const servers =
  'mcpServers: { web: { url: "http://127.0.0.1:1/mcp", flow: outside }, notes: { url: "http://127.0.0.1:2/mcp", flow: closed } }\n';

async function sideOf(more: string): Promise<Side> {
  const text = more.includes('mcpServers') ? more : servers + more;
  const config = configOf(text);
  const policy = await compileAccess(config);
  return policy === undefined ? openPolicy(config) : { config, policy };
}

async function changesOf(before: string, after: string, of = 'a user that no rule names'): Promise<readonly string[]> {
  const found = differencesOf(await sideOf(before), await sideOf(after), []);
  return (found.get(of) ?? []).map(
    ({ what, was, is, rule, gains }) =>
      `${gains === undefined ? '~' : gains ? '+' : '-'} ${what}: ${was} -> ${is} (${rule})`,
  );
}

const all = '{ id: all, who: everyone, allow: "*" }';
const rules = (...each: readonly string[]): string => `access: { rules: [${[all, ...each].join(', ')}] }`;

it.each<[string, string, string, string]>([
  [
    'that the gateway is guarded',
    '',
    'flow: guarded',
    '- web/something: allow -> allow, and ask after untrusted and private (flow:outside)',
  ],
  [
    'the labels that it adds then',
    '',
    'flow: guarded',
    '~ notes/something: allow:  -> allow: label (private) (undefined)',
  ],
  [
    'that it is not guarded any more',
    'flow: guarded',
    '',
    '+ web/something: allow, and ask after untrusted and private -> allow (undefined)',
  ],
  [
    'another word for a server',
    'flow: guarded',
    `${servers.replace('closed', 'shared')}flow: guarded`,
    '- notes/something: allow -> allow, and ask after untrusted and private (flow:shared)',
  ],
  [
    'a hint of the operator by which a guarded tool sends no more',
    `${servers.replace('flow: closed', 'flow: shared, tools: { find: { annotations: { readOnlyHint: false } } }')}flow: guarded`,
    `${servers.replace('flow: closed', 'flow: shared, tools: { find: { annotations: { readOnlyHint: true } } }')}flow: guarded`,
    '+ notes/find: allow, and ask after untrusted and private -> allow (undefined)',
  ],
  [
    'a rule after labels',
    rules(),
    rules('{ id: out, who: everyone, deny: web/send, after: secret }'),
    '- web/send: allow -> allow, and deny after secret (out)',
  ],
  [
    'another label of a rule',
    rules('{ id: out, who: everyone, deny: web/send, after: secret }'),
    rules('{ id: out, who: everyone, deny: web/send, after: [secret, private] }'),
    '~ web/send: until labelled: deny (after secret) -> until labelled: deny (after secret and private) (out)',
  ],
  [
    'another label that results add',
    rules('{ id: l, who: everyone, label: web, as: a }'),
    rules('{ id: l, who: everyone, label: web, as: b }'),
    '~ web/something: allow: label (a) -> allow: label (b) (all)',
  ],
  [
    'how long an approval lasts, and of how many approvers',
    rules('{ id: q, who: everyone, ask: web/send, approvers: "group:x" }'),
    rules('{ id: q, who: everyone, ask: web/send, approvers: "group:x", quorum: 2, lasts: 1h }'),
    '~ web/send: ask: ask (group:x approves) -> ask: ask (group:x approves, 2 of them, and further calls for at most 60 min) (q)',
  ],
])('sees %s', async (_what, before, after, expected) => {
  expect(await changesOf(before, after)).toContain(expected);
  expect(await changesOf(after, after)).toEqual([]);
});

it('sees grants and what their holders may do', async () => {
  const grant = (lasts: string): string =>
    `access: { rules: [{ id: night, who: "grant:night", allow: web/fix }], grants: [{ id: night, who: "group:a", lasts: ${lasts} }] }`;
  const before = 'access: { rules: [] }';
  expect(await changesOf(before, grant('1h'), 'everybody')).toContainEqual(
    expect.stringContaining('+ grant night: none ->'),
  );
  expect(await changesOf(before, grant('1h'), 'grant:night')).toContain('+ web/fix: hidden -> allow (night)');
  expect(await changesOf(grant('1h'), grant('2h'), 'everybody')).toContainEqual(
    expect.stringMatching(/^~ grant night: .*60 min.* -> .*120 min/),
  );
});

it('sees a decision point, and that it is asked otherwise', async () => {
  const point = (more: string): string => `access: { decisions: { url: "https://pdp.example/access/v1"${more} } }`;
  expect(await changesOf('access: { rules: [] }', point(''), 'everybody')).toContainEqual(
    expect.stringContaining('decisions: none -> https://pdp.example/'),
  );
  expect(await changesOf(point(''), point(', cache: 5s'), 'everybody')).toContainEqual(
    expect.stringMatching(/^~ decisions: https:.* -> https:.*, asked otherwise/),
  );
});
