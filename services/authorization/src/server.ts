/** The authorization server: serves its addresses, and gives edges the keys and revocations to verify its tokens. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Audit } from '@omnibus/audit';
import { authorizationBuckets, type Bus } from '@omnibus/bus';
import { printable, type JsonObject, basePathOf } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type * as oidc from 'oidc-provider';
import type Provider from 'oidc-provider';
import { adapterFactory } from './adapter.ts';
import { AgentTokens } from './agents/agent-tokens.ts';
import { Agents, agentSubjectMark } from './agents/agents.ts';
import { Workloads, type WorkloadOptions } from './agents/workloads.ts';
import { audienceOf } from './audience.ts';
import { ClientDocuments } from './client-documents.ts';
import { equip, proofsAt } from './equip.ts';
import { delegationsOf, type ActingOptions } from './exchange/open-delegations.ts';
import { Site } from './site.ts';
import { isSameSession, People, type Person } from './people.ts';
import { allowedNow, programOf, revoke, shownProgram, type Program } from './programs.ts';
import { openRevocations, Revocations } from './revocations.ts';
import { SealedStore } from './sealed-store.ts';
import { Secrets } from './secrets.ts';
import { settingsOf, type Rules } from './settings.ts';
import { SignInProblem } from './sign-in-failure.ts';
import { SignInRecords } from './sign-in-records.ts';
import { SigningKeys } from './signing-keys.ts';
import { Upstream, type SignInOptions } from './upstream.ts';
import { Users, type UserRecord } from './users.ts';

export interface AuthorizationServerOptions extends Rules {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined where nothing is recorded. */
  readonly audit?: Audit | undefined;
  /** The sealing keys of the gateway; undefined for a gateway of one process without any. */
  readonly sealingKeys: readonly [Buffer, ...Buffer[]] | undefined;
  readonly usersFile: string | undefined;
  /** The file of agents; left out where programs get no tokens for themselves. */
  readonly agentsFile?: string | undefined;
  /** Workloads of other systems that get tokens of agents. */
  readonly workloads?: readonly WorkloadOptions[];
  /** Whether an operator has blocked an agent, by its name. */
  readonly isBlocked?: (agent: string) => boolean;
  /** Agents that may act for users, and the issuers of users beside this server. */
  readonly acting?: ActingOptions;
  readonly signIn: SignInOptions | undefined;
  readonly refreshGraceMs: number;
  /** The servers that an address gives users of a tenant access to. @returns undefined for an address that is not of this gateway. */
  readonly serversAt: (resource: string, tenant: string | undefined) => readonly string[] | undefined;
}

/** Time between two checks whether a new signing key is needed. */
const renewMs = 600_000;

/** Resources opened before the server. */
interface Opened {
  readonly library: typeof oidc;
  readonly secrets: Secrets;
  readonly revocations: Revocations;
  readonly stores: Readonly<Record<'short' | 'proofs' | 'long' | 'clients', SealedStore>>;
}

export class AuthorizationServer {
  readonly #options: AuthorizationServerOptions;
  readonly #secrets: Secrets;
  readonly #revocations: Revocations;
  readonly #people: People;
  readonly #site: Site;
  #keys: SigningKeys | undefined;
  #users: Users | undefined;
  #agents: Agents | undefined;
  readonly #upstream: Upstream | undefined;
  readonly #build: (keys: SigningKeys) => Provider;
  #provider: Provider | undefined;
  #handle: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;
  #renewing: ReturnType<typeof setInterval> | undefined;
  readonly #listeners = new Set<() => void>();
  #removed: ((user: Pick<UserRecord, 'name' | 'id'>) => void) | undefined;

  /** @throws {Error} in words for the operator. */
  static async open(options: AuthorizationServerOptions): Promise<AuthorizationServer> {
    const { bus, metrics, sealingKeys, accessTokenMs } = options;
    const library = await import('oidc-provider');
    const secrets = new Secrets(sealingKeys);
    const open = async (kind: keyof Opened['stores']): Promise<SealedStore> =>
      new SealedStore(authorizationBuckets[kind].name, await bus.keyValue<string>(authorizationBuckets[kind]), secrets);
    const [short, proofs, long, clients] = await Promise.all([
      open('short'),
      open('proofs'),
      open('long'),
      open('clients'),
    ]);
    const revocations = await openRevocations(bus, accessTokenMs, () => metrics.callers.grantsRevoked.inc());
    const server = new AuthorizationServer(options, {
      library,
      secrets,
      revocations,
      stores: { short, proofs, long, clients },
    });
    await server.#open(options);
    return server;
  }

  private constructor(options: AuthorizationServerOptions, { library, secrets, revocations, stores }: Opened) {
    const { publicUrl, signIn, log, refreshGraceMs } = options;
    this.#options = options;
    this.#secrets = secrets;
    this.#revocations = revocations;
    this.#people = new People(stores.long, revocations, signIn?.isAnyCase);
    this.#upstream = signIn === undefined ? undefined : new Upstream(signIn, publicUrl, secrets, this.#people);
    revocations.onRevoked(() => this.#changed());
    const agentTokens = new AgentTokens({ ...options, errors: library.errors, agents: () => this.#agents });
    const adapter = adapterFactory({
      stores,
      revocations,
      refreshGraceMs,
      clientOf: (id) => agentTokens.clientOf(id),
      asserts: (client) => agentTokens.remembers(client),
      ...proofsAt(library),
      isUsing: (subject, grantId) => this.#people.isUsing(subject, grantId),
      usedBefore: () => new library.errors.InvalidGrant('used before'),
      reused: (grantId) => log.warn({ grant: Revocations.nameOf(grantId) }, 'a grant is revoked, with all its tokens'),
    });
    const documents = documentsOf(options);
    const records = new SignInRecords(options.audit, publicUrl);
    const { errors } = library;
    const delegations = delegationsOf(options, { errors, records, own: this, agents: () => this.#agents });
    this.#build = (keys) => {
      const provider = new library.default(
        publicUrl,
        settingsOf({
          rules: options,
          secrets,
          keys: keys.all,
          people: this.#people,
          adapter,
          policy: library.interactionPolicy,
          errors,
          documents,
          agents: agentTokens,
          delegations,
          audienceOf: (resource) => audienceAt(resource, options),
          personOf: (subject, isAsked, signedInAt) => this.#personOf(subject, isAsked, signedInAt),
        }),
      );
      equip(provider, options, delegations);
      agentTokens.equip(provider);
      return provider;
    };
    this.#site = new Site({
      ...options,
      workloads: workloadsOf(options, stores.short, () => this.#agents),
      records,
      delegations,
      secrets,
      people: this.#people,
      upstream: this.#upstream,
      users: () => this.#users,
      personOf: (subject, signedInAt) => this.#personOf(subject, true, signedInAt),
      provider: () => this.#provider as Provider,
    });
  }

  /** @param removed called with users that were removed from the file, or replaced by another of the same name. */
  onRemoved(removed: (user: Pick<UserRecord, 'name' | 'id'>) => void): void {
    this.#removed = removed;
  }

  async #open({ bus, usersFile, log }: AuthorizationServerOptions): Promise<void> {
    this.#users =
      usersFile === undefined
        ? undefined
        : await Users.open(usersFile, {
            left: (left) => {
              for (const user of left) {
                this.#takeBack(user.name);
                const now = this.#users?.find(user.name);
                if (now === undefined || now.id !== user.id) this.#removed?.(user);
              }
            },
            rejected: (problem) => log.warn({ problem }, 'the changed users are not taken'),
          });
    await this.#openAgents();
    await this.#endFormer();
    const keys: SigningKeys = await SigningKeys.open({
      bucket: await bus.keyValue<string>(authorizationBuckets.keys),
      secrets: this.#secrets,
      changed: () => this.#rebuild(),
    });
    this.#keys = keys;
    this.#rebuild();
    this.#renewing = setInterval(() => {
      keys
        .renew()
        .catch((error: unknown) => log.warn({ problem: String(error) }, 'the signing keys cannot be renewed now'));
    }, renewMs).unref();
  }

  async #openAgents(): Promise<void> {
    const { agentsFile, log } = this.#options;
    if (agentsFile === undefined) return;
    this.#agents = await Agents.open(agentsFile, {
      ended: (grants) => {
        for (const grant of grants)
          this.#revocations
            .revoke(grant)
            .catch((error: unknown) =>
              log.warn({ problem: String(error) }, 'the tokens of a changed agent could not be revoked elsewhere'),
            );
      },
      changed: () => this.#changed(),
      rejected: (problem) => log.warn({ problem }, 'the changed agents are not taken'),
    });
  }

  userOfFile(subject: string): Pick<UserRecord, 'created' | 'id'> | undefined {
    return this.#users?.find(subject);
  }

  get issuer(): string {
    return this.#options.publicUrl;
  }

  /** Revokes all consents of a user, and signs the user out of all browsers. */
  takeBack(subject: string): Promise<void> {
    return this.#people.takeBack(subject);
  }

  /**
   * The programs that a user has allowed, for administrators.
   * @param user the name in the file of users, also with the issuer of this server in front of it, or `ISSUER|SUBJECT`.
   */
  async programsOf(user: string): Promise<{
    readonly user: string;
    readonly isKnown: boolean;
    readonly groups: readonly string[];
    readonly programs: readonly Program[];
  }> {
    const subject = this.#subjectOf(user);
    const [known, allowed] = await Promise.all([
      this.#users?.find(subject) ?? this.#people.find(subject),
      this.#allowed(subject),
    ]);
    return {
      user: subject,
      isKnown: known !== undefined || allowed.length > 0,
      groups: known?.groups ?? [],
      programs: allowed.map(shownProgram),
    };
  }

  /**
   * Revokes a consent of a user.
   * @param id of the program, as `programsOf` gives it.
   * @returns undefined if there is no such consent now.
   */
  async revokeProgram(user: string, id: string): Promise<Awaited<ReturnType<typeof revoke>> | undefined> {
    const subject = this.#subjectOf(user);
    const found = programOf(await this.#allowed(subject), id);
    return found === undefined ? undefined : revoke(this.#people, this.#revocations, subject, found);
  }

  #subjectOf(user: string): string {
    const own = `${this.issuer}|`;
    return user.startsWith(own) ? user.slice(own.length) : user;
  }

  #allowed(subject: string): ReturnType<typeof allowedNow> {
    return this.#provider === undefined ? Promise.resolve([]) : allowedNow(this.#people, this.#provider, subject);
  }

  /** The keys that sign and verify its tokens, for administrators. */
  signingKeys(): JsonObject {
    return { keys: [...(this.#keys?.states ?? [])] };
  }

  /** Makes another key for all edges. @param isAtOnce whether it signs now, and all tokens end. */
  async rotateKeys(isAtOnce: boolean): Promise<void> {
    await this.#keys?.rotate(isAtOnce);
  }

  /** The public keys that verify its tokens. */
  publicKeys(): { readonly keys: readonly JsonObject[] } {
    return {
      keys: (this.#keys?.all ?? []).map(({ jwk }) => ({
        kty: jwk.kty as string,
        crv: jwk.crv as string,
        x: jwk.x as string,
        y: jwk.y as string,
        kid: String(jwk['kid']),
        use: 'sig',
        alg: 'ES256',
      })),
    };
  }

  /**
   * Whether the consent behind a token was revoked, or its user is no longer in the file: a user can be removed while no process runs that would notice.
   * @param grant the claim `grant_id` of the token.
   * @param subject of the token; that of a user of a provider is `ISSUER|SUBJECT`, and no name in the file has that character.
   */
  isRevoked(grant: string, subject: string): boolean {
    if (this.#revocations.has(grant)) return true;
    if (subject.startsWith(agentSubjectMark)) return this.#agents?.holds(subject, grant) !== true;
    return !subject.includes('|') && this.#users?.find(subject) === undefined;
  }

  /** Calls back when a consent was revoked or the keys have changed. */
  onChanged(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Whether the server serves a path, which may have a query. */
  handles(path: string): boolean {
    return this.#site.handles(path);
  }

  /** Serves a request to such a path. Never throws. @param address under which the client is counted. */
  handle(request: IncomingMessage, response: ServerResponse, address: string): void {
    if (this.#handle !== undefined) this.#site.handle({ request, response, address }, this.#handle);
  }

  /** The ID token of a user of the OpenID provider. @throws {SignInProblem} in words when there is none that is good. */
  idTokenOf(subject: string): Promise<string> {
    return (
      this.#upstream?.idToken(subject) ??
      Promise.reject(new SignInProblem('users of this gateway sign in at no OpenID provider'))
    );
  }

  /** The user signed in in the browser of a request to any page of the gateway; undefined if there is none. */
  userOf(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<Pick<Person, 'subject' | 'tenant' | 'name' | 'record'> | undefined> {
    return this.#site.userOf(request, response);
  }

  /** The address at which a user signs in; afterwards the browser is redirected to `/connect/back` with that state. */
  signInAddress(state: string): string {
    return this.#site.signInAddress(state);
  }

  async close(): Promise<void> {
    clearInterval(this.#renewing);
    this.#keys?.close();
    this.#revocations.close();
    await this.#users?.close();
    await this.#agents?.close();
  }

  #rebuild(): void {
    const keys = this.#keys;
    if (keys === undefined) return;
    this.#provider = this.#build(keys);
    const handle = this.#provider.callback();
    const base = basePathOf(this.#options.publicUrl);
    // By both, the library knows the path below which it stands.
    this.#handle = (request, response) =>
      handle(Object.assign(request, { originalUrl: `${base}${request.url}` }), response);
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /**
   * The current data of a user, according to the file or to the last answer of the provider.
   * @param isAsked whether to ask the provider now.
   * @param signedInAt when the user signed in with a browser, in seconds since 1970.
   */
  async #personOf(subject: string, isAsked: boolean, signedInAt?: number): Promise<Person | undefined> {
    if (signedInAt !== undefined && (await this.#people.isSessionOver(subject, signedInAt))) return undefined;
    const user = this.#users?.find(subject);
    // Sign-ins have their time in whole seconds.
    if (
      user !== undefined &&
      signedInAt !== undefined &&
      signedInAt < Math.floor((this.#users?.since(subject) ?? 0) / 1_000)
    )
      return undefined;
    if (user !== undefined)
      return {
        subject,
        name: user.name,
        groups: user.groups,
        tenant: undefined,
        record: user.id,
        upstream: undefined,
      };
    const person = await this.#people.find(subject);
    if (person?.upstream === undefined || this.#upstream === undefined) return undefined;
    if (!isAsked) return person;
    if (await this.#upstream.lasts(person)) return await this.#people.find(subject);
    await this.#people.takeBack(subject);
    // A newer sign-in stays.
    const { upstream } = person;
    await this.#people.change(subject, (now) =>
      now.upstream !== undefined && isSameSession(now.upstream, upstream) ? { ...now, upstream: undefined } : undefined,
    );
    return undefined;
  }

  /** Revokes the consents of users that were removed or got another password while no process ran. */
  async #endFormer(): Promise<void> {
    for (const name of this.#users?.names() ?? []) {
      const user = this.#users?.find(name);
      if (user !== undefined && (await this.#people.isAnother(user))) {
        await this.#people.takeBack(name);
        await this.#people.signedInBy(user);
      }
      const since = this.#users?.since(name);
      if (since !== undefined) await this.#people.takeBackBefore(name, since);
    }
  }

  #takeBack(subject: string): void {
    this.#people
      .takeBack(subject)
      .catch((error: unknown) =>
        this.#options.log.warn({ problem: String(error) }, 'the consents of a removed user could not be revoked'),
      );
  }
}

function documentsOf({ documentHosts, log }: AuthorizationServerOptions): ClientDocuments {
  return new ClientDocuments({
    allowedHosts: documentHosts,
    failed: (client, problem) =>
      log.warn({ client: printable(client), problem }, 'the metadata document of a client cannot be used'),
  });
}

/** @returns undefined where no workload is trusted. */
function workloadsOf(
  { publicUrl, workloads = [], log }: AuthorizationServerOptions,
  seen: SealedStore,
  agents: () => Agents | undefined,
): Workloads | undefined {
  if (workloads.length === 0) return undefined;
  const failed = (issuer: string, problem: string): void =>
    log.warn({ issuer, problem }, 'the keys of an issuer cannot be had');
  return new Workloads({ publicUrl, workloads, agents, seen, failed });
}

/** The audience for a resource; undefined if it is not of this gateway. The library takes an empty fragment for none (RFC 8707, 2 forbids every fragment). */
function audienceAt(
  resource: string,
  { publicUrl, serversAt }: Pick<AuthorizationServerOptions, 'publicUrl' | 'serversAt'>,
): string | undefined {
  return /[?#]/.test(resource) || serversAt(resource, undefined) === undefined
    ? undefined
    : audienceOf(resource, basePathOf(publicUrl));
}
