/** Lists users' sign-ins at servers, for them and for operators, and ends them. */
import { revokeAtIssuer, type Connection, type Vault } from '@omnibus/credentials';
import type { ConnectCommand, ConnectionRow, ConnectReply, Principal, ServerName } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { UserCredentials } from './server-credentials.ts';

export interface ConnectionsOptions {
  readonly log: Logger;
  readonly vault: Vault;
  readonly users: (server: ServerName) => UserCredentials | undefined;
  /** Called when the stored credentials of a user for a server have changed; resolves when his connections use the new ones. */
  readonly changed: (server: ServerName, principal: Principal) => Promise<void>;
}

/** Bound on listed sign-ins, which are sent in one message. */
const maxListed = 1_000;

export class Connections {
  readonly #options: ConnectionsOptions;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  async list({ principal }: Extract<ConnectCommand, { kind: 'list' }>): Promise<ConnectReply> {
    const { vault } = this.#options;
    const places = (await vault.places()).filter((place) => place.purpose === 'connection' && (principal === undefined || place.principal === principal))
      .toSorted((one, other) => (`${one.server} ${one.principal}` < `${other.server} ${other.principal}` ? -1 : 1));
    const connections: ConnectionRow[] = [];
    for (const place of places.slice(0, maxListed)) {
      const kept = await vault.get<Connection>(place);
      if (kept === undefined) continue;
      const { url, issuer, scope, since, owner, tokens } = kept.value;
      connections.push({
        server: place.server as ServerName, host: new URL(url).host, principal: place.principal as Principal, issuer, since, state: tokens === undefined ? 'signed-out' : 'connected',
        ...(owner === undefined ? {} : { owner }), ...(scope === undefined ? {} : { scope }),
      });
    }
    return { kind: 'connections', connections, total: places.length };
  }

  /** Ends a sign-in. The stored tokens are removed first, so that no call uses them, whatever the issuer answers. */
  async revoke({ server, principal }: Pick<Extract<ConnectCommand, { kind: 'revoke' }>, 'server' | 'principal'>): Promise<ConnectReply> {
    const { vault, users, changed, log } = this.#options;
    const place = { purpose: 'connection', server, principal } as const;
    const kept = await vault.take<Connection>(place);
    if (kept === undefined) return { kind: 'gone' };
    await changed(server, principal);
    const signIn = users(server)?.signIn;
    // The issuer of a server that was removed is not asked: its configuration, which says how the issuer may be reached, is gone.
    const isRevoked = signIn === undefined ? undefined : await revokeAtIssuer(signIn.fetch, kept);
    log.info({ server, principal, issuer: kept.issuer, isRevoked }, 'what a user has connected is ended');
    return { kind: 'revoked', ...(isRevoked === undefined ? {} : { isRevoked }) };
  }
}
