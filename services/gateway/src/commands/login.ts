/** Signs in to a gateway and out of it, and shows who the user is there. */
import { decodeJwt } from 'jose';
import { printable } from '@omnibus/protocol';
import { answerEither, answerJson, CommandProblem, notice, runCommand } from '../outcome.ts';
import { alignColumns } from '../table.ts';
import { KeptTokens, type Kept } from '../sign-in/kept-tokens.ts';
import { freshToken } from '../sign-in/session.ts';
import { signIn } from '../sign-in/sign-in.ts';

export interface TokenOptions {
  readonly tokens?: string;
  readonly json?: boolean;
}

export interface LoginOptions extends TokenOptions {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: readonly string[];
  readonly device?: boolean;
  readonly browser?: boolean;
}

export function login(url: string, { tokens: path, json = false, clientId, clientSecret, scope, device, browser = true }: LoginOptions): Promise<void> {
  return runCommand(json, async () => {
    const tokens = new KeptTokens(path);
    const kept = await reached(signIn({ url, clientId, clientSecret, scopes: scope, usesDevice: device ?? (browser ? 'auto' : false), opensBrowser: browser, say: (text) => notice(`omnibus: ${text}`) }));
    if (kept === undefined) {
      if (json) answerJson({ gateway: url, isSignedIn: false });
      else notice(`omnibus: ${url} needs no sign-in`);
      return 'done';
    }
    await tokens.change(url, () => Promise.resolve(kept));
    if (json) answerJson({ gateway: url, isSignedIn: true, subject: textOf(claimsOf(kept)['sub']), file: tokens.path });
    else notice(`omnibus: signed in to ${url}${nameOf(kept)}; the tokens are in ${tokens.path}, readable by you only`);
    return 'done';
  });
}

export function logout(url: string, { tokens: path, json = false }: TokenOptions): Promise<void> {
  return runCommand(json, async () => {
    const tokens = new KeptTokens(path);
    await tokens.change(url, () => Promise.resolve(undefined));
    if (json) answerJson({ gateway: url, isSignedIn: false, file: tokens.path });
    else notice(`omnibus: the tokens for ${url} were removed from ${tokens.path}; your consent stays until you withdraw it at the authorization server`);
    return 'done';
  });
}

/** Prints a valid access token on stdout, which carries nothing else. */
export function printToken(url: string, options: TokenOptions): Promise<void> {
  return withToken(url, options, (kept) => answerEither(options.json, { gateway: url, token: kept.accessToken, tokenUntil: untilOf(kept) }, `${kept.accessToken}\n`));
}

export function whoAmI(url: string, options: TokenOptions): Promise<void> {
  return withToken(url, options, (kept) => {
    const claims = claimsOf(kept);
    const [sub, scope = kept.scope] = [textOf(claims['sub']), textOf(claims['scope'])];
    const { groups = [] } = claims;
    const until = untilOf(kept);
    const list = [groups].flat().map((group) => printable(String(group))).join(', ');
    answerEither(options.json, { gateway: url, issuer: kept.issuer, subject: sub, groups, scope, client: kept.clientId, tokenUntil: until, isRefreshed: kept.refreshToken !== undefined }, `${alignColumns([
      ['gateway', url], ['issuer', kept.issuer], ['subject', sub === undefined ? 'the token does not name one' : printable(sub)], ['groups', list === '' ? '-' : list], ['scope', printable(scope ?? '-')],
      ['token', until === undefined ? 'does not expire' : `until ${until}${kept.refreshToken === undefined ? '' : ', refreshed automatically'}`],
    ])}\n`);
  });
}

function withToken(url: string, { tokens, json }: TokenOptions, use: (kept: Kept) => void): Promise<void> {
  return runCommand(json, async () => {
    const kept = await reached(freshToken(new KeptTokens(tokens), url));
    if (kept === undefined) throw new CommandProblem('forbidden', `nobody is signed in to ${url}`, { advice: `omnibus login ${url}` });
    use(kept);
    return 'done';
  });
}

/** @throws {CommandProblem} for whatever fails on the way to a gateway or its authorization server. */
async function reached<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof CommandProblem ? error : new CommandProblem('unreachable', (error as Error).message);
  }
}

const untilOf = ({ expiresAt }: Kept): string | undefined => (expiresAt === undefined ? undefined : new Date(expiresAt).toISOString());

/** The claims of the access token, unverified: they are only shown. @returns an empty object where the token is not a JWT. */
function claimsOf({ accessToken }: Kept): Readonly<Record<string, unknown>> {
  try {
    return decodeJwt(accessToken);
  } catch {
    return {}; // An opaque token, which only the gateway can read.
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function nameOf(kept: Kept): string {
  const { sub } = claimsOf(kept);
  return typeof sub === 'string' ? ` as ${printable(sub)}` : '';
}
