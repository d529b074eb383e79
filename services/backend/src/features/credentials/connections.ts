/** Lists users' sign-ins at servers, for them and for operators, and ends them. */
import { revokeAtIssuer, type Connection, type Place, type Vault } from '@omnibus/credentials';
import type { ConnectCommand, ConnectionRow, ConnectReply, Principal, ServerName, Who } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { UserCredentials } from './server-credentials.ts';

export interface ConnectionsOptions {
  readonly log: Logger;
  /** The vault with the tokens of users. */
  readonly vault: Vault;
  /** The vault with tickets, unfinished sign-ins, and tokens that wait for a code. */
  readonly passing: Vault;
  readonly users: (server: ServerName) => UserCredentials | undefined;
  /** Called when the stored credentials of a user for a server have changed; resolves when the user's connections use the new ones. */
  readonly changed: (server: ServerName, principal: Principal) => Promise<void>;
}

/** A ticket, an unfinished sign-in, or tokens that wait for a code. */
interface Unfinished {
  readonly principal?: Principal;
  readonly who?: Who | undefined;
  readonly connection?: Connection;
  readonly until: number;
}

/** Milliseconds for which each of them is valid. */
const unfinishedMs = 10 * 60_000;
/** Bound on listed sign-ins, which are sent in one message. */
const maxListed = 1_000;
/** How often a removal looks. It looks again after it has found unfinished sign-ins; only a user that begins others meanwhile causes more than three looks. */
const maxLooks = 5;

/** The owner of a connection, as its record names it. */
export function ownerOf({ subject, issuer }: Pick<Who, 'subject' | 'issuer'>): string {
  return `${subject} (${issuer})`;
}

/** By which connections are listed in order. */
const nameOf = ({ server, principal }: Place): string => `${server} ${principal}`;

/** The issuer in `ownerOf`, where the owner has that name. */
function issuerOf(
  owner: string | undefined,
  { subject, isAnyCase = false }: { readonly subject: string; readonly isAnyCase?: boolean | undefined },
): string | undefined {
  if (isAnyCase && owner?.slice(0, subject.length).toLowerCase() === subject.toLowerCase())
    return issuerOf(`${subject}${owner.slice(subject.length)}`, { subject });
  return owner?.startsWith(`${subject} (`) === true && owner.endsWith(')') && owner.lastIndexOf(' (') === subject.length
    ? owner.slice(subject.length + 2, -1)
    : undefined;
}

/** A removed user: what the commands `forget` and `forget-directed` have. */
type Removed = Omit<Extract<ConnectCommand, { kind: 'forget' }>, 'kind'> &
  Pick<Extract<ConnectCommand, { kind: 'forget-directed' }>, 'tenant' | 'isAnyCase'>;

interface Found {
  readonly place: Place;
  readonly issuer: string | undefined;
}

/** What both vaults have, as far as the removal of a user needs it. */
interface Read {
  readonly passing: readonly { readonly place: Place; readonly entry: Unfinished }[];
  /** The connection is undefined where it cannot be decrypted. */
  readonly connected: readonly {
    readonly place: Place;
    readonly connection: Pick<Connection, 'owner' | 'tenant' | 'since'> | undefined;
  }[];
}

/** Runs an act for all who ask. Those who ask while it runs share the next run, which begins after they have asked. */
function shared<Result>(act: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  return () =>
    (next ??= running.then(() => {
      next = undefined;
      const result = act();
      running = result.catch(() => undefined);
      return result;
    }));
}

/** Connections of a user, and those that cannot be decrypted. */
function connectedIn(
  { connected }: Read,
  command: Removed,
): { readonly found: readonly Found[]; readonly unreadable: readonly Place[] } {
  const { issuer, principal, before = Infinity, except, tenant } = command;
  const found: Found[] = [];
  const unreadable: Place[] = [];
  for (const { place, connection } of connected) {
    if (place.principal === except) continue;
    const of = connection === undefined ? undefined : issuerOf(connection.owner, command);
    if (connection === undefined) unreadable.push(place);
    else if (tenant !== undefined && connection.tenant !== tenant && place.principal !== principal) continue;
    else if (of === undefined ? place.principal === principal : issuer === undefined || of === issuer)
      if (connection.since < before) found.push({ place, issuer: of });
  }
  return { found, unreadable };
}

/** Unfinished sign-ins of a user at a server: else tokens would be stored for a user that is removed by then. */
function begunIn({ passing }: Read, command: Removed, principals: ReadonlySet<string | undefined>): readonly Found[] {
  const { issuer, before = Infinity, except, tenant } = command;
  const found: Found[] = [];
  for (const { place, entry } of passing) {
    if (entry.until - unfinishedMs >= before) continue;
    const of = issuerOf(entry.who === undefined ? entry.connection?.owner : ownerOf(entry.who), command);
    const principal = entry.principal ?? place.principal;
    if (except !== undefined && principal === except) continue;
    if (tenant !== undefined && (entry.who ?? entry.connection)?.tenant !== tenant && !principals.has(principal))
      continue;
    const isHis = of === undefined ? principals.has(principal) : issuer === undefined || of === issuer;
    if (isHis) found.push({ place, issuer: of });
  }
  return found;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  /** A directory removes users by the hundred, and for each of them all entries are looked at. */
  readonly #read = shared(() => this.#readNow());

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  async list({ principal, after = '' }: Extract<ConnectCommand, { kind: 'list' }>): Promise<ConnectReply> {
    const { vault } = this.#options;
    const places = (await this.#places())
      .filter((place) => principal === undefined || place.principal === principal)
      .toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
    const connections: ConnectionRow[] = [];
    for (const place of places.filter((each) => nameOf(each) > after).slice(0, maxListed)) {
      const row = { server: place.server as ServerName, principal: place.principal as Principal };
      const kept = await vault.get<Connection>(place);
      if (kept === undefined) {
        const lost = await vault.lostAt(place);
        if (lost !== undefined)
          connections.push({ ...row, host: '-', issuer: lost.issuer ?? '-', since: 0, state: 'unreadable' });
        continue;
      }
      const { url, issuer, scope, since, owner, tokens } = kept.value;
      connections.push({
        ...row,
        host: new URL(url).host,
        issuer,
        since,
        state: tokens === undefined ? 'signed-out' : 'connected',
        ...(owner === undefined ? {} : { owner }),
        ...(scope === undefined ? {} : { scope }),
      });
    }
    return { kind: 'connections', connections, total: places.length };
  }

  /** Ends a sign-in. The stored tokens are removed first, so that no call uses them, whatever the issuer answers. */
  async revoke({
    server,
    principal,
  }: Pick<Extract<ConnectCommand, { kind: 'revoke' }>, 'server' | 'principal'>): Promise<ConnectReply> {
    const { vault, users, changed, log } = this.#options;
    const place = { purpose: 'connection', server, principal } as const;
    const kept = await vault.take<Connection>(place);
    if (kept === undefined) {
      const lost = await vault.discard(place);
      if (lost === undefined) return { kind: 'gone' };
      log.warn(
        { server, principal, issuer: lost.issuer, key: lost.key },
        'what a user has connected is removed without having been decrypted: its issuer was not asked',
      );
      return { kind: 'revoked', wasUnreadable: true };
    }
    await changed(server, principal);
    const signIn = users(server)?.signIn;
    // The issuer of a server that was removed is not asked, since the configuration that says how to reach it is gone.
    const isRevoked = signIn === undefined ? undefined : await revokeAtIssuer(signIn, kept);
    log.info({ server, principal, issuer: kept.issuer, isRevoked }, 'what a user has connected is ended');
    return { kind: 'revoked', ...(isRevoked === undefined ? {} : { isRevoked }) };
  }

  /** Ends all sign-ins of a removed user, including those of agents that acted for that user. */
  async forget(command: Removed, looks = maxLooks): Promise<ConnectReply> {
    const { found, begun } = await this.#look(command);
    const issuers = new Set([...found, ...begun].flatMap((each) => each.issuer ?? []));
    if (command.issuer === undefined && issuers.size > 1)
      return {
        kind: 'failed',
        problem: `several issuers have a user of that name, which may be several people: ${[...issuers].toSorted().join(', ')}`,
      };
    for (const { place } of begun) await this.drop(place);
    // What these have stored before is found by the next look; what they store from now on they end themselves (`SignIns`).
    if (begun.length > 0 && looks > 1) return this.forget(command, looks - 1);
    let [count, notRevoked] = [0, 0];
    for (const { place } of found) {
      const done = await this.revoke({ server: place.server as ServerName, principal: place.principal as Principal });
      if (done.kind !== 'revoked') continue;
      count += 1;
      if (done.isRevoked !== true) notRevoked += 1;
    }
    return { kind: 'forgotten', count, notRevoked };
  }

  /** What a user has connected, and has begun to connect. */
  async #look(command: Removed): Promise<{ readonly found: readonly Found[]; readonly begun: readonly Found[] }> {
    const { principal, before = Infinity } = command;
    const read = await this.#read();
    const { found, unreadable } = connectedIn(read, command);
    // The request may lack the id or the tenant of the user, which are in the principal.
    const principals = new Set([principal, ...found.map(({ place }) => place.principal)]);
    // The date of a connection that cannot be decrypted is unknown.
    const lost = before === Infinity ? unreadable.filter((place) => principals.has(place.principal)) : [];
    return {
      found: [...found, ...lost.map((place) => ({ place, issuer: undefined }))],
      begun: begunIn(read, command, principals),
    };
  }

  /** Reads the unfinished sign-ins first: what moves to the other vault meanwhile is in one of the two lists. */
  async #readNow(): Promise<Read> {
    const { passing: unfinished, vault } = this.#options;
    const passing: Read['passing'][number][] = [];
    for (const place of await unfinished.places()) {
      const entry = place.purpose === 'client' ? undefined : (await unfinished.get<Unfinished>(place))?.value;
      if (entry !== undefined) passing.push({ place, entry });
    }
    const connected: Read['connected'][number][] = [];
    for (const place of await this.#places()) {
      const kept = await vault.get<Connection>(place);
      const { owner, tenant, since = 0 } = kept?.value ?? {};
      connected.push({ place, connection: kept === undefined ? undefined : { owner, tenant, since } });
    }
    return { passing, connected };
  }

  /** Ends an unfinished sign-in, with its tokens if it has some. */
  async drop(place: Place): Promise<void> {
    const { passing, users } = this.#options;
    const entry = await passing.take<Unfinished>(place);
    const signIn = entry?.connection === undefined ? undefined : users(place.server as ServerName)?.signIn;
    if (entry?.connection !== undefined && signIn !== undefined) await revokeAtIssuer(signIn, entry.connection);
  }

  async #places(): Promise<readonly Place[]> {
    return (await this.#options.vault.places()).filter(({ purpose }) => purpose === 'connection');
  }
}
