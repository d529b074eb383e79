/**
 * What an edge says of a caller on the bus, signed, so that nobody else who is there can say it. A caller's facts are signed once, travel with
 * each command, and are checked once by each process that hears them. A proof says who somebody is; whether his token lives is for the edge
 * to judge, with each request.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { anonymous, fault, isObject, type Caller, type GatewayFault } from '@omnibus/protocol';
import type { Facts } from './facts.ts';

/** How long a proof holds: streams last a day, and a command for one may be sent again to another worker. */
const lifeMs = 2 * 86_400_000;
const renewMs = lifeMs / 2;
/** Proofs that are remembered as good; each is about half a kilobyte. */
const maxKnown = 10_000;
/** Characters of a proof that is remembered; a longer one is checked each time. */
const maxKnownCharacters = 4_096;

interface Signed {
  readonly text: string;
  readonly until: number;
}

/** What a proof says. */
interface Opened {
  readonly principal: string;
  readonly until: number;
  /** One object for a proof, as long as it is remembered: what is computed of it can be kept by it. */
  readonly facts: Facts;
}

export class Proofs {
  readonly #signing: Buffer;
  readonly #checking: readonly Buffer[];
  /** Proofs of facts that somebody still holds. */
  readonly #signed = new WeakMap<Facts, Signed>();
  /** Contents of proofs that were good: for whom, and until when; the one that came first is first. */
  readonly #known = new Map<string, Opened>();

  /** @param secrets the same in every process of one gateway; the first signs. */
  constructor(secrets: readonly [Buffer, ...Buffer[]]) {
    const derived = secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'omnibus caller', 32)));
    this.#signing = derived[0] as Buffer;
    this.#checking = derived;
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
   * Why a caller is not believed to be who a command says.
   * @param mustBeKnown where `auth` asks for it, nobody is anonymous.
   */
  problemOf({ principal, proof, tenant }: Caller, mustBeKnown: boolean): GatewayFault | undefined {
    const isProven = proof === undefined ? !mustBeKnown && principal === anonymous && tenant === undefined : this.#isProven(principal, proof);
    return isProven ? undefined : fault('caller.unproven');
  }

  /**
   * What an edge has found out of a caller whom `problemOf` believes: as it says itself in one process, as its proof shows between processes.
   * @returns undefined for somebody who need not be known.
   */
  static factsOf({ facts, proof }: Caller, proofs: Proofs | undefined): Facts | undefined {
    return facts ?? (proof === undefined ? undefined : proofs?.told(proof)?.facts);
  }

  /** What a proof of ours says; undefined for any other text. */
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
    const opened: Opened = { principal: String(facts['principal']), until: Number(until), facts: facts as unknown as Facts };
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
