/** Tokens of users that agents bring in order to act for them: of this server, or of an issuer of `auth.issuers`. Only signed ones are accepted. */
import { decodeJwt } from 'jose';
import {
  canonical,
  Issuer,
  OwnTokens,
  recordClaim,
  secondsOf,
  type Facts,
  type IssuerOptions,
  type OwnServer,
} from '@omnibus/identity';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { agentClientMark, agentSubjectMark } from '../agents/agents.ts';

/** A verified token. */
export interface SubjectToken {
  readonly facts: Facts;
  readonly audiences: readonly string[];
  /** The id of the user's record, of a user of the file. */
  readonly record: string | undefined;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  /** The agent that the token permits to act for its subject (`may_act`; RFC 8693, 4.4): null for another party, undefined if it says nothing of it. */
  readonly mayAct: string | null | undefined;
}

export interface SubjectTokensOptions {
  /** This server. */
  readonly own: OwnServer;
  readonly issuers: readonly IssuerOptions[];
  /** Reports that the keys of an issuer cannot be fetched. */
  readonly failed: (issuer: string, problem: string) => void;
}

const maxCharacters = 16_384;

export class SubjectTokens {
  readonly #own: OwnTokens;
  readonly #issuers: ReadonlyMap<string, Issuer>;

  constructor({ own, issuers, failed }: SubjectTokensOptions) {
    this.#own = new OwnTokens(
      own,
      () => undefined,
      (problem) => failed(own.issuer, problem),
    );
    this.#issuers = new Map(
      [
        this.#own.issuer,
        ...issuers.map((options) => {
          const noKeys = (problem: string): void => failed(options.issuer, problem);
          return new Issuer(options, { noKeys, noAnswer: noKeys });
        }),
      ].map((each) => [each.options.issuer, each]),
    );
  }

  /** @returns the problem in words, for the end of a sentence, if the token is not accepted. */
  async verify(token: string): Promise<SubjectToken | string> {
    const claims = token.length > maxCharacters ? undefined : decoded(token);
    const issuer = typeof claims?.['iss'] === 'string' ? this.#issuers.get(claims['iss']) : undefined;
    if (claims === undefined || issuer === undefined) return 'is no signed token of an issuer that is known here';
    const outcome = await issuer.verify(token);
    if ('fault' in outcome) return `was refused: ${outcome.fault.message}`;
    const { facts, audiences, binding } = outcome;
    if (binding !== undefined) return 'is bound to a key, so only the holder of the key can use it';
    if (!this.#own.holds(facts)) return 'was revoked, or its user or agent is not there any more';
    const { [recordClaim]: record } = claims;
    return {
      facts,
      audiences,
      record: issuer === this.#own.issuer && typeof record === 'string' ? record : undefined,
      expiresAt: Number(secondsOf(claims, 'exp')),
      mayAct: mayActIn(claims, this.#own.issuer.options.issuer),
    };
  }

  /** Whether an audience of a token is good for an address. @param audiences that are accepted there. */
  static isFor({ audiences }: SubjectToken, accepted: readonly string[]): boolean {
    return accepted.some((each) => audiences.includes(canonical(each)));
  }
}

/** The name of the agent in the claim `may_act`, which names it by its subject or by its client id. */
function mayActIn({ may_act: said }: JsonObject, own: string): string | null | undefined {
  if (said === undefined) return undefined;
  const { iss, sub, client_id: client } = isObject(said) ? said : {};
  const marks = [
    [sub, agentSubjectMark],
    [client, agentClientMark],
  ] as const;
  const named = marks.find(([text, mark]) => typeof text === 'string' && text.startsWith(mark));
  // Without an issuer, the name is one of the token's issuer, or one that only this server gives.
  const isOurs = iss === undefined || iss === own;
  return named === undefined || !isOurs ? null : String(named[0]).slice(named[1].length);
}

function decoded(token: string): JsonObject | undefined {
  try {
    return decodeJwt(token) as JsonObject;
  } catch {
    return undefined; // It is then said to be no signed token.
  }
}
