/** Metrics of callers, sign-ins and administration. Label values are of closed sets, as in `metrics.ts`: never a name. */
import type { Registry } from 'prom-client';
import { adminActs, type AdminAct } from './admin-acts.ts';
import { Instruments } from './instruments.ts';

const callerWays = ['key', 'token', 'certificate', 'proxy', 'none'] as const;
const signInWays = ['password', 'provider'] as const;
const signInOutcomes = ['good', 'refused', 'throttled'] as const;
const tokenGrants = [
  'authorization_code',
  'refresh_token',
  'device_code',
  'client_credentials',
  'token-exchange',
] as const;

/** Where a user that signs in is known. */
type SignInWay = (typeof signInWays)[number];
type SignInOutcome = (typeof signInOutcomes)[number];

export class CallerMetrics extends Instruments {
  readonly #asked = this.counter(
    'omnibus_auth_requests_total',
    'Requests to the edge and the admin port that had to prove their caller, by way (key, token, certificate, proxy, or none) and outcome: verified, or the reason of the refusal.',
    ['way', 'outcome'],
  );
  readonly #signIns = this.counter(
    'omnibus_sign_ins_total',
    "Sign-ins at the gateway's own authorization server, by way (password, or OpenID provider) and outcome.",
    ['way', 'outcome'],
  );
  readonly #tokens = this.counter(
    'omnibus_oauth_tokens_issued_total',
    'Times that the authorization server has issued tokens to a client, by grant: for a code, a refresh token, or a code typed on another device.',
    ['grant'],
  );
  readonly tokensRefused = this.counter(
    'omnibus_oauth_tokens_refused_total',
    'Token requests that the authorization server refused; polls before the user has entered a device code do not count.',
  );
  readonly grantsRevoked = this.counter(
    'omnibus_oauth_grants_revoked_total',
    'Consents of users that were revoked: by the user, because the user was removed, or because a code or refresh token was used twice.',
  );
  readonly clientsRegistered = this.counter(
    'omnibus_oauth_clients_registered_total',
    'Clients that registered themselves.',
  );
  readonly #scim = this.counter(
    'omnibus_scim_requests_total',
    'Requests of providers about the users and groups of their directories (auth.scim), by resource and outcome: served, refused (the request is wrong, or its secret), or failed.',
    ['resource', 'outcome'],
  );
  readonly tapWatches = this.gauge('omnibus_tap_watches', 'Watches of calls that this process reports to.');
  readonly tapDropped = this.counter(
    'omnibus_tap_dropped_total',
    'Calls and events that watches did not get, because they exceeded the requested rate.',
  );
  readonly #adminActs = this.counter(
    'omnibus_admin_acts_total',
    'Permitted requests at the admin port, other than metrics and status.',
    ['act'],
  );
  readonly #adminRefusals = this.counter(
    'omnibus_admin_refusals_total',
    'Requests to the admin port that were refused, by act and reason: the caller is unknown (unknown), has no role that permits the act (role), or could not be checked (unavailable).',
    ['act', 'why'],
  );

  constructor(registry: Registry) {
    super(registry);
    for (const way of callerWays) {
      this.#asked.inc({ way, outcome: 'verified' }, 0);
      this.#asked.inc({ way, outcome: way === 'none' ? 'auth.required' : 'auth.invalid' }, 0);
    }
    for (const way of signInWays) for (const outcome of signInOutcomes) this.#signIns.inc({ way, outcome }, 0);
    for (const grant of tokenGrants) this.#tokens.inc({ grant }, 0);
    for (const act of adminActs) {
      this.#adminActs.inc({ act }, 0);
      for (const why of ['unknown', 'role']) this.#adminRefusals.inc({ act, why }, 0);
    }
  }

  /** A provider has sent a request about its directory. @param status of the answer (HTTP). */
  scimAsked(resource: string, status: number): void {
    const known = resource === 'Users' ? 'users' : resource === 'Groups' ? 'groups' : 'other';
    this.#scim.inc({ resource: known, outcome: status < 400 ? 'served' : status < 500 ? 'refused' : 'failed' });
  }

  /** @param way and outcome of the closed sets of `identity/tally.ts`. */
  asked(way: string, outcome: string, count: number): void {
    this.#asked.inc({ way, outcome }, count);
  }

  signedIn(way: SignInWay, outcome: SignInOutcome): void {
    this.#signIns.inc({ way, outcome });
  }

  /** @param grant of the client's request; an unknown one is not counted. */
  tokensIssued(grant: unknown): void {
    const name = String(grant).replace(/^urn:ietf:params:oauth:grant-type:/, '');
    if ((tokenGrants as readonly string[]).includes(name)) this.#tokens.inc({ grant: name });
  }

  adminActed(act: AdminAct): void {
    this.#adminActs.inc({ act });
  }

  adminRefused(act: AdminAct, why: 'unknown' | 'role' | 'unavailable'): void {
    this.#adminRefusals.inc({ act, why });
  }
}
