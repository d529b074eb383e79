/**
 * Sign-ins whose user has to show that they are his. Where callers are known by a key alone, nothing tells whose browser opens an address: somebody
 * could send his own to another, who would sign in there and so lend him what is his. What such a sign-in brings is kept aside. The page shows a code
 * to whoever signed in, and it is taken when the caller whose address it was says the code: a link that is sent on is worth nothing without an answer.
 */
import { randomInt, timingSafeEqual } from 'node:crypto';
import type { Connection, Place, Vault } from '@omnibus/credentials';
import type { Principal, ServerName } from '@omnibus/protocol';

/** What is kept aside. */
interface Pending {
  readonly connection: Connection;
  readonly code: string;
  /** Wrong codes that were said. */
  readonly tries: number;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** Nothing in it is taken for something else when it is read aloud. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ23456789';
const codeLength = 8;
/** Of 28 to the 8th codes, as many are tried. */
const maxTries = 5;
const lifeMs = 10 * 60_000;

export class Confirmations {
  readonly #passing: Vault;

  /** @param passing where it is kept. */
  constructor(passing: Vault) {
    this.#passing = passing;
  }

  /** Keeps a connection aside, in the place of one that was there. @returns the code. */
  async begin(server: ServerName, principal: Principal, connection: Connection): Promise<string> {
    const code = Array.from({ length: codeLength }, () => letters[randomInt(letters.length)]).join('');
    await this.#passing.put(placeOf(server, principal), connection.issuer, { connection, code, tries: 0, until: Date.now() + lifeMs } satisfies Pending);
    return `${code.slice(0, 4)}-${code.slice(4)}`;
  }

  /** Whether a sign-in of that caller waits for its code. */
  async isWaited(server: ServerName, principal: Principal): Promise<boolean> {
    const kept = await this.#passing.get<Pending>(placeOf(server, principal));
    return kept !== undefined && Date.now() < kept.value.until;
  }

  /** @returns what was kept aside, once; `wrong` where the code is another, `gone` where nothing waits for one (any more). */
  async take(server: ServerName, principal: Principal, said: string): Promise<Connection | 'wrong' | 'gone'> {
    const place = placeOf(server, principal);
    const kept = await this.#passing.get<Pending>(place);
    if (kept === undefined || Date.now() >= kept.value.until) return 'gone';
    const { value, revision } = kept;
    if (isSame(value.code, said)) return (await this.#passing.take<Pending>(place, revision))?.connection ?? 'gone';
    if (value.tries + 1 >= maxTries) {
      await this.#passing.remove(place);
      return 'gone';
    }
    // Who counts at the same time is told that his was wrong too, and has not been counted: then another has.
    if (await this.#passing.update(place, value.connection.issuer, { ...value, tries: value.tries + 1 } satisfies Pending, revision) === undefined) return this.take(server, principal, '');
    return 'wrong';
  }
}

function placeOf(server: ServerName, principal: Principal): Place {
  return { purpose: 'pending', server, principal };
}

/** However it is written. */
function isSame(code: string, said: string): boolean {
  const plain = Buffer.from(said.toUpperCase().replaceAll(/[^A-Z0-9]/g, '').padEnd(codeLength).slice(0, codeLength + 1));
  return plain.length === codeLength && timingSafeEqual(Buffer.from(code), plain);
}
