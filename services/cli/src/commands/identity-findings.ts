/** Findings of `omnibus doctor` about `auth`: whether each way of authentication works from here. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '@omnibus/config';
import { createLogger } from '@omnibus/telemetry';
import { identityWarnings } from '@omnibus/setup/warnings';
import type { Finding } from './finding.ts';

/** @param isEdge whether clients connect to the process; another one continues without, and authenticates no one at its admin port. */
export async function identityFindings(
  config: Config,
  baseFolder: string,
  isEdge: boolean,
): Promise<readonly Finding[]> {
  const warnings = identityWarnings(config).map(({ path, message }): Finding => ({
    about: 'auth',
    state: 'warning',
    text: `${path.join('.')}: ${message}`,
    advice: 'What callers prove, and what may be written here: docs/how-to/identity.md.',
  }));
  const { auth } = config;
  if (auth === undefined || auth === 'none') return warnings;
  const issuers: (readonly [issuer: string, jwksUri: string | undefined])[] = auth.issuers.map(
    ({ issuer, jwksUri }) => [issuer, jwksUri],
  );
  const signIn = auth.server?.signIn;
  if (signIn !== undefined && signIn.oauth === undefined) issuers.push([signIn.issuer, undefined]);
  const state = isEdge ? 'bad' : 'warning';
  return [
    await fileFinding(config, baseFolder, state),
    ...(await Promise.all(issuers.map(([issuer, jwksUri]) => issuerFinding(issuer, jwksUri, state)))),
    ...warnings,
  ];
}

/** Opens everything that the gateway opens at its start, and closes it. */
async function fileFinding(config: Config, baseFolder: string, state: 'bad' | 'warning'): Promise<Finding> {
  const { auth } = config;
  try {
    const { openAuthenticator } = await import('@omnibus/setup/identity');
    const authenticator = await openAuthenticator({
      config,
      baseFolder,
      log: createLogger({ level: 'silent', format: 'json' }),
      own: undefined,
    });
    await authenticator?.close();
    const users = auth === undefined || auth === 'none' ? undefined : auth.server?.users?.file;
    if (users !== undefined) await readUsers(resolve(baseFolder, users));
    return { about: 'auth', state: 'good', text: 'the files that it names can be read' };
  } catch (error) {
    return {
      about: 'auth',
      state,
      text: (error as Error).message,
      advice:
        state === 'bad'
          ? 'The gateway does not start like this.'
          : 'This process goes on without, and knows nobody at its admin port.',
    };
  }
}

async function readUsers(file: string): Promise<void> {
  const { parseUsers } = await import('@omnibus/authorization');
  try {
    parseUsers(readFileSync(file, 'utf8'));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new Error(
      `the file of users ${file} ${isMissing ? 'is not there; make a user with: omnibus users add NAME' : `cannot be used: ${(error as Error).message}`}`,
      { cause: error },
    );
  }
}

async function issuerFinding(issuer: string, jwksUri: string | undefined, state: 'bad' | 'warning'): Promise<Finding> {
  const { issuerProblem } = await import('@omnibus/identity');
  const problem = await issuerProblem(issuer, jwksUri);
  if (problem === undefined) return { about: 'issuer', state: 'good', text: `${issuer} gives its keys` };
  return {
    about: 'issuer',
    state,
    text: `the keys of ${issuer} cannot be had: ${problem}`,
    advice:
      'Nobody can come in with its tokens. Write the issuer exactly as its tokens name it (claim `iss`), and let this machine reach it.',
  };
}
