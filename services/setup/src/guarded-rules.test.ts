/** What `flow: guarded` labels and asks about, by the word of the operator and by hints, believed or not. */
import { trustedHints, type Config } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import type { Policy } from '@omnibus/policy';
import type { JsonObject, Labels } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { compileAccess } from './access.ts';

const url = 'http://127.0.0.1:1/mcp';
const mcpServers = {
  web: { url, flow: 'outside' },
  mail: { url, flow: 'shared', hints: 'believe' },
  files: { url, flow: 'closed' },
  notes: { url, flow: 'store' },
  believed: { url, hints: 'believe' },
  stranger: { url },
};

const configWith = (settings: object): Config => configOf({ mcpServers, ...settings });

const both: Labels = { has: () => true, sourceOf: (label) => `web/${label}` };
const half: Labels = { has: (label) => label === 'private', sourceOf: () => undefined };

/** What a call of a tool adds, and what becomes of it in a conversation that has read both. */
function about(config: Config, policy: Policy | undefined, server: string, annotations: JsonObject, endpoint = '') {
  const settings = config.mcpServers[server];
  const hints = settings === undefined ? undefined : trustedHints(settings, 'tool', annotations);
  const target = {
    kind: 'tool',
    server,
    name: 'tool',
    ...(hints === undefined ? {} : { annotations: hints }),
  } as const;
  const around = { ...target, facts: undefined, method: 'tools/call', args: {}, now: 0, address: undefined, endpoint };
  const rights = policy?.rightsOf(undefined);
  const after = (labels: Labels): string | undefined => rights?.decide(target, { ...around, labels }).effect;
  expect(after(half)).toBe('allow');
  return [...new Set(rights?.labels(target, around).map(({ label }) => label)), after(both)];
}

const reads = { readOnlyHint: true };
const closed = { openWorldHint: false };

describe('flow: guarded', () => {
  it.each<[string, string, JsonObject, string[]]>([
    ['outside: a read sends too', 'web', reads, ['untrusted', 'ask']],
    ['outside: the word of the operator comes first', 'web', closed, ['untrusted', 'ask']],
    ['shared: a read does not send', 'mail', reads, ['untrusted', 'private', 'allow']],
    ['shared: a tool that writes sends', 'mail', {}, ['untrusted', 'private', 'ask']],
    ['closed: nothing sends', 'files', {}, ['private', 'allow']],
    ['store: nothing sends, and text of strangers may wait there', 'notes', {}, ['untrusted', 'private', 'allow']],
    ['believed, and open', 'believed', {}, ['untrusted', 'private', 'ask']],
    ['believed, and open, a read', 'believed', reads, ['untrusted', 'private', 'allow']],
    ['believed, and closed', 'believed', closed, ['private', 'allow']],
    [
      'a stranger that says it reads in a closed world',
      'stranger',
      { ...reads, ...closed },
      ['untrusted', 'private', 'ask'],
    ],
  ])('%s', async (_what, server, annotations, expected) => {
    const config = configWith({ flow: 'guarded' });
    expect(about(config, await compileAccess(config), server, annotations)).toEqual(expected);
  });

  it('is about guarded endpoints, and permits nothing', async () => {
    const config = configWith({
      profiles: { safe: { flow: 'guarded' }, free: {} },
      access: { default: 'allow', rules: [{ who: 'everyone', deny: 'mail' }] },
    });
    const policy = await compileAccess(config);
    expect(about(config, policy, 'web', {}, 'safe')).toEqual(['untrusted', 'ask']);
    expect(about(config, policy, 'web', {}, 'free')).toEqual(['allow']);
    const closedConfig = configWith({ flow: 'guarded', access: { rules: [] } });
    const target = { kind: 'tool', server: 'web', name: 'tool' } as const;
    const around = {
      ...target,
      facts: undefined,
      method: 'tools/call',
      args: {},
      now: 0,
      address: undefined,
      endpoint: '',
    };
    const rights = (await compileAccess(closedConfig))?.rightsOf(undefined);
    expect(rights?.decide(target, { ...around, labels: both })).toMatchObject({ effect: 'deny', isVisible: false });
  });

  it('is off without the option', async () => {
    expect(await compileAccess(configWith({}))).toBeUndefined();
  });
});
