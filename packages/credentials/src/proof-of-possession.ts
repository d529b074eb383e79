/**
 * Proofs of possession (DPoP, RFC 9449): tokens that are bound to a key work only together with a signature by that key, made for each request. They are
 * used only where a server demands them, since the support of an issuer does not mean that its servers support them.
 *
 * Proofs are signed by `node:crypto` and not by `jose`: that library signs by WebCrypto, with promises for signatures, while a request is handed to its connection
 * synchronously (`Dispatcher.dispatch` of undici), and requests that waited for a signature could overtake each other.
 */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomUUID,
  sign,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import type { AuthorizationServer } from 'oauth4webapi';
import type { SentHeaders } from './source.ts';

const algorithm = 'ES256';
/** Bound on remembered nonces: a key is used at one issuer and one server. */
const maxNonces = 16;

/** A private key for one connection, stored with its tokens. */
export function newProofKey(): JsonWebKey {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
}

/** Whether an issuer binds tokens to keys such as ours. */
export function canBind({ dpop_signing_alg_values_supported: algorithms }: AuthorizationServer): boolean {
  return algorithms?.includes(algorithm) === true;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export class Prover {
  /** Tells keys apart: one prover is kept for a key, since it remembers nonces. */
  readonly x: string | undefined;
  readonly #key: KeyObject;
  readonly #header: string;
  /** The nonce for the next proof, by origin (RFC 9449, 8 and 9). */
  readonly #nonces = new Map<string, string>();

  constructor(jwk: JsonWebKey) {
    this.#key = createPrivateKey({ key: jwk, format: 'jwk' });
    const { kty, crv, x, y } = jwk;
    this.x = x;
    this.#header = encoded({ typ: 'dpop+jwt', alg: algorithm, jwk: { kty, crv, x, y } });
  }

  /** @param token the access token that is sent with the request. */
  of(method: string, address: string, token?: string): string {
    const { origin, pathname } = new URL(address);
    const claims = {
      jti: randomUUID(),
      htm: method,
      htu: `${origin}${pathname}`,
      iat: Math.floor(Date.now() / 1_000),
      nonce: this.#nonces.get(origin),
      ath: token === undefined ? undefined : createHash('sha256').update(token).digest('base64url'),
    };
    const signed = `${this.#header}.${encoded(claims)}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), { key: this.#key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  }

  /** The proof for a request with these headers; undefined if their token is not bound to a key. */
  headersFor(sent: SentHeaders, method: string, address: string): SentHeaders | undefined {
    const [scheme, token] = sent['authorization']?.split(' ') ?? [];
    return scheme === 'DPoP' ? { dpop: this.of(method, address, token) } : undefined;
  }

  /** Stores the `DPoP-Nonce` of an answer. */
  note(address: string, nonce: string): void {
    const { origin } = new URL(address);
    this.#nonces.delete(origin);
    this.#nonces.set(origin, nonce);
    if (this.#nonces.size > maxNonces) this.#nonces.delete(this.#nonces.keys().next().value as string);
  }
}
