/** Rules about resources: clients may write a URI in many ways. */
import type { EndpointName } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { compileGuardrails } from './guardrails/guardrails.ts';
import { compile, type Policy } from './policy.ts';
import type { Redaction } from './redaction/redaction.ts';
import type { AccessSettings, RuleSettings } from './settings.ts';
import { ann } from './testing/deciding.ts';
import { WantedScopes } from './wanted-scopes.ts';

async function policyOf(rules: readonly RuleSettings[], fallback: AccessSettings['default'] = 'deny'): Promise<Policy> {
  const compiled = await compile({ default: fallback, rules });
  if ('problems' in compiled) throw new Error(JSON.stringify(compiled.problems));
  return compiled.policy;
}

/** The effect, and the id of the rule. @param text `resource:server/uri`. */
function decide(policy: Policy, text: string): string {
  const [, server = '', name = ''] = /^resource:([^/]*)\/(.*)$/su.exec(text) ?? [];
  const { effect, rule, isVisible } = policy.rightsOf(undefined).decide(
    { kind: 'resource', server, name },
    {
      facts: undefined,
      kind: 'resource',
      method: 'resources/read',
      server,
      name,
      args: undefined,
      now: 0,
      address: undefined,
    },
  );
  return `${effect === 'deny' && !isVisible ? 'hidden' : effect}${rule === undefined ? '' : ` ${rule}`}`;
}

const circumstances = (name: string) => ({
  facts: undefined,
  kind: 'resource' as const,
  method: 'resources/read',
  server: 'a',
  name,
  args: undefined,
  now: 0,
  address: undefined,
});

/** The redaction of what server `a` gives for a URI. */
function redactionOf(policy: Policy, name: string): Redaction | undefined {
  return policy.rightsOf(undefined).redaction({ kind: 'resource', server: 'a', name }, circumstances(name));
}

/** The ids of the guardrails about a URI of server `a`, where one is for a glob. */
async function guardsOf(glob: string, name: string): Promise<readonly string[]> {
  const made = await compileGuardrails(
    [{ id: 'hidden', what: `resource:a/${glob}`, mode: 'enforce', hidden: 'all' }],
    () => undefined,
  );
  if ('problems' in made) throw new Error(JSON.stringify(made.problems));
  const found = made.guardrails.about(undefined, { kind: 'resource', server: 'a', name }, () => circumstances(name));
  return (found?.all ?? []).map(({ id }) => id);
}

describe('a URI is compared in all forms in which a server may read it', () => {
  const secret = [
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    'file:/etc/passwd',
    'file://localhost/etc/passwd',
    'file://LOCALHOST/etc/passwd',
    'file:///%65tc/passwd',
    'file:///%2565tc/passwd',
    'file:///srv/../etc/passwd',
    'file:///srv/%2e%2e/etc/passwd',
    'file:///srv/%2E%2E%2Fetc/passwd',
    'file:////etc//passwd',
    'file:///./etc/passwd',
    'file:///srv\\..\\etc/passwd',
    'file:etc/passwd',
    'fi\tle:///etc/passwd',
    'file:///e\ttc/passwd',
    'file:///etc/pass\nwd',
    ' file:///etc/passwd',
    '\u0001file:///etc/passwd',
    '\u00A0file:///etc/passwd',
    '\uFEFF\u2003file:etc/passwd',
    'file:///srv/.\t./etc/passwd',
  ];
  it.each(secret)('where a rule denies: %s', async (uri) => {
    const denies = await policyOf([{ id: 'no', who: 'everyone', deny: 'resource:files/file:///etc/*' }], 'allow');
    expect(decide(denies, `resource:files/${uri}`)).toBe('hidden no');
    expect(decide(denies, 'resource:files/file:///srv/etc/passwd')).toBe('allow');
    const exact = await policyOf([{ id: 'no', who: 'everyone', deny: 'resource:files/file:///etc/passwd' }], 'allow');
    expect([uri, `${uri}?a=b`, `${uri}#a`].map((each) => decide(exact, `resource:files/${each}`))).toEqual([
      'hidden no',
      'hidden no',
      'hidden no',
    ]);
  });

  it('where a rule denies the URI, and blanks that servers remove follow it', async () => {
    const exact = await policyOf([{ id: 'no', who: 'everyone', deny: 'resource:files/file:///etc/passwd' }], 'allow');
    for (const blank of [' ', '\u00A0', '\u2028', '\uFEFF', '\u0085'])
      expect(decide(exact, `resource:files/file:///etc/passwd${blank}`), blank).toBe('hidden no');
  });

  it.each([
    ['file:///srv/public/a.txt', true],
    ['file:///srv/public/a%20b.txt?x=/../y', true],
    ['file:///srv/public/../secret', false],
    ['file:///srv/public/%2e%2e/secret', false],
    ['file:///srv/public/x/../a.txt', true],
    ['file:///srv/public/..%5csecret', false],
    ['file:///srv/public/..', false],
    ['file:///srv/public/a..b', true],
    ['file:///srv/public/%zz', true],
  ])('where a rule allows, its dots may not lead out of what is allowed: %s', async (uri, isAllowed) => {
    const allows = await policyOf([{ id: 'yes', who: 'everyone', allow: 'resource:files/file:///srv/public/*' }]);
    expect(decide(allows, `resource:files/${uri}`)).toBe(isAllowed ? 'allow yes' : 'hidden');
  });

  it('of any scheme, and in its host too', async () => {
    const denies = await policyOf([{ id: 'no', who: 'everyone', deny: 'resource:a/x://no/*' }], 'allow');
    expect(
      ['X://no/1', 'x://%6eo/1', 'x://NO/1', 'x://no/./1', 'x://no//1', 'x://ok/../no/1', 'x:no/1'].map((uri) =>
        decide(denies, `resource:a/${uri}`),
      ),
    ).toEqual(['hidden no', 'hidden no', 'hidden no', 'hidden no', 'hidden no', 'allow', 'allow']);
  });

  it('a URI with a host, capital letters or a query is what its server calls it where a rule allows', async () => {
    const allows = await policyOf([
      {
        id: 'yes',
        who: 'everyone',
        allow: ['resource:a/Config://Main/*', 'resource:a/https://Docs.example/items?*', 'resource:a/x:y'],
      },
    ]);
    expect(
      ['Config://Main/A', 'https://Docs.example/items?page=1', 'x:y'].map((uri) => decide(allows, `resource:a/${uri}`)),
    ).toEqual(['allow yes', 'allow yes', 'allow yes']);
  });
});

it.each([
  ['https://intranet/*', ['https:intranet/x', 'https:///intranet/x', 'https://intranet:443/x', 'https://u@intranet/x']],
  [
    'https://intranet/*',
    ['https://in\ttranet/x', 'https://intranet./x', 'https:\\\\intranet\\x', 'https://u:p@INTRANET./x'],
  ],
  ['https://INTRANET.:443/*', ['https://intranet/x', 'https://intranet/x?y']],
  ['https://*.intranet:443/*', ['https://a.intranet/x', 'https://A.intranet:443/x']],
  ['file:///R/my%20docs/*', ['file:///R/my docs/x', 'file:///R/%6dy%20docs/x', 'file:///R/my%2520docs/x']],
  ['file:///R/my docs/*', ['file:///R/my%20docs/x', 'file:///R/%6dy%20docs/x']],
  ['file:///R/[ab]%2a/*', ['file:///R/a*/x', 'file:///R/b%2A/x']],
  ['https://bücher.example/*', ['https://xn--bcher-kva.example/x', 'https://B%C3%BCcher.example/x']],
])('a rule that asks or redacts, and a guardrail, for %s is in the same normal form as %j', async (glob, uris) => {
  const policy = await policyOf(
    [
      { id: 'first', who: 'everyone', ask: `resource:a/${glob}` },
      { id: 'out', who: 'everyone', redact: `resource:a/${glob}`, patterns: 'email' },
    ],
    'allow',
  );
  expect(uris.map((uri) => decide(policy, `resource:a/${uri}`))).toEqual(uris.map(() => 'ask first'));
  const said = (uri: string): unknown => redactionOf(policy, uri)?.said('write to ann@example.com');
  expect(uris.map(said)).toEqual(uris.map(() => 'write to [redacted]'));
  expect(said('https://else/x')).toBeUndefined();
  expect(await Promise.all(uris.map((uri) => guardsOf(glob, uri)))).toEqual(uris.map(() => ['hidden']));
  expect(await guardsOf(glob, 'https://else/x')).toEqual([]);
  expect(decide(policy, 'resource:a/https://else/x')).toBe('allow');
});

it('a scope that some URIs need is needed for all forms of them', () => {
  const scopes = new WantedScopes(
    [],
    [{ scope: 'secrets', for: ['resource:files/file:///etc/*'], endpoints: [], impliedBy: [] }],
  );
  const missing = (name: string): unknown =>
    scopes.missing(ann, 'x' as EndpointName, { kind: 'resource', server: 'files', name });
  expect(
    ['FILE:///srv/../etc/passwd', 'file:etc/passwd', 'file:///e\ttc/x', 'file:///srv/passwd'].map(missing),
  ).toEqual([['secrets'], ['secrets'], ['secrets'], undefined]);
});
