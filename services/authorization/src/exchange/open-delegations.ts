/** Opens token exchange for the agents of an authorization server. */
import type { Facts, IssuerOptions, OwnServer } from '@omnibus/identity';
import type { Logger } from '@omnibus/telemetry';
import type { FurtherScope } from '../further-scope.ts';
import type { SignInRecords } from '../sign-in-records.ts';
import { Delegations, type ActingRule, type DelegationsOptions } from './delegations.ts';
import { SubjectTokens } from './subject-tokens.ts';

/** Which agents may act for users (RFC 8693). */
export interface ActingOptions {
  readonly rules: readonly ActingRule[];
  readonly issuers: readonly IssuerOptions[];
  /** Audiences that are accepted at each endpoint; if empty, the address of all servers is. */
  readonly audience: readonly string[];
  /** Why a user is refused altogether, in words; undefined if the user is not. */
  readonly refusal: (user: Facts) => string | undefined;
}

interface Options extends Pick<DelegationsOptions, 'publicUrl' | 'scopes'> {
  readonly moreScopes: readonly FurtherScope[];
  readonly agentsFile?: string | undefined;
  readonly acting?: ActingOptions;
  readonly log: Logger;
}

interface Host extends Pick<DelegationsOptions, 'errors' | 'agents'> {
  readonly records: SignInRecords;
  readonly own: OwnServer;
}

/** @returns undefined where no agent can act for a user. */
export function delegationsOf(
  { publicUrl, scopes, moreScopes, agentsFile, acting, log }: Options,
  { errors, agents, records, own }: Host,
): Delegations | undefined {
  if (agentsFile === undefined || acting === undefined) return undefined;
  const failed = (issuer: string, problem: string): void =>
    log.warn({ issuer, problem }, 'the keys of an issuer cannot be had');
  return new Delegations({
    publicUrl,
    scopes,
    moreScopes: moreScopes.filter(({ administers }) => !administers).map(({ name }) => name),
    ...acting,
    errors,
    agents,
    tokens: new SubjectTokens({ own, issuers: acting.issuers, failed }),
    record: (outcome) => records.acting(outcome),
  });
}
