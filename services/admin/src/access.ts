/** Admits requests at the admin port: with credentials of callers, from this machine if `auth.admin` is not set, or with the sealing key. */
import { basePathOf, type EndpointName, type GatewayFault } from '@omnibus/protocol';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Audit } from '@omnibus/audit';
import type { Blocks } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import { bearerChallenge, type Authenticator, type Verdict } from '@omnibus/identity';
import type { AdminAct, AdminAnswer, Faults, Metrics } from '@omnibus/telemetry';
import { recordAct } from './act-records.ts';
import type { Recovery } from './recovery.ts';
import { mayDo, mayDoAsCaller, mayDoForTenant, rolesOf, tenantOf, whoMay, type Administrator } from './roles.ts';

export interface AdminAccessOptions {
  /** The configuration as it is now. */
  readonly config: () => Config;
  /** Undefined while the process is starting, and when callers are not or cannot be authenticated. */
  readonly authenticator: () => Authenticator | undefined;
  /** Undefined in a process without a sealing key. */
  readonly recovery: Recovery | undefined;
  readonly metrics: Metrics;
  readonly faults: Pick<Faults, 'fromOutside'>;
  /** Undefined as long as the process is starting, and where nothing is recorded. */
  readonly audit: () => Audit | undefined;
  /** Finds users that directories have deactivated; undefined while the process is starting. */
  readonly kept?: () => { readonly blocks: Pick<Blocks, 'goneProblem'> } | undefined;
}

/** The loopback address from which no proxy of a service mesh connects: these use other addresses of 127.0.0.0/8. */
const here = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);
/** The roles of callers on this machine, which may be able to read and change the gateway's files; only callers with a role see secrets. */
const local: Administrator = { name: 'somebody on this machine', roles: ['viewer', 'operator'], facts: undefined };
const recovered: Administrator = { name: 'somebody with the sealing key', roles: ['admin'], facts: undefined };

export class AdminAccess {
  readonly #options: AdminAccessOptions;
  readonly #known = new WeakMap<IncomingMessage, Administrator>();
  /** Issuers of tokens with scopes; API keys, certificates, proxies and clusters give none. As configured at the start, since a change of issuers needs a restart. */
  readonly #tokenIssuers: ReadonlySet<string | undefined>;

  constructor(options: AdminAccessOptions) {
    this.#options = options;
    const { auth, publicUrl } = options.config();
    this.#tokenIssuers = new Set(
      auth === undefined || auth === 'none'
        ? []
        : [...auth.issuers.map(({ issuer }) => issuer), ...(auth.server === undefined ? [] : [publicUrl])],
    );
  }

  /** The refusal of a request; undefined when it is permitted. */
  readonly guard = async (request: IncomingMessage, path: string, act: AdminAct): Promise<AdminAnswer | undefined> => {
    const { metrics, faults, audit } = this.#options;
    if (act === 'recovery' || (act === 'metrics' && this.#rules()?.metrics !== 'viewer')) return undefined;
    const found = await this.#identify(request, path);
    if ('status' in found) {
      metrics.callers.adminRefused(act, found.status === 503 ? 'unavailable' : 'unknown');
      recordAct(audit(), undefined, request, act, { outcome: found.status === 503 ? 'fault' : 'denied' });
      return found;
    }
    if (mayDo(act, found.roles) || (found.facts !== undefined && mayDoAsCaller(act))) {
      this.#known.set(request, { ...found, tenant: undefined });
      return undefined;
    }
    if (found.tenant !== undefined && mayDoForTenant(act)) {
      this.#known.set(request, found);
      return undefined;
    }
    metrics.callers.adminRefused(act, 'role');
    const { remoteAddress: address } = request.socket;
    faults.fromOutside('an act at the admin port was refused', undefined, { act, by: found.name, address });
    recordAct(audit(), found, request, act, { outcome: 'denied', details: { roles: found.roles.join(' ') } });
    const has = found.roles.length === 0 ? 'no role' : `the role ${found.roles.join(', ')}`;
    return {
      status: 403,
      text: `${found.name} has ${has} here, and this needs ${whoMay(act)}: ${found === local ? 'name its callers under auth.admin.roles, or run "omnibus recover"' : 'auth.admin.roles gives roles'}\n`,
    };
  };

  /** The person that sent an admitted request. */
  of(request: IncomingMessage): Administrator {
    return this.#known.get(request) ?? local;
  }

  #rules(): NonNullable<Exclude<Config['auth'], 'none' | undefined>['admin']> | undefined {
    const { auth } = this.#options.config();
    return auth === undefined || auth === 'none' ? undefined : auth.admin;
  }

  async #identify(request: IncomingMessage, path: string): Promise<Administrator | AdminAnswer> {
    const { authenticator, recovery } = this.#options;
    if (recovery?.holds(request.headers.authorization) === true) return recovered;
    const rules = this.#rules();
    if (rules === undefined) {
      return isHere(request)
        ? local
        : {
            status: 403,
            text: 'nothing says who may do this from another machine: set auth.admin.roles (docs/how-to/identity.md), or ask from this machine\n',
          };
    }
    const authentic = authenticator();
    if (authentic === undefined)
      return {
        status: 503,
        text: 'nobody can be known here now: the process is starting, or its log says what is missing\n',
        headers: { 'retry-after': '1' },
      };
    const { remoteAddress: peer } = request.socket;
    const verdict: Verdict = await authentic.authenticate(request, {
      url: path,
      endpoint: '' as EndpointName,
      isAdminPort: true,
      peer,
      secure: request.socket instanceof TLSSocket ? request.socket : undefined,
      address: () => peer ?? 'unknown',
    });
    if ('fault' in verdict) return this.#stranger(verdict.fault);
    const gone = this.#options.kept?.()?.blocks.goneProblem(verdict);
    if (gone !== undefined) return this.#stranger(gone);
    if (rules.scope !== false && this.#tokenIssuers.has(verdict.issuer) && !verdict.scopes.includes(rules.scope)) {
      return this.#stranger({
        reason: 'auth.scope',
        message: `the token lacks the scope ${rules.scope}: omnibus login ${this.#options.config().publicUrl ?? 'URL'}/mcp --scope ${rules.scope}`,
      });
    }
    return {
      name: `${verdict.issuer}|${verdict.subject}`,
      roles: rolesOf(verdict, rules.roles),
      facts: verdict,
      tenant: tenantOf(verdict, rules.tenants),
    };
  }

  #stranger({ reason, message }: Pick<GatewayFault, 'reason' | 'message'>): AdminAnswer {
    const { publicUrl, auth } = this.#options.config();
    const status =
      reason === 'auth.unavailable'
        ? 503
        : reason === 'auth.scope' || reason === 'auth.endpoint' || reason === 'auth.blocked'
          ? 403
          : reason === 'auth.query'
            ? 400
            : 401;
    const { scope = false, clientId } = this.#rules() ?? {};
    // A token needs the scopes of every token too.
    const scopes =
      scope === false ? [] : [...new Set([...(auth === undefined || auth === 'none' ? [] : auth.scopes), scope])];
    const challenge = bearerChallenge({ reason, message }, [
      publicUrl === undefined || this.#tokenIssuers.size === 0
        ? ['realm', 'omnibus admin']
        : [
            'resource_metadata',
            `${new URL(publicUrl).origin}/.well-known/oauth-protected-resource${basePathOf(publicUrl)}/mcp`,
          ],
      ...(scopes.length === 0 ? [] : [['scope', scopes.join(' ')] as const]),
      // For the console; others pass over a parameter that they do not know (RFC 6750, 3).
      ...(clientId === undefined ? [] : [['client_id', clientId] as const]),
    ]);
    const text =
      reason === 'auth.required'
        ? 'this port serves known callers only: send an API key or a token of somebody whom auth.admin.roles names, as "Authorization: Bearer"; or run "omnibus recover" where the sealing key is'
        : message;
    return {
      status,
      text: `${text}\n`,
      headers: status === 401 || status === 403 ? { 'www-authenticate': challenge } : {},
    };
  }
}

/** Whether a request came without a proxy: one through a proxy on this machine comes from another machine. */
function isHere({ socket: { remoteAddress }, headers }: IncomingMessage): boolean {
  return (
    here.has(remoteAddress ?? '') &&
    headers['x-forwarded-for'] === undefined &&
    headers.forwarded === undefined &&
    headers['x-real-ip'] === undefined
  );
}
