/** The files that a login at NATS names, checked before each attempt, so that a faulty file is reported as such instead of as a failure of NATS. */
import { readFileSync } from 'node:fs';

/** Paths of files with the proof of a login. */
export interface LoginFiles {
  /** Path of a file with the seed of an NKey (`SU...`). It is read for each connection, so it can be replaced. */
  readonly nkeyFile?: string | undefined;
  /** Path of a credentials file with a JWT and the seed of its NKey, as `nsc` writes it. It is read for each connection. */
  readonly credentialsFile?: string | undefined;
  readonly tls?: NatsTls | undefined;
}

/** Paths of PEM files, which are read for each connection. */
export interface NatsTls {
  /** Certificate of the authority that signed the servers' certificates. Default: Node's own list of authorities. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Whether TLS begins before NATS has sent anything (NATS 2.10, `handshake_first`). */
  readonly handshakeFirst?: boolean | undefined;
}

/** A login file that cannot be read, or has wrong contents. Its message names the file and shows nothing of its contents. */
export class LoginFileError extends Error {}

const seedPattern = /^\s*(SU[A-Z2-7]{50,})\s*$/m;
const certificatePattern = /-----BEGIN (TRUSTED )?CERTIFICATE-----/;
const keyPattern = /-----BEGIN (\w+ )?PRIVATE KEY-----/;
/** What `nsc` writes, with or without the warnings between the two. */
const credentialsPattern = /-----BEGIN NATS USER JWT-----[\s\S]+-----BEGIN USER NKEY SEED-----\s+SU[A-Z2-7]{50,}/;

/** @throws {LoginFileError} for the first file that cannot be used. */
export function checkLoginFiles({ nkeyFile, credentialsFile, tls = {} }: LoginFiles): void {
  if (nkeyFile !== undefined) seedIn(nkeyFile);
  if (credentialsFile !== undefined) find(credentialsFile, credentialsPattern, 'no JWT of a user with its seed');
  if (tls.caFile !== undefined) find(tls.caFile, certificatePattern, 'no certificate');
  if (tls.certFile !== undefined) find(tls.certFile, certificatePattern, 'no certificate');
  if (tls.keyFile !== undefined) find(tls.keyFile, keyPattern, 'no private key');
}

/** Tools write comments and line breaks around the seed. @throws {LoginFileError} when there is none. */
export function seedIn(file: string): string {
  return find(file, seedPattern, "no seed of a user's NKey (a line that begins with SU)")[1] as string;
}

function find(file: string, pattern: RegExp, absent: string): RegExpExecArray {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new LoginFileError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error });
  }
  const match = pattern.exec(text);
  if (match === null) throw new LoginFileError(`${file} holds ${absent}`);
  return match;
}
