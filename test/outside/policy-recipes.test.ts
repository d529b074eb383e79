/** The policies of docs/how-to/policy.md and docs/how-to/flow.md, and the examples of docs/how-to/guardrails.md, copied from there, with their cases; and the commands about rules. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { saidHere } from '../support/command-here.ts';
import { root } from '../support/processes.ts';

const recipes = [
  'teams',
  'readers',
  'amounts',
  'hours',
  'careful',
  'agents',
  'acting',
  'tenants',
  'folders',
  'approvals',
  'lasting',
  'quorum',
  'decisions',
  'grants',
  'issuers',
  'redacted',
  'claims',
  'freeze',
  'tickets',
  'secrets',
  'strangers',
  'classifier',
  'labels',
  'guarded',
];

let folder: string;
let blocks: ReadonlyMap<string, string>;

const omnibus = (...args: readonly string[]) => saidHere(args);

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-policy-'));
  const pages = await Promise.all(
    ['policy', 'guardrails', 'flow'].map((page) => readFile(join(root, `docs/how-to/${page}.md`), 'utf8')),
  );
  blocks = new Map(
    [...pages.join('\n').matchAll(/```yaml (\S+)\n([\s\S]*?)```/g)].map(([, name = '', text = '']) => [name, text]),
  );
  for (const [name, text] of blocks)
    await write(`${name}.yaml`, name.endsWith('-cases') ? `config: ${name.replace('-cases', '')}.yaml\n${text}` : text);
});

afterAll(() => rm(folder, { recursive: true }));

it('every policy and example of the pages is tested here, and has cases', () => {
  expect([...blocks.keys()].toSorted()).toEqual(recipes.flatMap((name) => [name, `${name}-cases`]).toSorted());
});

it.each(recipes)(
  '%s: its cases have the outcomes that the page names, and the configuration is valid',
  async (name) => {
    const [tested, checked] = await Promise.all([
      omnibus('policy', 'test', join(folder, `${name}-cases.yaml`)),
      omnibus('check', join(folder, `${name}.yaml`)),
    ]);
    expect(tested.output).not.toContain('FAILED');
    expect(tested).toMatchObject({
      status: 0,
      output: expect.stringMatching(/(\d+) of \1 cases are as expected/) as string,
    });
    expect(checked).toMatchObject({ status: 0, output: expect.stringContaining('is good') as string });
  },
);

it('a case with another outcome fails and names that outcome', async () => {
  const cases = await write(
    'wrong-cases.yaml',
    'config: teams.yaml\ncases: [{ as: "group:eng", call: stripe/refund, expect: allow }, { as: "group:eng", call: github/get, expect: allow, rule: payments }]',
  );
  const { status, output } = await omnibus('policy', 'test', cases);
  expect(status).toBe(1);
  expect(output).toContain('FAILED 1 group:eng stripe/refund: hidden; expected allow');
  expect(output).toContain('FAILED 2 group:eng github/get: allow by eng; expected allow by payments');
});

it('a case that would tell nothing of the rules is an error, and no case that is as expected', async () => {
  const wrong = [
    'as: eng, call: stripe/x',
    'as: everyone, call: stripe/x',
    'as: "group: eng", call: stripe/x',
    'as: { user: ann }, call: stripe/x',
    'as: nobody, call: strpie/x',
    'as: nobody, call: "stripe/*"',
    'as: nobody, call: stripe',
    'as: nobody, call: stripe/x, at: yesterday',
    'as: nobody, call: stripe/x, at: "2026-11-23T09:00"',
    'as: nobody, call: stripe/x, from: office',
  ];
  const { status, output } = await omnibus(
    'policy',
    'test',
    await write(
      'nothing-cases.yaml',
      `config: teams.yaml\ncases:\n${wrong.map((each) => `  - { ${each}, expect: hidden }\n`).join('')}`,
    ),
  );
  expect(status).toBe(78);
  for (const [index] of wrong.entries()) expect(output).toContain(`nothing-cases.yaml: cases.${index}: `);
  const explained = (...args: string[]): ReturnType<typeof omnibus> =>
    omnibus('policy', 'explain', ...args, '--config', join(folder, 'tenants.yaml'));
  expect((await explained('eng', 'weather/today')).status).toBe(64);
  expect((await explained('tenant:acme', 'wheather/today')).status).toBe(5);
  expect((await explained('{"tenant":"acme","group":"sales"}', 'crm-acme/export')).output).toContain('allow by acme');
});

/** What `policy explain` prints of a question to the rules of one recipe. */
async function explained(recipe: string, who: string, what: string, ...more: readonly string[]): Promise<string> {
  return (await omnibus('policy', 'explain', who, what, '--config', join(folder, `${recipe}.yaml`), ...more)).output;
}

it('explain says of each rule why it matches or not', async () => {
  const output = await explained(
    'amounts',
    'group:support',
    'stripe/refund',
    '--args',
    '{"amount":500,"currency":"EUR"}',
  );
  expect(output).toContain('group:support stripe/refund: deny by refunds (more than 100 is refunded by finance)');
  expect(output).toContain('allow refunds: matches, and its conditions are not met');
});

it.each([
  ['100.0', 'allow'],
  ['1e2', 'allow'],
  ['100.00000000000000000001', 'deny'],
])('explain reads the number %s as a running gateway does', async (amount, outcome) => {
  const args = `{"amount":${amount},"currency":"EUR"}`;
  const output = await explained('amounts', 'group:support', 'stripe/refund', '--args', args);
  expect(output).toContain(`group:support stripe/refund: ${outcome} by refunds`);
});

it('explain names the guardrails that look at a message, also where there are no rules', async () => {
  const output = await explained('classifier', 'nobody', 'shell/run');
  expect(output).toContain('nobody shell/run: allow by default');
  expect(output).toContain('guard judge: looks at requests (asks moderation/check)');
  expect(output).toContain(
    'guard next: looks at requests, results, questions (asks https://guard.example.com, only recorded)',
  );
});

it('check says which guardrail is wrong, and which is probably not meant', async () => {
  const [wrong, odd] = [
    await write(
      'wrong-guard.yaml',
      'mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\nguardrails: [{ id: x, tool: none/check }, { id: y, markers: true, action: deny }]\n',
    ),
    await write(
      'odd-guard.yaml',
      'mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\nguardrails: [{ id: x, what: b/c, hidden: all }, { id: y, who: "group:z", markers: true }, { id: w, webhook: { url: "http://guard.example.com/" } }]\n',
    ),
  ];
  const [refused, warned] = await Promise.all([omnibus('check', wrong), omnibus('check', odd)]);
  expect(refused.status).not.toBe(0);
  expect(refused.output).toContain('only ever labelled');
  expect(refused.output).toContain('there is no server "none" under mcpServers');
  expect(warned).toMatchObject({
    status: 0,
    output: expect.stringMatching(
      /guardrail "x" can never look at "b\/c"[^]*guardrail "y" names callers[^]*in the clear/,
    ) as string,
  });
});

it('diff says who gains and who loses access', async () => {
  const changed = await write(
    'changed.yaml',
    (blocks.get('teams') as string)
      .replace('allow: [github]', 'allow: ["github/get_*"]')
      .replace('who: "group:payments", allow', 'who: ["group:payments", "group:new"], allow'),
  );
  const { output, status } = await omnibus('policy', 'diff', join(folder, 'teams.yaml'), changed);
  expect(status).toBe(0);
  expect(output).toMatch(/group:new\n(?: {2}\+ .*\n)* {2}\+ stripe\/something: hidden -> allow \(payments\)/);
  expect(output).toMatch(/group:eng\n(?:.*\n)*? {2}- github\/something: allow -> hidden/);
  expect((await omnibus('policy', 'diff', changed, changed)).output).toBe('nobody gains or loses anything');
});

describe('diff', () => {
  const server = 'mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\n';
  const rules = (...each: string[]): string => `${server}access: { rules: [${each.join(', ')}] }\n`;
  const one = (more: string): string => rules(`{ id: r, who: "group:e", ${more} }`);
  it.each<[string, string, string, string]>([
    [
      'alternatives of a glob',
      one('allow: ["a/{get,list}"]'),
      one('allow: ["a/{get,list,drop}"]'),
      'group:e\n  + a/drop: hidden -> allow (r)',
    ],
    [
      'characters of a set',
      one('allow: ["a/[gl]et"]'),
      one('allow: ["a/[gls]et"]'),
      'group:e\n  + a/set: hidden -> allow (r)',
    ],
    [
      'conditions',
      one('allow: [a/x], args: { n: { max: 100 } }'),
      one('allow: [a/x], args: { n: { max: 5000 } }'),
      'group:e\n  ~ a/x: in part: allow (n at most 100) -> in part: allow (n at most 5000) (r)',
    ],
    [
      'who approves',
      one('ask: [a/x], approvers: "group:x"'),
      one('ask: [a/x], approvers: ["group:x", "group:y"]'),
      'group:e\n  ~ a/x: ask: ask (group:x approves) -> ask: ask (group:x or group:y approves) (r)',
    ],
    [
      'what is redacted',
      rules(
        '{ id: r, who: everyone, allow: [a] }',
        '{ id: q, who: "group:e", redact: [a/x], patterns: [email, card] }',
      ),
      rules('{ id: r, who: everyone, allow: [a] }', '{ id: q, who: "group:e", redact: [a/x], patterns: [email] }'),
      'group:e\n  ~ a/x: redacted: redact (email, card) -> redacted: redact (email) (q)',
    ],
    [
      'callers of two groups',
      rules('{ id: r, who: "group:e", allow: [a] }', '{ id: s, who: "group:f", deny: [a/drop] }'),
      rules('{ id: r, who: "group:e", allow: [a] }'),
      'group:e and group:f\n  + a/drop: hidden -> allow (r)',
    ],
    [
      'rules that are only recorded',
      one('allow: [a]'),
      one('allow: [a]').replace('access: {', 'access: { mode: record,'),
      'everybody\n  + mode: enforce -> record',
    ],
    [
      'guardrails',
      `${one('allow: [a]')}guardrails: [{ id: g, patterns: key }]\n`,
      one('allow: [a]'),
      'everybody\n  + guardrail g: looks -> gone',
    ],
    [
      'a server of tenants',
      `${server.replace(' } }', ', tenants: [acme] } }')}access: { default: allow }\n`,
      `${server}access: { default: allow }\n`,
      '+ a/something: hidden -> allow',
    ],
    ['no rules any more', one('allow: [a/x]'), server, '+ a/x: hidden -> allow'],
  ])('sees %s', async (_what, before, after, expected) => {
    const { status, output } = await omnibus(
      'policy',
      'diff',
      await write('before.yaml', before),
      await write('after.yaml', after),
    );
    expect([status, output]).toEqual([0, expect.stringContaining(expected)]);
  });
});

it('check names line and rule of an error, and warns of rules that can never match', async () => {
  const wrong = await write(
    'wrong.yaml',
    'mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\naccess:\n  rules:\n    - { id: one, who: everyone, allow: ["a/*"] }\n    - { id: two, whom: everyone, who: eng, allow: ["a/*"] }\n',
  );
  expect(await omnibus('check', wrong)).toMatchObject({
    status: 78,
    output: expect.stringMatching(
      /wrong\.yaml:5:\d+: access\.rules\[1\]\.whom: unknown option; did you mean "who"\?/,
    ) as string,
  });
  const meaningless = await write(
    'meaningless.yaml',
    'mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\naccess:\n  rules:\n    - { who: eng, allow: ["a/*"] }\n    - { who: everyone, allow: ["a/*"], only: readOnly }\n    - { who: everyone, allow: [a], when: args.x.matches("y") }\n',
  );
  const { status, output } = await omnibus('check', meaningless);
  expect(status).toBe(78);
  expect(output).toMatch(/meaningless\.yaml:4:\d+: access\.rules\[0\]\.who: expected "everyone"/);
  expect(output).toMatch(/meaningless\.yaml:5:\d+: access\.rules\[1\]\.only: nobody vouches for what tools of a say/);
  expect(output).toMatch(/meaningless\.yaml:6:\d+: access\.rules\[2\]\.when: .*matches.*not taken/);
  const odd = await write(
    'odd.yaml',
    'mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\naccess: { rules: [{ id: far, who: "group:x", deny: ["b/*", "a/x"] }, { id: held, who: everyone, ask: [a/y], approvers: ["group:ops"] }] }\nlimits: { rules: [{ id: few, rate: 1/s, what: ["tool:c/*", a] }] }\n',
  );
  const warned = await omnibus('check', odd);
  expect(warned.status).toBe(0);
  expect(warned.output).toContain('rule "far" can never match "b/*": there is no such server');
  expect(warned.output).toContain('limit "few" can never match "tool:c/*": there is no such server');
  expect(warned.output).toContain('names callers, and nothing says how they are known');
  expect(warned.output).toContain('rule "held" stops no program of this machine');
});

it('check tells newcomers what they have written where it is probably not what they meant', async () => {
  const rules = [
    ['globs', '{ who: "scope:mcp-*", except: { group: "group:x" }, deny: [a] }'],
    ['nobody', '{ who: everyone, except: everyone, deny: [a] }'],
    ['dots', '{ who: everyone, deny: [a/b], args: { "$.filter.limit": { max: 3 } } }'],
    ['regex', '{ who: everyone, deny: [a/b], args: { path: { pattern: "^/srv/.*$" } } }'],
    ['reads', '{ who: everyone, allow: ["resource:a/*"], args: { path: { pattern: "x" } } }'],
    ['both', '{ who: everyone, deny: ["a/*"], only: [openWorld, closedWorld] }'],
    ['claimed', '{ who: "claim:department=sales", deny: [a/b] }'],
    ['words', '{ who: everyone, redact: [a], patterns: [emails] }'],
  ]
    .map(([id = '', rule = '']) => `    - ${rule.replace('{ ', `{ id: ${id}, `)}\n`)
    .join('');
  const { status, output } = await omnibus(
    'check',
    await write(
      'newcomer.yaml',
      `mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\naccess:\n  rules:\n${rules}guardrails: [{ id: g, patterns: [keys] }]\n`,
    ),
  );
  expect(status).toBe(0);
  for (const warning of [
    'rule "globs" names the scope "mcp-*" exactly',
    'rule "globs" names the group "group:x"; write "x"',
    'rule "nobody" can never match: it excepts everyone',
    'rule "dots" is about an argument called "$.filter.limit"; a value in an argument is named by a pointer such as "/filter/limit"',
    'rule "regex" compares path with the glob "^/srv/.*$", which looks like a regular expression',
    'rule "reads" has conditions on arguments, and reads of resources have none: it allows none of them',
    'rule "both" can never match: no tool is both openWorld and closedWorld',
    'rule "claimed" names the claim "department", which no issuer passes on; add it to `claims` of its issuer',
    'rule "words" searches for the text "emails"; the patterns with a name are email, card, iban, key',
    'guardrail "g" searches for the text "keys"',
  ])
    expect(output).toContain(warning);
  const limit = await omnibus(
    'check',
    await write(
      'limit.yaml',
      'mcpServers: { a: { url: "http://127.0.0.1:1/mcp" } }\nlimits:\n  rules:\n    - { id: a, who: "user:ann", rate: 1/s }\n',
    ),
  );
  expect(limit).toMatchObject({
    status: 78,
    output: expect.stringMatching(
      /limit\.yaml:4:\d+: limits\.rules\[0\]\.who: expected "user:ISSUER\|SUBJECT"/,
    ) as string,
  });
});
