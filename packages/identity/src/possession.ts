/**
 * Tokens that are bound to a key of their holder: each request proves the key by a signature (DPoP, RFC 9449), or its connection shows the certificate (RFC
 * 8705, 3). A proof is for one request and works once at all edges.
 */
import { createHmac, hash, timingSafeEqual, type X509Certificate } from 'node:crypto';
import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, jwtVerify, type JWK, type JWTPayload } from 'jose';
import { fault, isObject, type GatewayFault, type JsonObject, type Principal } from '@omnibus/protocol';
import type { Peer } from './client-certificates.ts';
import type { Request } from './credential.ts';

/** The key to which a token is bound. */
export interface Binding {
  /** Thumbprint of a public key (RFC 7638). */
  readonly jkt: string | undefined;
  /** SHA-256 of a certificate. */
  readonly x5t: string | undefined;
}

export interface PossessionOptions {
  /** The address of the gateway, which proofs name. */
  readonly publicUrl: string | undefined;
  /** Whether each proof must have a nonce of the gateway. */
  readonly needsNonce: boolean;
  /** The same at all edges; signs nonces. */
  readonly secret: Buffer;
  /**
   * Remembers a proof at all edges, for longer than it works.
   * @param caller by whom proofs are counted: a caller has as many keys as it makes.
   * @returns false if it was remembered before.
   * @throws {Error} if it cannot be remembered, or the caller has sent too many.
   */
  readonly isFirst: (caller: Principal, id: string) => Promise<boolean>;
}

/** Where a request was sent to, and by which caller as its token says. */
interface Sent {
  readonly principal: Principal;
  readonly method: string | undefined;
  /** Path below the address of the gateway, with the query. */
  readonly url: string;
  readonly secure: Peer | undefined;
}

/** Algorithms of proofs and of the assertions of agents, none of them symmetric. */
export const proofAlgorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const;
const maxCharacters = 4_096;
const maxIdCharacters = 256;
/** How long a proof works after it was made. */
const windowSeconds = 300;
const toleranceSeconds = 30;
/** A nonce changes after each step, and works for two steps. */
const stepMs = 100_000;
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'];

const refused = (why: string): GatewayFault => fault('auth.proof', `the DPoP proof is not accepted: ${why}`);

/** The binding of a token by its claim `cnf`; undefined for a token without one. @returns the problem in words, if it is bound in another way. */
export function bindingOf(claims: JsonObject): Binding | undefined | string {
  const { cnf } = claims;
  if (cnf === undefined) return undefined;
  const { jkt, 'x5t#S256': x5t, ...more } = isObject(cnf) ? cnf : { cnf };
  const isDigest = (text: unknown): text is string => typeof text === 'string' && /^[\w-]{43}$/.test(text);
  return Object.keys(more).length > 0 ||
    (jkt === undefined && x5t === undefined) ||
    ![jkt, x5t].every((each) => each === undefined || isDigest(each))
    ? 'the token is bound to a key of its holder (cnf) in a way that is not supported here'
    : { jkt: jkt as string | undefined, x5t: x5t as string | undefined };
}

export class Possession {
  readonly #options: PossessionOptions;

  constructor(options: PossessionOptions) {
    this.#options = options;
  }

  /**
   * The reason why the sender of a request does not have the key of its token.
   * @param digest SHA-256 of the token, base64url.
   */
  async problemOf(
    { jkt, x5t }: Binding,
    digest: string,
    request: Request,
    sent: Sent,
  ): Promise<GatewayFault | undefined> {
    if (x5t !== undefined && thumbprintOf(sent.secure?.getPeerX509Certificate()) !== x5t)
      return fault(
        'auth.invalid',
        'the token is not accepted: it is bound to a client certificate, which this connection has not shown',
      );
    return jkt === undefined ? undefined : this.#proofProblem(jkt, digest, request, sent);
  }

  /** A nonce for the next proof. */
  nonce(): string {
    return this.#nonceAt(Math.floor(Date.now() / stepMs));
  }

  async #proofProblem(jkt: string, digest: string, request: Request, sent: Sent): Promise<GatewayFault | undefined> {
    const proof = proofOf(request);
    if (typeof proof !== 'string') return proof;
    const claims = await verified(proof, jkt);
    if (typeof claims === 'string') return refused(claims);
    const wrong = this.#claimProblem(claims, digest, sent);
    if (wrong !== undefined) return wrong;
    try {
      // A proof is remembered for longer than it works.
      return (await this.#options.isFirst(sent.principal, hash('sha256', `${jkt} ${String(claims.jti)}`, 'base64url')))
        ? undefined
        : refused('it was used before');
    } catch {
      return fault('auth.unavailable', 'too many requests of one caller at once, or proofs cannot be remembered now');
    }
  }

  #claimProblem(
    { htm, htu, ath, iat, jti, nonce }: JWTPayload,
    digest: string,
    { method, url }: Sent,
  ): GatewayFault | undefined {
    if (typeof jti !== 'string' || jti === '' || jti.length > maxIdCharacters) return refused('it has no id (jti)');
    if (htm !== method) return refused('it is for another method (htm)');
    if (!this.#isHere(htu, url)) return refused('it is for another address (htu)');
    if (ath !== digest) return refused('it is for another token (ath)');
    if (nonce !== undefined && !this.#isNonce(nonce)) return this.#wantsNonce();
    if (nonce === undefined && this.#options.needsNonce) return this.#wantsNonce();
    if (typeof iat !== 'number') return refused('it does not say when it was made (iat)');
    const ageSeconds = Date.now() / 1_000 - iat;
    // A nonce proves the time even if the clock of the client is wrong.
    return nonce === undefined && (ageSeconds > windowSeconds || ageSeconds < -toleranceSeconds)
      ? this.#wantsNonce()
      : undefined;
  }

  #wantsNonce(): GatewayFault {
    return fault('auth.nonce', undefined, { dpopNonce: this.nonce() });
  }

  /** Whether a proof names the address of the request, without its query (RFC 9449, 4.3). A WebSocket begins with a request over HTTP. */
  #isHere(htu: unknown, url: string): boolean {
    const { publicUrl } = this.#options;
    const said = typeof htu === 'string' ? URL.parse(htu.replace(/^ws(?=s?:)/i, 'http')) : null;
    if (said === null || publicUrl === undefined) return false;
    const here = URL.parse(`${publicUrl}${url.split(/[?#]/, 1)[0] ?? ''}`);
    return here !== null && said.username === '' && said.origin === here.origin && said.pathname === here.pathname;
  }

  #isNonce(said: unknown): boolean {
    const step = Math.floor(Date.now() / stepMs);
    return typeof said === 'string' && [step, step - 1, step + 1].some((each) => isEqual(this.#nonceAt(each), said));
  }

  #nonceAt(step: number): string {
    return createHmac('sha256', this.#options.secret).update(String(step)).digest('base64url');
  }
}

/** The only proof of a request. */
function proofOf({ headers, rawHeaders }: Request): string | GatewayFault {
  const { dpop } = headers;
  if (dpop === undefined)
    return fault('auth.proof', 'the token is bound to a key: send a proof in the header DPoP (RFC 9449)');
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if ((rawHeaders[index] as string).toLowerCase() === 'dpop') count += 1;
  return typeof dpop === 'string' && count === 1 && dpop.length <= maxCharacters
    ? dpop
    : refused(`expected one header DPoP, of ${maxCharacters} characters at most`);
}

/** Verifies the signature of a proof by the key that the token names. @returns the problem in words, if there is one. */
async function verified(proof: string, jkt: string): Promise<JWTPayload | string> {
  try {
    const { jwk } = decodeProtectedHeader(proof);
    if (!isObject(jwk) || privateMembers.some((member) => Object.hasOwn(jwk, member)))
      return 'its header has no public key (jwk)';
    if ((await calculateJwkThumbprint(jwk as JWK)) !== jkt) return 'its key is not that of the token';
    return (await jwtVerify(proof, EmbeddedJWK, { algorithms: [...proofAlgorithms], typ: 'dpop+jwt' })).payload;
  } catch {
    return 'it is malformed, signed by another key, or by an algorithm that is not accepted';
  }
}

function thumbprintOf(certificate: X509Certificate | undefined): string | undefined {
  return certificate === undefined ? undefined : hash('sha256', certificate.raw, 'base64url');
}

function isEqual(right: string, said: string): boolean {
  const [one, other] = [Buffer.from(right), Buffer.from(said)];
  return one.length === other.length && timingSafeEqual(one, other);
}
