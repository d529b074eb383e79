/**
 * The rules of endpoints with `flow: guarded`: results label the conversation `untrusted` and `private`, and once it has both, a request that sends needs an approval.
 *
 * A server may be lying, so its hints can only tighten these rules unless the operator trusts them: without trust, everything that it says is untrusted and private, and
 * every request to it sends. The operator's own word about a server (`flow` under `mcpServers`) comes first.
 */
import { enabledServers, type Config } from '@omnibus/config';
import type { RuleSettings } from '@omnibus/policy';

const untrusted = 'untrusted';
const privateData = 'private';

const because =
  'untrusted content and private data were read in this conversation, and this request can send them away';

/** @returns none where no endpoint is guarded. */
export function guardedRules(config: Config): readonly RuleSettings[] {
  const endpoints = guardedEndpoints(config);
  if (endpoints.length === 0) return [];
  const named: Record<'outside' | 'shared' | 'store' | 'closed' | 'said', string[]> = {
    outside: [],
    shared: [],
    store: [],
    closed: [],
    said: [],
  };
  for (const [server, { flow = 'said' }] of enabledServers(config)) named[flow].push(server);
  const { outside, shared, store, closed, said } = named;
  const tools = said.map((server) => `${server}/*`);
  const others = said.flatMap((server) => [`resource:${server}`, `prompt:${server}`]);
  const label = (id: string, as: string, what: readonly string[], more: Partial<RuleSettings> = {}): RuleSettings => ({
    ...made(id, endpoints),
    label: what,
    as,
    ...more,
  });
  const ask = (id: string, what: readonly string[], more: Partial<RuleSettings> = {}): RuleSettings => ({
    ...made(id, endpoints),
    ask: what,
    onlyAsks: true,
    after: [untrusted, privateData],
    because,
    ...more,
  });
  return [
    label('flow:untrusted', untrusted, [...outside, ...shared, ...store, ...others]),
    label('flow:untrusted-by-hint', untrusted, tools, { only: 'openWorld' }),
    label('flow:private', privateData, [...shared, ...store, ...closed, ...said]),
    ask('flow:outside', [...outside, ...others]),
    ask(
      'flow:shared',
      shared.map((server) => `${server}/*`),
      { only: 'writes' },
    ),
    ask('flow:by-hint', tools, { only: ['openWorld', 'writes'] }),
  ].filter((rule) => [rule.label ?? rule.ask ?? []].flat().length > 0);
}

const made = (id: string, endpoints: readonly string[]): RuleSettings => ({ id, who: 'everyone', endpoints });

/** The root endpoint is ''. */
function guardedEndpoints({ flow, profiles }: Config): readonly string[] {
  return [
    ...(flow === 'guarded' ? [''] : []),
    ...Object.entries(profiles)
      .filter(([, own]) => (own.flow ?? flow) === 'guarded')
      .map(([name]) => name),
  ];
}
