/**
 * Signed statements of an edge about a caller, so that no other on the bus can make them. The facts of a caller are signed once, sent with each command,
 * and checked once by each process. A proof names an identity; the edge decides whether the caller's token is still valid, with each request.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { anonymous, fault, isObject, type Caller, type GatewayFault } from '@omnibus/protocol';
import type { Facts } from './facts.ts';

/** How long a proof is valid: streams last a day, and a command for one may be sent again to another worker. */
const lifeMs = 2 * 86_400_000;
const renewMs = lifeMs / 2;
/** Bound on proofs that are remembered as valid; each is about half a kilobyte. */
const maxKnown = 10_000;
/** Characters of a proof that is remembered; a longer one is checked each time. */
const maxKnownCharacters = 4_096;

interface Signed {
  readonly text: string;
  readonly until: number;
}

/** The content of a proof. */
interface Opened {
  readonly principal: string;
  readonly until: number;
  /** One object for each remembered proof, so that results computed from it can be stored by it. */
  readonly facts: Facts;
}

export class Proofs {
  readonly #signing: Buffer;
  readonly #checking: readonly Buffer[];
  /** Proofs of facts that are still in use. */
  readonly #signed = new WeakMap<Facts, Signed>();
  /** Contents of valid proofs; the oldest comes first. */
  readonly #known = new Map<string, Opened>();

  /** @param secrets the same in every process of one gateway; the first one signs. */
  constructor(secrets: readonly [Buffer, ...Buffer[]]) {
    this.#checking = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'omnibus caller', 32)));
    this.#signing = this.#checking[0] as Buffer;
  }

  of(facts: Facts): string {
    const now = Date.now();
    const signed = this.#signed.get(facts);
    if (signed !== undefined && signed.until - now > renewMs) return signed.text;
    const until = now + lifeMs;
    const body = Buffer.from(JSON.stringify({ ...facts, until })).toString('base64url');
    const text = `${body}.${mac(this.#signing, body).toString('base64url')}`;
    this.#signed.set(facts, { text, until });
    return text;
  }

  /**
   * The reason why a caller is not accepted as the one that a command names.
   * @param mustBeKnown whether `auth` forbids anonymous callers.
   */
  problemOf({ principal, proof, tenant }: Caller, mustBeKnown: boolean): GatewayFault | undefined {
    const isProven =
      proof === undefined
        ? !mustBeKnown && principal === anonymous && tenant === undefined
        : this.#isProven(principal, proof);
    return isProven ? undefined : fault('caller.unproven');
  }

  /**
   * The facts of a caller that `problemOf` accepts: from the command itself in one process, from its proof between processes.
   * @returns undefined for an anonymous caller.
   */
  static factsOf({ facts, proof }: Caller, proofs: Proofs | undefined): Facts | undefined {
    return facts ?? (proof === undefined ? undefined : proofs?.told(proof)?.facts);
  }

  /** The content of a valid proof; undefined for any other text. */
  told(proof: string): Opened | undefined {
    return this.#known.get(proof) ?? this.#open(proof);
  }

  #isProven(principal: string, proof: string): boolean {
    const known = this.told(proof);
    return known !== undefined && known.principal === principal && Date.now() < known.until;
  }

  #open(proof: string): Opened | undefined {
    const [body = '', said = '', ...more] = proof.split('.');
    const given = Buffer.from(said, 'base64url');
    if (more.length > 0 || !this.#checking.some((key) => isEqual(mac(key, body), given))) return undefined;
    const content: unknown = JSON.parse(Buffer.from(body, 'base64url').toString());
    if (!isObject(content)) return undefined;
    const { until, ...facts } = content;
    const opened: Opened = {
      principal: String(facts['principal']),
      until: Number(until),
      facts: facts as unknown as Facts,
    };
    if (proof.length > maxKnownCharacters) return opened;
    if (this.#known.size >= maxKnown) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(proof, opened);
    return opened;
  }
}

function mac(key: Buffer, body: string): Buffer {
  return createHmac('sha256', key).update(body).digest();
}

const isEqual = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other);
