/** Adds, shows, blocks, rotates and removes agents at the admin port of a running gateway. */
import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AgentSeen } from '@omnibus/admin-api';
import { CommandProblem } from '@omnibus/client';
import { printable } from '@omnibus/protocol';
import { answerEither, answerJson, answerList, answer, notice, runCommand } from '../output/outcome.ts';
import { askApi, type ApiOptions } from './api.ts';
import { durationOf } from './durations.ts';

export interface AddAgentOptions extends ApiOptions {
  readonly owner: string;
  readonly tenant?: string;
  readonly group?: readonly string[];
  readonly scope?: readonly string[];
  readonly endpoint?: readonly string[];
  readonly expires?: string;
  readonly key?: string;
  readonly workload?: true;
  readonly note?: string;
}

export function addAgent(name: string, options: AddAgentOptions): Promise<void> {
  const { owner, tenant, group = [], scope = [], endpoint, expires, key, workload, note } = options;
  return runCommand(options.json, async () => {
    const made = await askApi(options, 'makeAgent', '/agents', 'POST', {
      name,
      owner,
      tenant,
      groups: [...group],
      scopes: [...scope],
      endpoints: endpoint === undefined ? undefined : [...endpoint],
      expires,
      note,
      keys: keysOf(key),
      ...(workload === undefined ? {} : { isWorkload: workload }),
    });
    show(options, made, `agent ${name} of ${printable(owner)} was added; its client id is ${made.client}`);
  });
}

export function listAgents({ json = false, ...options }: ApiOptions): Promise<void> {
  return runCommand(json, async () => {
    const { agents } = await askApi(options, 'agents', '/agents');
    answerList(json, agents, {
      head: ['NAME', 'OWNER', 'STATE', 'GROUPS', 'EXPIRES', 'LAST USE'],
      rows: agents.map(({ name, owner, state, groups, expires, lastUse }) => [
        name,
        printable(owner),
        state,
        groups.map((group) => printable(group)).join(', ') || '-',
        expires ?? '-',
        lastUse ?? '-',
      ]),
      none: 'there are no agents; "omnibus agents add" adds one',
    });
  });
}

export function showAgent(name: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { agents } = await askApi(options, 'agents', '/agents');
    const agent = agents.find((each) => each.name === name);
    if (agent === undefined)
      throw new CommandProblem('unknown', `there is no agent ${JSON.stringify(name)}`, {
        advice: '"omnibus agents list" shows them.',
      });
    answerEither(options.json, agent, linesOf(agent));
  });
}

export function blockAgent(
  name: string,
  { for: lasts, because, ...options }: ApiOptions & { readonly for?: string; readonly because?: string },
): Promise<void> {
  return runCommand(options.json, async () => {
    const forMs = durationOf('--for', lasts);
    await askApi(options, 'block', '/blocks', 'POST', { kind: 'user', name: `agent:${name}`, forMs, because });
    answerEither(options.json, { name, isBlocked: true }, `agent ${printable(name)} is blocked\n`);
  });
}

export function unblockAgent(name: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    await askApi(options, 'unblock', `/blocks/${encodeURIComponent(`user:agent:${name}`)}`, 'DELETE');
    answerEither(options.json, { name, isBlocked: false }, `agent ${printable(name)} is not blocked any more\n`);
  });
}

export function rotateAgent(
  name: string,
  { keep, key, ...options }: ApiOptions & { readonly keep?: string; readonly key?: string },
): Promise<void> {
  return runCommand(options.json, async () => {
    const keepMs = durationOf('--keep', keep) ?? 0;
    const path = `/agents/${encodeURIComponent(name)}`;
    const made = await askApi(options, 'rotateAgent', path, 'POST', { keepMs, keys: keysOf(key) });
    const old =
      keepMs === 0 ? 'the old one and all tokens have ended' : `the old one is valid for ${String(keep)} more`;
    show(options, made, `agent ${name} has another ${made.secret === undefined ? 'key' : 'secret'}; ${old}`);
  });
}

export function removeAgent(name: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    await askApi(options, 'removeAgent', `/agents/${encodeURIComponent(name)}`, 'DELETE');
    answerEither(options.json, { name, isRemoved: true }, `agent ${printable(name)} was removed, with its tokens\n`);
  });
}

/** Prints a secret to stdout and the rest to stderr. */
function show(
  { json }: ApiOptions,
  made: { readonly name: string; readonly client: string; readonly secret?: string | undefined },
  words: string,
): void {
  if (json === true) {
    answerJson(made);
    return;
  }
  notice(`omnibus: ${words}`);
  if (made.secret !== undefined) answer(`${made.secret}\n`);
}

function linesOf(agent: AgentSeen): string {
  const { groups, scopes, endpoints, blockedUntil, ...rest } = agent;
  const lists = [
    ['groups', groups.join(', ')],
    ['scopes', scopes.join(', ')],
    ['endpoints', endpoints?.map((each) => (each === '' ? '/mcp' : each)).join(', ') ?? 'all'],
    ['blocked until', blockedUntil === undefined ? '' : new Date(blockedUntil).toISOString()],
  ];
  return [...Object.entries(rest), ...lists]
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${label.padEnd(14)}${printable(String(value))}\n`)
    .join('');
}

/** The public key of a file. A private key is not read: it stays with the agent. @throws {CommandProblem} */
function keysOf(file: string | undefined): Record<string, unknown>[] | undefined {
  if (file === undefined) return undefined;
  try {
    const text = readFileSync(file, 'utf8');
    if (text.includes('PRIVATE KEY')) throw new Error('it is a private key; give the public one');
    const jwk = text.trimStart().startsWith('{')
      ? (JSON.parse(text) as Record<string, unknown>)
      : createPublicKey(text).export({ format: 'jwk' });
    if ('d' in jwk) throw new Error('it is a private key; give the public one');
    return [{ ...jwk }];
  } catch (error) {
    throw new CommandProblem('usage', `--key: ${file} cannot be used: ${(error as Error).message}`);
  }
}
