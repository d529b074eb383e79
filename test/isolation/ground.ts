/** Servers of every transport, era and isolation mode, their observations, and the gateway's configuration for them. */
import { appendFileSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fixturePath } from '../support/processes.ts';
import type { ServerUnderTest } from './actions.ts';
import type { Caller } from './caller.ts';
import { Guard } from './guard.ts';
import { KeeperHost } from './keeper-hosts.ts';
import type { Note } from './keeper.ts';
import type { Secret } from './markers.ts';

export const servers: readonly ServerUnderTest[] = [
  { name: 'pipe', transport: 'stdio', revision: '2025-11-25', isolation: 'auto' },
  { name: 'pipeshared', transport: 'stdio', revision: '2025-06-18', isolation: 'shared' },
  { name: 'pipeprincipal', transport: 'stdio', revision: '2025-11-25', isolation: 'principal' },
  { name: 'pipesession', transport: 'stdio', revision: '2025-06-18', isolation: 'session' },
  { name: 'pipemodern', transport: 'stdio', revision: '2026-07-28', isolation: 'auto' },
  { name: 'web', transport: 'http', revision: '2025-11-25', isolation: 'auto' },
  { name: 'webshared', transport: 'http', revision: '2025-11-25', isolation: 'shared' },
  { name: 'webprincipal', transport: 'http', revision: '2025-06-18', isolation: 'principal' },
  { name: 'websession', transport: 'http', revision: '2025-11-25', isolation: 'session' },
  { name: 'webmodern', transport: 'http', revision: '2026-07-28', isolation: 'auto' },
  { name: 'webmodernsession', transport: 'http', revision: '2026-07-28', isolation: 'session' },
  { name: 'events', transport: 'sse', revision: '2024-11-05', isolation: 'auto' },
  { name: 'eventssession', transport: 'sse', revision: '2024-11-05', isolation: 'session' },
  { name: 'socket', transport: 'ws', revision: '2025-11-25', isolation: 'auto' },
  { name: 'socketshared', transport: 'ws', revision: '2025-06-18', isolation: 'shared' },
  { name: 'socketmodern', transport: 'ws', revision: '2026-07-28', isolation: 'auto' },
];

/** Servers at which known callers sign in, so that calls use the caller's own tokens. */
export const guarded = ['webprincipal', 'webmodern'] as const;

export class Ground {
  readonly #more: object;
  readonly #hasSignIns: boolean;
  readonly #folder: string;
  readonly #hosts: readonly KeeperHost[];
  readonly #entries: ReadonlyMap<string, object>;
  /** Problems that were reported already. */
  readonly #said = new Set<string>();
  #reloads = 0;

  private constructor(
    folder: string,
    hosts: readonly KeeperHost[],
    entries: ReadonlyMap<string, object>,
    more: object,
    hasSignIns: boolean,
  ) {
    this.#more = more;
    this.#hasSignIns = hasSignIns;
    this.#folder = folder;
    this.#hosts = hosts;
    this.#entries = entries;
  }

  /** @param more further members of the gateway's configuration. @param hasSignIns whether some servers are guarded. */
  static async start(more: object, hasSignIns: boolean): Promise<Ground> {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-isolation-'));
    const journal = join(folder, 'notes');
    await appendFile(journal, '');
    const note = (each: Note): void => appendFileSync(journal, `${JSON.stringify(each)}\n`);
    const hosts: KeeperHost[] = [];
    const entries = new Map<string, object>();
    for (const { name, transport, revision, isolation } of servers) {
      if (transport === 'stdio') {
        entries.set(name, { command: 'node', args: [fixturePath('keeper-stdio'), revision, name, journal], isolation });
        continue;
      }
      const isGuarded = hasSignIns && guarded.some((each) => each === name);
      const host = await KeeperHost.start(name, revision, note, isGuarded ? new Guard() : undefined);
      hosts.push(host);
      entries.set(name, {
        url: host.url(transport),
        isolation,
        ...(isGuarded ? { credentials: { kind: 'oauth' } } : {}),
        ...(transport === 'sse' ? { type: 'sse' } : {}),
      });
    }
    return new Ground(folder, hosts, entries, more, hasSignIns);
  }

  /** The gateway's configuration; because of `pageSize`, every list has several pages. */
  get config(): object {
    return {
      ...this.#more,
      ...(this.#hasSignIns
        ? { vault: { file: join(this.#folder, 'vault.json'), keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] } }
        : {}),
      pageSize: 25,
      timeouts: { drain: '3s' },
      mcpServers: Object.fromEntries(this.#entries),
    };
  }

  /** The same configuration with one server changed, another one each time. */
  nextConfig(): object {
    const name = servers[this.#reloads % servers.length]?.name as string;
    this.#reloads += 1;
    this.#entries.get(name);
    return {
      ...this.config,
      mcpServers: {
        ...Object.fromEntries(this.#entries),
        [name]: { ...this.#entries.get(name), timeout: `${60 + this.#reloads}s` },
      },
    };
  }

  /**
   * New observations of servers that are faults: answers to the wrong question, and connections that several clients used although each should have its
   * own.
   */
  async problems(callers: ReadonlyMap<Secret, Caller>): Promise<string[]> {
    const notes = (await readFile(join(this.#folder, 'notes'), 'utf8'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Note);
    const problems = notes.filter(({ kind }) => kind === 'wrong answer').map((each) => JSON.stringify(each));
    for (const each of notes)
      if (each.kind === 'account' && callers.get(each.secret)?.kind.subject !== each.user)
        problems.push(
          `${each.connection}: ${callers.get(each.secret)?.name ?? each.secret} with a token of ${each.user}`,
        );
    for (const [connection, seen] of Map.groupBy(notes, (each) => each.connection)) {
      const server = servers.find(({ name }) => name === connection.split('/')[0]) as ServerUnderTest;
      const secrets = seen.flatMap((each) => (each.kind === 'secret' ? [each.secret] : []));
      if (server.isolation === 'shared' || new Set(secrets).size < 2) continue;
      const subjects = new Set(secrets.map((secret) => callers.get(secret)?.kind.subject));
      const isStateless = server.revision === '2026-07-28' && server.transport === 'http';
      if (subjects.size > 1 && !isStateless)
        problems.push(`${connection}: it keeps things, and several callers use it: ${[...subjects].join(', ')}`);
      const isOneCallers = subjects.size === 1 && !subjects.has(undefined);
      if (server.revision === '2026-07-28' || (server.isolation === 'principal' && isOneCallers)) continue;
      const opened = seen.find((each) => each.kind === 'open');
      const hasSession = secrets.some((secret) => callers.get(secret)?.isModern === false);
      const mayAsk = opened !== undefined && Object.keys(opened.capabilities).length > 0;
      const who = secrets
        .slice(0, 2)
        .map((secret) => callers.get(secret)?.name ?? secret)
        .join('; ');
      const since = seen
        .slice(seen.findIndex(({ kind }) => kind === 'roots'))
        .flatMap((each) => (each.kind === 'secret' ? [each.secret] : []));
      if (seen.some(({ kind }) => kind === 'roots') && new Set(since).size > 1)
        problems.push(`${connection}: roots were read over it, and others used it afterwards: ${who}`);
      if (hasSession && mayAsk) problems.push(`${connection}: one that may ask is several clients': ${who}`);
      if (hasSession && server.isolation === 'session')
        problems.push(`${connection}: "isolation: session", and several clients': ${who}`);
    }
    return problems.filter((problem) => !this.#said.has(problem) && this.#said.add(problem));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts) await host[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
