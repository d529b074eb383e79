/** What the authorization server puts on record: who has signed in or tried to, and what users allow and take back. */
import type { Audit, Outcome } from '@omnibus/audit';

export interface SignIn {
  readonly way: 'password' | 'provider';
  readonly outcome: Outcome;
  /** Undefined where nobody can tell. */
  readonly subject?: string | undefined;
  /** The program that the sign-in was begun for. */
  readonly client?: string | undefined;
  readonly address: string;
  readonly reason?: string;
}

export class SignInRecords {
  readonly #audit: Audit | undefined;
  readonly #issuer: string;

  /** @param issuer of our own tokens. */
  constructor(audit: Audit | undefined, issuer: string) {
    this.#audit = audit;
    this.#issuer = issuer;
  }

  signedIn({ way, outcome, subject, client, address, reason }: SignIn): void {
    this.#audit?.record({ name: outcome === 'ok' ? 'auth.signin' : 'auth.refused', weight: 'always', outcome, reason, who: { issuer: this.#issuer, subject, client, address }, more: { way } });
  }

  /** @param event what has become of it. @param scopes and addresses that it was about. */
  consent(event: 'given' | 'refused' | 'withdrawn', { subject, client, address, scopes, resources }: { readonly subject: string | undefined; readonly client?: string | undefined; readonly address?: string; readonly scopes?: readonly string[]; readonly resources?: readonly string[] }): void {
    this.#audit?.record({ name: `consent.${event}`, weight: 'always', outcome: event === 'refused' ? 'denied' : 'ok', who: { issuer: this.#issuer, subject, client, address }, more: { scopes, resources } });
  }
}
