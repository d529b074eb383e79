/** Writes audit records of the authorization server: sign-ins and attempts, and consents given and withdrawn. */
import type { Audit, Outcome } from '@omnibus/audit';
import { agentClientMark, agentSubjectMark } from './agents/agents.ts';
import type { Acting } from './exchange/delegations.ts';

export interface SignIn {
  readonly way: 'password' | 'provider';
  readonly outcome: Outcome;
  /** Undefined where it is unknown. */
  readonly subject?: string | undefined;
  /** The client for which the sign-in was begun. */
  readonly client?: string | undefined;
  readonly address: string;
  readonly reason?: string;
}

export class SignInRecords {
  readonly #audit: Audit | undefined;
  readonly #issuer: string;

  /** @param issuer the issuer of the gateway's own tokens. */
  constructor(audit: Audit | undefined, issuer: string) {
    this.#audit = audit;
    this.#issuer = issuer;
  }

  signedIn({ way, outcome, subject, client, address, reason }: SignIn): void {
    this.#audit?.record({
      name: outcome === 'ok' ? 'auth.signin' : 'auth.refused',
      weight: 'always',
      outcome,
      reason,
      who: { issuer: this.#issuer, subject, client, address },
      more: { way },
    });
  }

  /** An agent has asked for a token with which it acts for a user. */
  acting({ agent, user, address, problem }: Acting): void {
    const actor = { issuer: this.#issuer, subject: `${agentSubjectMark}${agent}` };
    this.#audit?.record({
      name: 'auth.acting',
      weight: 'always',
      outcome: problem === undefined ? 'ok' : 'denied',
      reason: problem,
      who: {
        principal: user?.principal,
        issuer: user?.issuer,
        subject: user?.subject,
        tenant: user?.tenant,
        actors: [actor, ...(user?.actors ?? [])],
        client: `${agentClientMark}${agent}`,
        address,
      },
    });
  }

  /** @param event what happened to the consent. @param scopes and resources that it was about. */
  consent(
    event: 'given' | 'refused' | 'withdrawn',
    {
      subject,
      client,
      address,
      scopes,
      resources,
    }: {
      readonly subject: string | undefined;
      readonly client?: string | undefined;
      readonly address?: string;
      readonly scopes?: readonly string[];
      readonly resources?: readonly string[];
    },
  ): void {
    this.#audit?.record({
      name: `consent.${event}`,
      weight: 'always',
      outcome: event === 'refused' ? 'denied' : 'ok',
      who: { issuer: this.#issuer, subject, client, address },
      more: { scopes, resources },
    });
  }
}
