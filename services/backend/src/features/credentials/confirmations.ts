/**
 * Sign-ins that the caller must confirm with a code. If callers are known only by a key, the browser that opens an address cannot be tied to a caller:
 * an attacker could send an address to a victim, and a sign-in there would give the attacker access. The tokens of such a sign-in are therefore set
 * aside. The page shows a code to the person that has signed in, and the tokens are used only after the caller has entered that code, which the victim
 * would have to give away.
 */
import { randomInt, timingSafeEqual } from 'node:crypto';
import type { Connection, Place, Vault } from '@omnibus/credentials';
import type { Principal, ServerName } from '@omnibus/protocol';

/** Tokens that are set aside until the code is entered. */
interface Pending {
  readonly connection: Connection;
  readonly code: string;
  /** The number of wrong codes that were entered. */
  readonly tries: number;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** Its code was entered, and its connection is being stored. */
  readonly isTaken?: true;
}

/** Letters and digits that are hard to confuse and do not form words. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ23456789';
const codeLength = 8;
/** Bound on attempts, of 28 to the 8th possible codes. */
const maxTries = 5;
const lifeMs = 10 * 60_000;

export class Confirmations {
  readonly #passing: Vault;

  /** @param passing the vault that stores them meanwhile. */
  constructor(passing: Vault) {
    this.#passing = passing;
  }

  /** Sets a connection aside, replacing an earlier one of the same caller. @param code of `newCode`. */
  async begin(server: ServerName, principal: Principal, connection: Connection, code: string): Promise<void> {
    await this.#passing.put(placeOf(server, principal), connection.issuer, {
      connection,
      code: plainCode(code),
      tries: 0,
      until: Date.now() + lifeMs,
    } satisfies Pending);
  }

  /** Gives up the sign-in of a caller that has no code for it. @returns its connection; undefined when none waited. */
  async giveUp(server: ServerName, principal: Principal): Promise<Connection | undefined> {
    return (await this.#passing.take<Pending>(placeOf(server, principal)))?.connection;
  }

  /** Whether a sign-in of that caller waits for its code. */
  async isWaited(server: ServerName, principal: Principal): Promise<boolean> {
    const kept = await this.#passing.get<Pending>(placeOf(server, principal));
    return kept !== undefined && isOpen(kept.value);
  }

  /**
   * Takes the connection, once. Its record stays until the connection is stored (`end`), so that it is found if its user is removed meanwhile.
   * @returns it; `wrong` for another code, `gone` when none waits (any more).
   */
  async take(server: ServerName, principal: Principal, said: string): Promise<Connection | 'wrong' | 'gone'> {
    const place = placeOf(server, principal);
    const kept = await this.#passing.get<Pending>(place);
    if (kept === undefined || !isOpen(kept.value)) return 'gone';
    const { value, revision } = kept;
    if (isSame(value.code, said)) {
      const taken = { ...value, isTaken: true } satisfies Pending;
      const isFirst = (await this.#passing.update(place, value.connection.issuer, taken, revision)) !== undefined;
      return isFirst ? value.connection : 'gone';
    }
    if (value.tries + 1 >= maxTries) {
      await this.#passing.remove(place);
      return 'gone';
    }
    // If another wrong code was counted at the same time, the update fails; it is tried again, with a code that is surely wrong, so that this attempt counts too.
    if (
      (await this.#passing.update(
        place,
        value.connection.issuer,
        { ...value, tries: value.tries + 1 } satisfies Pending,
        revision,
      )) === undefined
    )
      return this.take(server, principal, '');
    return 'wrong';
  }

  /** Called when a taken connection is stored. @returns false if its record was removed meanwhile, with the user or because the caller has given it up. */
  async end(server: ServerName, principal: Principal): Promise<boolean> {
    const place = placeOf(server, principal);
    const kept = await this.#passing.get<Pending>(place);
    if (kept?.value.isTaken !== true) return kept !== undefined;
    return (await this.#passing.take(place, kept.revision)) !== undefined;
  }
}

/** Whether its code can be entered. */
const isOpen = ({ until, isTaken }: Pending): boolean => isTaken !== true && Date.now() < until;

function placeOf(server: ServerName, principal: Principal): Place {
  return { purpose: 'pending', server, principal };
}

/** A code, as pages show it. */
export function newCode(): string {
  const code = Array.from({ length: codeLength }, () => letters[randomInt(letters.length)]).join('');
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** A code without its case and separators. */
const plainCode = (said: string): string => said.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');

function isSame(code: string, said: string): boolean {
  const plain = Buffer.from(
    plainCode(said)
      .padEnd(codeLength)
      .slice(0, codeLength + 1),
  );
  return plain.length === codeLength && timingSafeEqual(Buffer.from(code), plain);
}
