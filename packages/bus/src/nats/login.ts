/** How a process logs in at NATS and verifies the identity of its servers. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
  type Authenticator,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import { BusError } from '../errors.ts';
import { seedIn, type LoginFiles, type NatsTls } from './login-files.ts';

/** At most one way to log in: a user with password, a token, an NKey, or credentials with a JWT. */
export interface NatsLogin extends LoginFiles {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
}

/** The parts of the addresses of NATS. */
export interface NatsAddresses {
  readonly servers: readonly string[];
  /** The addresses with their schemes and without users, for logs and errors. */
  readonly shown: string;
  /** The login that the addresses contain; all of them contain the same one, or none. */
  readonly login: Pick<NatsLogin, 'user' | 'password' | 'token'>;
  /** Whether one of them begins with `tls://`. */
  readonly isTls: boolean;
}

/**
 * Reads `nats://user:password@host:port`, `nats://token@host:port`, `tls://host`, `host:port`, several separated by commas.
 * @throws {BusError} `refused` for a text that is not an address. The message never contains a password.
 */
export function parseNatsAddresses(text: string): NatsAddresses {
  const addresses = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((address) => {
      const withScheme = address.includes('://') ? address : `nats://${address}`;
      const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
      if (url === undefined || url.hostname === '' || !['nats:', 'tls:'].includes(url.protocol))
        throw new BusError(
          'refused',
          'an address of NATS is nats://host:port or tls://host:port, several separated by commas',
        );
      return url;
    });
  if (addresses.length === 0) throw new BusError('refused', 'NATS needs an address: nats://host:port');
  const logins = new Set(
    addresses.map(({ username, password }) => `${username}:${password}`).filter((each) => each !== ':'),
  );
  if (logins.size > 1) throw new BusError('refused', 'the addresses of NATS name different users; one process has one');
  const named = addresses.find(({ username, password }) => username !== '' || password !== '');
  const user = named === undefined ? undefined : decoded(named.username);
  const password = named === undefined ? undefined : decoded(named.password);
  return {
    servers: addresses.map(({ host }) => host),
    shown: addresses.map(({ protocol, host }) => `${protocol}//${host}`).join(', '),
    login: user === undefined ? {} : password === '' ? { token: user } : { user, password },
    isTls: addresses.some(({ protocol }) => protocol === 'tls:'),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new BusError(
      'refused',
      'the user or the password in an address of NATS cannot be read: a % in it is written %25',
    );
  }
}

/** The login options for the client library. @throws {BusError} `refused` when the options have two ways to log in, or lack a part of one. */
export function loginOptions(addresses: NatsAddresses, given: NatsLogin): NodeConnectionOptions {
  const { user, password, token, nkeyFile, credentialsFile } = { ...given, ...addresses.login };
  const isTwice =
    Object.keys(addresses.login).length > 0 && (given.user ?? given.password ?? given.token) !== undefined;
  const ways = [user ?? password, token, nkeyFile, credentialsFile].filter((way) => way !== undefined);
  if (isTwice || ways.length > 1)
    throw new BusError(
      'refused',
      'NATS is given two ways to log in: one of user and password, token, NKey or credentials file is wanted, in its address or beside it',
    );
  if (user === undefined && password !== undefined)
    throw new BusError('refused', 'NATS is given a password and no user');
  const authenticator = authenticatorOf({ user, password, token, nkeyFile, credentialsFile });
  return {
    ...(authenticator === undefined ? {} : { authenticator }),
    // Without this option the library would continue without TLS if the server offers none.
    ...(addresses.isTls || given.tls !== undefined ? { tls: tlsOptions(addresses, given.tls ?? {}) } : {}),
    // A refused login may be accepted later, when files are replaced or users are added.
    ignoreAuthErrorAbort: true,
  };
}

/** Finds a login that cannot be right, without connecting. */
export function findLoginProblem(servers: string, login: NatsLogin): string | undefined {
  try {
    loginOptions(parseNatsAddresses(servers), login);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function tlsOptions(
  { servers }: NatsAddresses,
  { caFile, certFile, keyFile, handshakeFirst = false }: NatsTls,
): TlsOptions {
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new BusError('refused', 'a client certificate for NATS needs both the certificate and its key');
  const hosts = servers.map((server) => new URL(`nats://${server}`).hostname.replaceAll(/^\[|\]$/g, ''));
  return {
    ...(handshakeFirst ? { handshakeFirst } : {}),
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined || keyFile === undefined ? {} : { certFile, keyFile }),
    // Where an address is a number, the library gives Node no name, and Node then checks the certificate for "localhost". Such a certificate must be
    // for one of the addresses that the operator named.
    checkServerIdentity: (name, certificate) => {
      const numbers = name === 'localhost' && !hosts.includes(name) ? hosts.filter((host) => isIP(host) !== 0) : [];
      const problems = (numbers.length > 0 ? numbers : [name]).map((each) => checkServerIdentity(each, certificate));
      return problems.includes(undefined) ? undefined : problems[0];
    },
  };
}

/** The library passes on the options of Node's `tls.connect`, which its types do not say. */
interface TlsOptions extends NonNullable<NodeConnectionOptions['tls']> {
  readonly checkServerIdentity: (name: string, certificate: PeerCertificate) => Error | undefined;
}

function authenticatorOf({
  user,
  password,
  token,
  nkeyFile,
  credentialsFile,
}: Omit<NatsLogin, 'tls'>): Authenticator | undefined {
  if (user !== undefined) return usernamePasswordAuthenticator(user, password);
  if (token !== undefined) return tokenAuthenticator(token);
  if (nkeyFile !== undefined) return nkeyAuthenticator(() => Buffer.from(seedIn(nkeyFile)));
  if (credentialsFile !== undefined) return credsAuthenticator(() => readFileSync(credentialsFile));
  return undefined;
}
