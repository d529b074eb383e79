/** The credentials of connections to a server, according to its configuration: the same for all callers, or those of each user. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ServerConfig } from '@omnibus/config';
import { CredentialProblem, NoCredentials, UserTokens, WorkloadTokens, type Fetch, type HeaderSource, type Place, type SignInOptions, type Vault } from '@omnibus/credentials';
import { anonymous, type Principal, type ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Agents } from '../agents.ts';
import { issuersOf, outbound } from './outbound.ts';

export interface CredentialsOptions {
  readonly server: ServerName;
  readonly config: ServerConfig;
  /** The folder that relative paths of the configuration start from. */
  readonly baseFolder: string;
  readonly agents: Agents;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The vault with the tokens of users. */
  readonly vault: Vault | undefined;
  /** The address of the document that describes the gateway to issuers; undefined where they cannot reach it. */
  readonly clientDocument: string | undefined;
  /** Whether only the one user of this machine can reach the gateway. */
  readonly isForOne: boolean;
}

/** Bound on users whose tokens a process keeps in memory, more than can have connections at a time (`maxConnections`); the one used longest ago is dropped first. */
const maxUsers = 10_000;

type OAuth = Extract<NonNullable<ServerConfig['credentials']>, { kind: 'oauth' }>;

export interface ServerCredentials {
  /** The credentials of shared connections. */
  readonly base: HeaderSource;
  /** The credentials of users who sign in themselves. */
  readonly users?: UserCredentials;
}

/** @returns undefined for a server that gets only its configured `headers`. */
export function credentialsOf(options: CredentialsOptions): ServerCredentials | undefined {
  const { config: { credentials, url }, vault } = options;
  if (credentials === undefined || url === undefined) return undefined;
  if (credentials.kind === 'client') return { base: workload(options, credentials, url.replace(/^ws/, 'http')) };
  if (vault === undefined) throw new Error('there is no vault for what users connect');
  const users = new UserCredentials(options, credentials, url.replace(/^ws/, 'http'), vault);
  return { users, base: users.base };
}

/** The credentials of each user. */
export class UserCredentials {
  readonly signIn: SignInOptions;
  readonly #options: CredentialsOptions;
  readonly #vault: Vault;
  readonly #asked: (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void;
  readonly #users = new Map<Principal, UserTokens>();
  /** The credentials of shared connections: those of the machine's one user, or none. */
  readonly base: UserTokens | NoCredentials;

  constructor(options: CredentialsOptions, { issuer, clientId, clientSecret, clientMetadataUrl, scopes, allowedHosts, resource }: OAuth, url: string, vault: Vault) {
    this.#options = options;
    this.#vault = vault;
    this.#asked = asking(options);
    this.signIn = { fetch: fetchFor(options, url, issuer, allowedHosts), vault, url, issuer, clientId, clientSecret, clientDocument: clientMetadataUrl ?? options.clientDocument, scope: scopes?.join(' '), namesResource: resource };
    this.base = options.isForOne ? this.of(anonymous) : new NoCredentials();
  }

  /** Whether each user has his own connections and lists. */
  get areSeveral(): boolean {
    return !this.#options.isForOne;
  }

  /** Whether the server demands credentials and no user has signed in. */
  get wantsSignIn(): boolean {
    return this.base.wanted !== undefined;
  }

  placeOf(principal: Principal): Place {
    return { purpose: 'connection', server: this.#options.server, principal };
  }

  of(principal: Principal): UserTokens {
    const known = this.#users.get(principal);
    if (known !== undefined) {
      this.#users.delete(principal);
      this.#users.set(principal, known);
      return known;
    }
    const { fetch, url, issuer } = this.signIn;
    const made = new UserTokens({ fetch, vault: this.#vault, place: this.placeOf(principal), url, issuer, asked: this.#asked });
    if (this.#users.size >= maxUsers) this.#users.delete(this.#users.keys().next().value as Principal);
    this.#users.set(principal, made);
    return made;
  }

  /** Called when the stored credentials of a user have changed (`UserTokens.changed`). */
  async changed(principal: Principal): Promise<'new' | 'gone' | 'same'> {
    return await this.#users.get(principal)?.changed() ?? 'same';
  }
}

function workload(options: CredentialsOptions, credentials: Extract<NonNullable<ServerConfig['credentials']>, { kind: 'client' }>, url: string): WorkloadTokens {
  const { clientId, clientSecret, privateKey, algorithm, assertionFile, issuer, scopes, allowedHosts, resource } = credentials;
  return new WorkloadTokens({
    fetch: fetchFor(options, url, issuer, allowedHosts), url, issuer, namesResource: resource,
    client: { clientId, clientSecret, privateKey, algorithm },
    assertion: assertionFile === undefined ? undefined : () => readAssertion(resolve(options.baseFolder, assertionFile)),
    scope: scopes?.join(' '),
    asked: asking(options),
  });
}

function fetchFor({ agents }: CredentialsOptions, url: string, issuer: string | undefined, allowedHosts: readonly string[]): Fetch {
  return outbound(agents.of(issuersOf([url, issuer], allowedHosts)));
}

/** Counts requests to issuers, and logs a problem once, however often it occurs. */
function asking({ server, metrics, log }: CredentialsOptions): (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void {
  let said: string | undefined;
  return (outcome, problem) => {
    metrics.upstream.credentialsAsked(server, outcome);
    if (problem !== undefined && problem !== said) log.warn({ problem }, 'no credentials can be had for the server');
    else if (problem === undefined && said !== undefined) log.info('there are credentials for the server again');
    said = problem;
  };
}

function readAssertion(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new CredentialProblem(`the assertion in ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`, { isPassing: true, cause: error });
  }
}
