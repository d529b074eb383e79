/** The credentials of connections to a server, according to its configuration: the same for all callers, or those of each user. */
import { resolve } from 'node:path';
import { setLast } from '@omnibus/collections';
import type { ServerConfig } from '@omnibus/config';
import {
  byIdentityAssertion,
  clientOf,
  NoCredentials,
  UserTokens,
  WorkloadTokens,
  type Fetch,
  type HeaderSource,
  type Place,
  type SignInOptions,
  type TokensChange,
  type Vault,
} from '@omnibus/credentials';
import { anonymous, type Principal, type ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Agents } from '../../transport/agents.ts';
import { ServerTls } from '../../transport/server-tls.ts';
import { readAssertion } from './assertion-file.ts';
import { AwsSignatures } from './aws.ts';
import { CallerAccounts, type CallerAccountsOptions } from './caller-accounts.ts';
import { issuersOf, outbound } from '../../transport/outbound.ts';
import type { UserAccounts } from './user-accounts.ts';

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
  /** How tokens are made from those of callers. */
  readonly edges: Pick<CallerAccountsOptions, 'receiver' | 'ask' | 'isGone'>;
  /** Whether only the one user of this machine can reach the gateway. */
  readonly isForOne: boolean;
}

/** Bound on users with tokens in a process' memory, more than can have connections at a time (`maxConnections`); the one used longest ago is dropped first. */
const maxUsers = 10_000;

type Credentials = NonNullable<ServerConfig['credentials']>;
type OAuth = Extract<Credentials, { kind: 'oauth' }>;

export interface ServerCredentials {
  /** The credentials of shared connections. */
  readonly base: HeaderSource;
  /** The credentials of users, each in its own name. */
  readonly users?: UserAccounts;
}

/** @returns undefined for a server that gets only its configured `headers`. */
export function credentialsOf(options: CredentialsOptions): ServerCredentials | undefined {
  const {
    config: { credentials, url },
    vault,
  } = options;
  if (credentials === undefined || url === undefined) return undefined;
  if (credentials.kind === 'aws') return { base: new AwsSignatures({ ...credentials, asked: asking(options) }) };
  if (credentials.kind === 'client') return { base: workload(options, credentials, url.replace(/^ws/, 'http')) };
  if (credentials.kind === 'enterprise' && credentials.identityProvider?.idTokenFile !== undefined)
    return {
      base: ofOneUser(
        options,
        { ...credentials.identityProvider, idTokenFile: credentials.identityProvider.idTokenFile },
        credentials,
        url.replace(/^ws/, 'http'),
      ),
    };
  if (credentials.kind !== 'oauth') {
    const { edges, server } = options;
    const asked = asking(options);
    const callers = new CallerAccounts({ ...edges, server, failed: (problem) => asked('unavailable', problem) });
    return { users: callers, base: callers.base };
  }
  if (vault === undefined) throw new Error('there is no vault for what users connect');
  const users = new UserCredentials(options, credentials, url.replace(/^ws/, 'http'), vault);
  return { users, base: users.base };
}

/** The credentials of each user. */
export class UserCredentials implements UserAccounts {
  readonly signIn: SignInOptions;
  readonly #options: CredentialsOptions;
  readonly #vault: Vault;
  readonly #asked: (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void;
  readonly #users = new Map<Principal, UserTokens>();
  /** The credentials of shared connections: those of the machine's one user, or none. */
  readonly base: UserTokens | NoCredentials;
  /** Whether calls wait for a sign-in. */
  readonly doWait: boolean;

  constructor(options: CredentialsOptions, credentials: OAuth, url: string, vault: Vault) {
    this.#options = options;
    this.#vault = vault;
    this.#asked = asking(options);
    const { beforeSignIn, issuer, clientId, clientMetadataUrl, scopes, allowedHosts, resource } = credentials;
    this.doWait = beforeSignIn === 'wait';
    this.signIn = {
      fetch: fetchFor(options, url, issuer, allowedHosts),
      vault,
      url,
      issuer,
      client: clientId === undefined ? undefined : clientOf({ ...credentials, clientId }),
      clientDocument: clientMetadataUrl ?? options.clientDocument,
      scope: scopes?.join(' '),
      namesResource: resource,
    };
    this.base = options.isForOne ? this.of(anonymous) : new NoCredentials();
  }

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
    const { fetch, url, issuer, client } = this.signIn;
    const made = new UserTokens({
      fetch,
      vault: this.#vault,
      place: this.placeOf(principal),
      url,
      issuer,
      client,
      asked: this.#asked,
    });
    return setLast(this.#users, principal, made, maxUsers);
  }

  async changed(principal: Principal): Promise<TokensChange> {
    return (await this.#users.get(principal)?.changed()) ?? 'same';
  }
}

function workload(
  options: CredentialsOptions,
  credentials: Extract<Credentials, { kind: 'client' }>,
  url: string,
): WorkloadTokens {
  const { assertionFile, issuer, scopes, allowedHosts, resource } = credentials;
  return new WorkloadTokens({
    fetch: fetchFor(options, url, issuer, allowedHosts),
    url,
    issuer,
    namesResource: resource,
    client: clientOf(credentials),
    assertion:
      assertionFile === undefined ? undefined : () => readAssertion(resolve(options.baseFolder, assertionFile)),
    scope: scopes?.join(' '),
    asked: asking(options),
  });
}

type Enterprise = Extract<Credentials, { kind: 'enterprise' }>;

/** Tokens in the name of the one user of this machine, with an ID token that a program of the identity provider writes to a file. */
function ofOneUser(
  options: CredentialsOptions,
  {
    issuer: provider,
    idTokenFile,
    ...ofProvider
  }: NonNullable<Enterprise['identityProvider']> & { readonly idTokenFile: string },
  credentials: Enterprise,
  url: string,
): WorkloadTokens {
  const { issuer, scopes, allowedHosts, resource } = credentials;
  const client = clientOf(credentials);
  const file = resolve(options.baseFolder, idTokenFile);
  return new WorkloadTokens({
    fetch: fetchFor(options, url, issuer, allowedHosts, provider),
    url,
    issuer,
    client,
    namesResource: resource,
    scope: scopes?.join(' '),
    asked: asking(options),
    grant: byIdentityAssertion({
      provider: { issuer: provider, client: clientOf(ofProvider) },
      client,
      idToken: async () => readAssertion(file),
    }),
  });
}

function fetchFor(
  { server, agents, config, baseFolder }: CredentialsOptions,
  url: string,
  issuer: string | undefined,
  allowedHosts: readonly string[],
  provider?: string,
): Fetch {
  return outbound(
    agents.of(issuersOf([url, issuer, provider], allowedHosts), ServerTls.of(server, config, baseFolder), config.proxy),
  );
}

/** Counts requests to issuers, and logs a problem once, however often it occurs. */
function asking({
  server,
  metrics,
  log,
}: CredentialsOptions): (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void {
  let said: string | undefined;
  return (outcome, problem) => {
    metrics.upstream.credentialsAsked(server, outcome);
    if (problem !== undefined && problem !== said) log.warn({ problem }, 'no credentials can be had for the server');
    else if (problem === undefined && said !== undefined) log.info('there are credentials for the server again');
    said = problem;
  };
}
