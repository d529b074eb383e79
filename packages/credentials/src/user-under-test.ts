/** Tokens of users in several processes with one store, and an issuer that accepts a refresh token once and revokes everything at its second use. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { UserTokens } from './user.ts';
import type { Fetch } from './outbound.ts';
import type { Connection } from './sign-in.ts';
import type { ClientIdentity } from './token-request.ts';
import { Envelopes, type Place } from './vault/envelope.ts';
import { FileStore } from './vault/file-store.ts';
import { KeyRing, parseVaultKeys } from './vault/key-ring.ts';
import { Vault } from './vault/vault.ts';

export const place: Place = { purpose: 'connection', server: 'github', principal: 'p_una' };
export const [url, issuer] = ['https://server.example/mcp', 'https://issuer.example'];
const metadata = { issuer, token_endpoint: `${issuer}/token`, revocation_endpoint: `${issuer}/revoke` };
export const invalid = { resourceMetadata: undefined, scope: undefined, error: 'invalid_token' };

/** Everything else has no answer. */
class StrictIssuer {
  readonly asked: string[] = [];
  /** Tokens that it was asked to revoke. */
  readonly revoked: string[] = [];
  trusted = issuer;
  isRevoked = false;
  /** Runs before a refresh token is answered. */
  meanwhile: () => Promise<unknown> = () => Promise.resolve();
  /** Runs before a metadata document is answered. */
  looking: () => Promise<unknown> = () => Promise.resolve();
  /** The status of its metadata documents and those of the server. */
  status = 200;
  /** Answers a request for tokens in its place. */
  instead: () => Response | undefined = () => undefined;
  tokenEndpoint = metadata.token_endpoint;
  /** Life of its tokens, in seconds. */
  life = 3_600;
  /** How often the document of the server was read. */
  looks = 0;
  /** How the client has authenticated. */
  readonly shown: (string | undefined)[] = [];
  #good = 'refresh-0';

  readonly fetch: Fetch = async (address, { body, headers = {} } = {}) => {
    await this.looking();
    const json = (status: number, value: object): Response => new Response(JSON.stringify(value), { status });
    if (this.status !== 200 && address.includes('/.well-known/')) return json(this.status, {});
    if (address === 'https://server.example/.well-known/oauth-protected-resource/mcp') this.looks += 1;
    if (address === 'https://server.example/.well-known/oauth-protected-resource/mcp')
      return json(200, { resource: url, authorization_servers: [this.trusted] });
    if (address.endsWith('/.well-known/oauth-authorization-server'))
      return json(200, { ...metadata, issuer: new URL(address).origin, token_endpoint: this.tokenEndpoint });
    if (address === metadata.revocation_endpoint) {
      this.revoked.push(new URLSearchParams(body).get('token') ?? '');
      return json(200, {});
    }
    if (address !== this.tokenEndpoint) return json(404, {});
    this.shown.push(headers['authorization']);
    const instead = this.instead();
    if (instead !== undefined) return instead;
    const token = new URLSearchParams(body).get('refresh_token') ?? '';
    this.asked.push(token);
    await this.meanwhile();
    if (this.isRevoked || token !== this.#good) {
      this.isRevoked = true;
      return json(400, { error: 'invalid_grant', error_description: `the token ${token}` });
    }
    this.#good = `refresh-${this.asked.length}`;
    return json(200, {
      access_token: `access-${this.asked.length}`,
      token_type: 'bearer',
      expires_in: this.life,
      refresh_token: this.#good,
    });
  };
}

/** A store with delayed reads, which can be out of reach. */
class SlowStore extends FileStore {
  held: Promise<void> | undefined;
  isAway = false;
  /** Whether nothing can be read. */
  isUnreadable = false;

  override async update(key: string, value: string, revision: number): Promise<number> {
    if (this.isAway) throw new Error('the store cannot be reached');
    return super.update(key, value, revision);
  }

  override async get(key: string): ReturnType<FileStore['get']> {
    const { held } = this;
    if (this.isUnreadable) throw new Error('the store cannot be read');
    const read = await super.get(key);
    await held;
    return read;
  }
}

export interface Ground {
  readonly strict: StrictIssuer;
  readonly vault: Vault;
  readonly store: SlowStore;
  readonly at: (address: string) => UserTokens;
  readonly replica: () => UserTokens;
  /** A process with a configured client. */
  readonly of: (client: ClientIdentity) => UserTokens;
}

export async function ground(expiresAt: number): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-vault-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = new SlowStore(join(folder, 'vault.json'));
  const vault = new Vault(
    store,
    new Envelopes(
      new KeyRing(parseVaultKeys(['a', 'b'].map((name) => `${name}:${randomBytes(32).toString('base64')}`))),
    ),
    () => undefined,
  );
  const strict = new StrictIssuer();
  await vault.put(place, issuer, {
    url,
    issuer,
    server: metadata,
    client: { clientId: 'gateway' },
    resource: url,
    scope: 'read',
    since: 0,
    tokens: { accessToken: 'access-0', expiresAt, refreshToken: 'refresh-0', scope: undefined },
  } satisfies Connection);
  const at = (address: string): UserTokens =>
    new UserTokens({ fetch: strict.fetch, vault, place, url: address, issuer: undefined, asked: () => undefined });
  const of = (client: ClientIdentity): UserTokens =>
    new UserTokens({ fetch: strict.fetch, vault, place, url, issuer: undefined, client, asked: () => undefined });
  const replica = (): UserTokens => {
    const made = at(url);
    void vault.watch(() => void made.changed());
    return made;
  };
  return { strict, vault, store, at, replica, of };
}
