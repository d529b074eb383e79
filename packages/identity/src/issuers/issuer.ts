/**
 * A trusted authorization server. Signed tokens (RFC 9068 and older forms) are verified here; opaque tokens by a request to the server (RFC
 * 7662).
 */
import {
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type CryptoKey,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from 'jose';
import { fault, printable, type GatewayFault, type JsonObject } from '@omnibus/protocol';
import { proofOf, secondsOf, toleranceSeconds, withoutNulls, type ClaimNames, type Proof } from './claims.ts';
import { fetchJson } from './fetch-json.ts';
import { KeySet, KeysUnavailable } from './key-set.ts';
import { seldom } from './seldom.ts';

export interface IssuerOptions extends ClaimNames {
  /** The issuer exactly as its tokens name it. */
  readonly issuer: string;
  readonly jwksUri?: string | undefined;
  /** Accepted signature algorithms, none of them symmetric. */
  readonly algorithms: readonly string[];
  /** `at+jwt`: only tokens with the type of access tokens in their header. `auto`: also tokens without a type that look like no other kind. */
  readonly tokenType: 'auto' | 'at+jwt';
  /** Where opaque tokens are checked. */
  readonly introspection?:
    | { readonly url: string; readonly clientId: string; readonly clientSecret: string }
    | undefined;
}

/** Gets the reason, in words for the operator, why an issuer is unusable now. */
export interface IssuerObserver {
  /** Its keys cannot be fetched. */
  noKeys(problem: string): void;
  /** It does not answer about a token. */
  noAnswer(problem: string): void;
}

export type Outcome = Proof | { readonly fault: GatewayFault };

/** Names of issuers for an opaque bearer token (`token_type` of RFC 7662, 2.2 and RFC 6749, 7.1; `token_use` of some). */
const accessTokenKinds = new Set(['bearer', 'access_token', 'access', 'at+jwt']);
/** An opaque token without an expiry is valid as long as the issuer confirms it; a stream opened with it must present it again after this time. */
const unsaidSeconds = 300;
/** Bound on the keys that a token is tried with. */
const maxTried = 8;
const accessTokenTypes = new Set<unknown>(['at+jwt', 'application/at+jwt']);
/** Values of the claim by which Keycloak names the kind of a token. */
const idTokenTypes = new Set<unknown>(['ID', 'Refresh', 'Offline', 'Logout']);
/** Claims that only an ID token has (OpenID Connect Core, 2 and 3.3.2.11). */
const idTokenClaims = ['nonce', 'at_hash', 'c_hash'];

export class Issuer {
  readonly options: IssuerOptions;
  readonly #keys: KeySet;
  readonly #noAnswer: (problem: string) => void;

  readonly #find: JWTVerifyGetKey;

  /** @param find gives known keys, without a request. */
  constructor(options: IssuerOptions, observer: IssuerObserver, find?: JWTVerifyGetKey) {
    this.options = options;
    this.#noAnswer = seldom((problem) => observer.noAnswer(problem));
    this.#keys = new KeySet({
      issuer: options.issuer,
      jwksUri: options.jwksUri,
      failed: (problem) => observer.noKeys(problem),
    });
    this.#find = find ?? this.#keys.find;
  }

  /** @throws {Error} in words. */
  metadata(): Promise<JsonObject> {
    return this.#keys.metadata();
  }

  /** @param token that names this issuer. */
  async verify(token: string): Promise<Outcome> {
    const { issuer, algorithms, tokenType } = this.options;
    try {
      const { payload, protectedHeader } = await verified(token, this.#find, {
        issuer,
        algorithms: [...algorithms],
        requiredClaims: ['exp'],
        clockTolerance: toleranceSeconds,
      });
      const problem = kindProblem(payload, protectedHeader.typ, tokenType);
      return problem === undefined ? this.#proof(payload as JsonObject) : invalid(problem);
    } catch (error) {
      if (error instanceof KeysUnavailable)
        return { fault: fault('auth.unavailable', `the keys of ${issuer} cannot be had now`) };
      if (error instanceof errors.JOSEAlgNotAllowed)
        return invalid(
          `it is signed by an algorithm that is not allowed here: ${printable(String(decodeProtectedHeader(token).alg), 20)}, and not ${algorithms.join(' or ')}`,
        );
      if (error instanceof errors.JOSEError) return invalid(inWords(error, issuer));
      // A key that does not match its algorithm makes the platform throw errors of any kind.
      return invalid('its signature cannot be verified');
    }
  }

  /** Asks the issuer about an opaque token. */
  async introspect(token: string): Promise<Outcome> {
    const { issuer, introspection } = this.options;
    if (introspection === undefined) return invalid('it is no signed token');
    let claims: JsonObject;
    try {
      const credentials = [introspection.clientId, introspection.clientSecret].map(encodeURIComponent).join(':');
      claims = withoutNulls(
        await fetchJson(introspection.url, {
          method: 'POST',
          body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
          },
        }),
      );
    } catch (error) {
      this.#noAnswer((error as Error).message);
      return { fault: fault('auth.unavailable', `${issuer} cannot be asked about tokens now`) };
    }
    const { active, iss, token_type: type, token_use: use } = claims;
    if (active !== true) return invalid(`${issuer} does not know it, or it has expired`);
    if (iss !== undefined && iss !== issuer) return invalid('it is of another issuer');
    const kind = [type, use].find(
      (said) => said !== undefined && !(typeof said === 'string' && accessTokenKinds.has(said.toLowerCase())),
    );
    if (kind !== undefined)
      return invalid(
        `${issuer} says that it is of the kind ${printable(JSON.stringify(kind)).slice(0, 50)}, and no access token that its bearer may use`,
      );
    const from = secondsOf(claims, 'nbf');
    if (typeof from === 'string') return invalid(from);
    if (from !== undefined && from - toleranceSeconds > Date.now() / 1_000) return invalid('it is not valid yet');
    return this.#proof(
      claims['exp'] === undefined ? { ...claims, exp: Math.floor(Date.now() / 1_000) + unsaidSeconds } : claims,
    );
  }

  #proof(claims: JsonObject): Outcome {
    const proof = proofOf(claims, this.options.issuer, this.options);
    return typeof proof === 'string' ? { fault: fault('auth.invalid', proof) } : proof;
  }
}

/** Verifies a token. One that does not name its key (RFC 7515, 4.1.4) is tried with each that fits, since an issuer has two while they rotate. @throws {Error} of `jose`. */
async function verified(token: string, find: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, find, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    const keys: CryptoKey[] = [];
    for await (const key of error) keys.push(key);
    if (keys.length > maxTried) throw error;
    const tries = await Promise.allSettled(keys.map((key) => jwtVerify(token, key, options)));
    const right = tries.find((each) => each.status === 'fulfilled');
    if (right !== undefined) return right.value;
    // With a correct signature, a wrong claim is named.
    const problems: unknown[] = tries.map((each) => (each.status === 'rejected' ? each.reason : undefined));
    throw problems.find((problem) => !(problem instanceof errors.JWSSignatureVerificationFailed)) ?? problems[0];
  }
}

const invalid = (why: string): Outcome => ({ fault: fault('auth.invalid', `the token is not accepted: ${why}`) });

/** The reason why a token is not an access token, by its `typ` and its claims; an ID token names the user of a client's sign-in, and permits nothing. */
function kindProblem(payload: JWTPayload, said: unknown, tokenType: 'auto' | 'at+jwt'): string | undefined {
  const typ = typeof said === 'string' ? said.toLowerCase() : said;
  if (typ !== undefined && accessTokenTypes.has(typ)) return undefined;
  if (tokenType === 'at+jwt') return 'its header does not say that it is an access token (typ: at+jwt)';
  if (typ !== undefined && typ !== 'jwt') return 'its header says that it is of another kind than an access token';
  // Logout tokens of older providers have no kind of their own in the header (OpenID Connect Back-Channel Logout, 2.4; RFC 8417, 4).
  if (payload['events'] !== undefined) return 'it tells of a security event, and is no access token';
  const client = payload['azp'] ?? payload['client_id'];
  // For a token with the client itself as audience, only a scope distinguishes an access token from an ID token.
  const permits = payload['scope'] !== undefined || payload['scp'] !== undefined;
  return idTokenClaims.some((claim) => payload[claim] !== undefined) ||
    idTokenTypes.has(payload['typ']) ||
    (!permits && client !== undefined && payload.aud === client)
    ? 'it is an ID token, not an access token'
    : undefined;
}

function inWords(error: errors.JOSEError, issuer: string): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.claim === 'nbf'
      ? 'it is not valid yet'
      : `its claim "${printable(error.claim)}" is ${error.reason === 'missing' ? 'missing' : 'wrong'}`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return `its signature is not of ${issuer}`;
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return `it does not say which of the keys of ${issuer} has signed it (kid), and there are more than ${maxTried}`;
  if (error instanceof errors.JWKSNoMatchingKey) return `${issuer} has no such key`;
  return 'it is malformed';
}
