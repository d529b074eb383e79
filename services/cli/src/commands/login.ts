/** Signs in to a gateway and out of it, and shows the user's identity there. */
import { decodeJwt } from 'jose';
import { printable } from '@omnibus/protocol';
import { answerEither, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { alignColumns } from '../output/table.ts';
import { endedSignIn, revoke } from '../sign-in/issued.ts';
import { gatewayAddress, KeptTokens, type Kept } from '../sign-in/kept-tokens.ts';
import { freshToken, otherToken } from '../sign-in/session.ts';
import { isTaken, signIn } from '../sign-in/sign-in.ts';

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

export function login(
  typed: string,
  { tokens: path, json = false, clientId, clientSecret, scope, device, browser = true }: LoginOptions,
): Promise<void> {
  return runCommand(json, async () => {
    const url = gatewayAddress(typed);
    const tokens = new KeptTokens(path);
    const kept = await signIn({
      url,
      clientId,
      clientSecret,
      scopes: scope,
      usesDevice: device ?? (browser ? 'auto' : false),
      opensBrowser: browser,
      prepare: () => tokens.prepare(url),
      say: (text) => notice(`omnibus: ${text}`),
    });
    if (kept === undefined) {
      if (json) answerJson({ gateway: url, isSignedIn: false });
      else notice(`omnibus: ${url} needs no sign-in`);
      return 'done';
    }
    await tokens.change(url, () => Promise.resolve(kept));
    if (json) answerJson({ gateway: url, isSignedIn: true, subject: textOf(claimsOf(kept)['sub']), file: tokens.path });
    else notice(`omnibus: signed in to ${url}${nameOf(kept)}; the tokens are in ${tokens.path}, readable by you only`);
  });
}

export function logout(typed: string, { tokens: path, json = false }: TokenOptions): Promise<void> {
  return runCommand(json, async () => {
    const url = gatewayAddress(typed);
    const tokens = new KeptTokens(path);
    let before: Kept | undefined;
    await tokens.change(url, (kept) => {
      before = kept;
      return Promise.resolve(undefined);
    });
    const isRevoked = before !== undefined && (await revoke(before));
    if (json) answerJson({ gateway: url, isSignedIn: false, isRevoked, file: tokens.path });
    else if (before === undefined) notice(`omnibus: ${tokens.path} has no tokens for ${url}`);
    else
      notice(
        `omnibus: the tokens for ${url} were removed from ${tokens.path}, ${isRevoked ? 'and revoked' : 'and could not be revoked: whoever has a copy can use them until they expire'}`,
      );
  });
}

/** Prints a valid access token on stdout, which carries nothing else. */
export function printToken(typed: string, options: TokenOptions): Promise<void> {
  return withToken(typed, options, (kept, url) =>
    answerEither(
      options.json,
      { gateway: url, token: kept.accessToken, tokenUntil: untilOf(kept) },
      `${kept.accessToken}\n`,
    ),
  );
}

export function whoAmI(typed: string, options: TokenOptions): Promise<void> {
  return withToken(typed, options, (kept, url) => {
    const claims = claimsOf(kept);
    const [sub, scope = kept.scope] = [textOf(claims['sub']), textOf(claims['scope'])];
    const { groups = [] } = claims;
    const until = untilOf(kept);
    const list = [groups]
      .flat()
      .map((group) => printable(String(group)))
      .join(', ');
    answerEither(
      options.json,
      {
        gateway: url,
        issuer: kept.issuer,
        subject: sub,
        groups,
        scope,
        client: kept.clientId,
        tokenUntil: until,
        isRefreshed: kept.refreshToken !== undefined,
      },
      `${alignColumns([
        ['gateway', url],
        ['issuer', kept.issuer],
        ['subject', sub === undefined ? 'the token does not name one' : printable(sub)],
        ['groups', list === '' ? '-' : list],
        ['scope', printable(scope ?? '-')],
        [
          'token',
          until === undefined
            ? 'does not expire'
            : `until ${until}${kept.refreshToken === undefined ? '' : ', refreshed automatically'}`,
        ],
      ])}\n`,
    );
  });
}

function withToken(
  typed: string,
  { tokens: path, json }: TokenOptions,
  use: (kept: Kept, url: string) => void,
): Promise<void> {
  return runCommand(json, async () => {
    const url = gatewayAddress(typed);
    const tokens = new KeptTokens(path);
    const kept = await freshToken(tokens, url);
    if (kept === undefined)
      throw new CommandProblem('forbidden', `nobody is signed in to ${url}`, { advice: `omnibus login ${url}` });
    use(await acceptedToken(tokens, url, kept), url);
  });
}

/** A token that the gateway accepts now: the given one may have been revoked, or be of a gateway that has forgotten it. @throws {CommandProblem} when there is none. */
async function acceptedToken(tokens: KeptTokens, url: string, kept: Kept): Promise<Kept> {
  let isAccepted = true;
  try {
    isAccepted = await isTaken(url, kept);
  } catch (error) {
    notice(`omnibus: ${(error as Error).message}; whether the token is accepted is not known`);
  }
  if (isAccepted) return kept;
  const other = await otherToken(tokens, url, kept);
  if (other === undefined || !(await isTaken(url, other))) throw endedSignIn(url);
  return other;
}

const untilOf = ({ expiresAt }: Kept): string | undefined =>
  expiresAt === undefined ? undefined : new Date(expiresAt).toISOString();

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
