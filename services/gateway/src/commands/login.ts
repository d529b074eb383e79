/** Signs in to a gateway, and shows who one is there. */
import { decodeJwt } from 'jose';
import { printable } from '@omnibus/protocol';
import { alignColumns } from '../table.ts';
import { KeptTokens, type Kept } from '../sign-in/kept-tokens.ts';
import { freshToken } from '../sign-in/session.ts';
import { signIn } from '../sign-in/sign-in.ts';

export interface TokenOptions {
  readonly tokens?: string;
}

export interface LoginOptions extends TokenOptions {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly scope?: readonly string[];
  readonly device?: boolean;
  readonly browser?: boolean;
}

/** BSD `sysexits.h`: permission denied, and service unavailable. */
const [exitDenied, exitUnavailable] = [77, 69];

export async function login(url: string, { tokens: path, clientId, clientSecret, scope, device, browser = true }: LoginOptions): Promise<void> {
  await told(async () => {
    const tokens = new KeptTokens(path);
    const kept = await signIn({ url, clientId, clientSecret, scopes: scope, usesDevice: device ?? (browser ? 'auto' : false), opensBrowser: browser, say: (text) => process.stderr.write(`omnibus: ${text}\n`) });
    if (kept === undefined) {
      process.stderr.write(`omnibus: ${url} needs no sign-in\n`);
      return;
    }
    await tokens.change(url, () => Promise.resolve(kept));
    process.stderr.write(`omnibus: signed in to ${url}${nameOf(kept)}; the tokens are in ${tokens.path}, readable by you only\n`);
  });
}

export async function logout(url: string, { tokens: path }: TokenOptions): Promise<void> {
  await told(async () => {
    const tokens = new KeptTokens(path);
    await tokens.change(url, () => Promise.resolve(undefined));
    process.stderr.write(`omnibus: the tokens for ${url} were removed from ${tokens.path}; your consent stays until you withdraw it at the authorization server\n`);
  });
}

/** Prints a token that is good now, alone, on stdout. */
export async function printToken(url: string, { tokens: path }: TokenOptions): Promise<void> {
  await withToken(url, path, ({ accessToken }) => process.stdout.write(`${accessToken}\n`));
}

export async function whoAmI(url: string, { tokens: path, json = false }: TokenOptions & { readonly json?: boolean }): Promise<void> {
  await withToken(url, path, (kept) => {
    const claims = claimsOf(kept);
    const [sub, scope = kept.scope] = [textOf(claims['sub']), textOf(claims['scope'])];
    const { groups = [] } = claims;
    const until = kept.expiresAt === undefined ? undefined : new Date(kept.expiresAt).toISOString();
    if (json) {
      process.stdout.write(`${JSON.stringify({ gateway: url, issuer: kept.issuer, subject: sub, groups, scope, client: kept.clientId, tokenUntil: until, isRefreshed: kept.refreshToken !== undefined }, null, 2)}\n`);
      return;
    }
    const list = [groups].flat().map((group) => printable(String(group))).join(', ');
    process.stdout.write(`${alignColumns([
      ['gateway', url], ['issuer', kept.issuer], ['subject', sub === undefined ? 'the token does not name one' : printable(sub)], ['groups', list === '' ? '-' : list], ['scope', printable(scope ?? '-')],
      ['token', until === undefined ? 'does not expire' : `until ${until}${kept.refreshToken === undefined ? '' : ', refreshed automatically'}`],
    ])}\n`);
  });
}

async function withToken(url: string, path: string | undefined, use: (kept: Kept) => void): Promise<void> {
  await told(async () => {
    const kept = await freshToken(new KeptTokens(path), url);
    if (kept !== undefined) {
      use(kept);
      return;
    }
    process.stderr.write(`omnibus: nobody is signed in to ${url}: omnibus login ${url}\n`);
    process.exitCode = exitDenied;
  });
}

async function told(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`omnibus: ${(error as Error).message}\n`);
    process.exitCode = exitUnavailable;
  }
}

/** As the token says: it is ours, and whoever is asked with it looks closer. */
function claimsOf({ accessToken }: Kept): Readonly<Record<string, unknown>> {
  try {
    return decodeJwt(accessToken);
  } catch {
    return {}; // It is for nobody but the gateway to read.
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function nameOf(kept: Kept): string {
  const { sub } = claimsOf(kept);
  return typeof sub === 'string' ? ` as ${printable(sub)}` : '';
}
