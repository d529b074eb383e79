/**
 * Writes the members of a JSON object as text. A text that is put together in JavaScript is a tree of its pieces until it is read, and reading the tree costs
 * more than anything else about a record; so there are few pieces: what stands between two values is one.
 */

/** The name of a member, as it is written before its value. */
export interface Head {
  /** Before a value that is JSON already, after a member that is complete. */
  readonly value: string;
  /** The same after a text, whose quotation mark is not written yet. */
  readonly valueAfterText: string;
  /** Before a text, with its first quotation mark. */
  readonly text: string;
  readonly textAfterText: string;
}

/** @param start with which each text of that member begins. */
export function headOf(name: string, start = ''): Head {
  return { value: `,"${name}":`, valueAfterText: `","${name}":`, text: `,"${name}":"${start}`, textAfterText: `","${name}":"${start}` };
}

/** Texts that need no escaping in JSON. */
const plain = /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/;

export class Members {
  #json: string;
  /** Whether the quotation mark after the last value is missing. */
  #isOpen = false;

  /** @param first members as JSON. */
  constructor(first: string) {
    this.#json = first;
  }

  /** The members in the order in which they were added, without braces. */
  get json(): string {
    return this.#isOpen ? `${this.#json}"` : this.#json;
  }

  /** Adds nothing if there is no value. @param most characters that are written; more are cut off. */
  text(head: Head, value: string | undefined, most: number): void {
    if (value === undefined || value === '') return;
    const text = value.length > most ? `${value.slice(0, most)}…` : value;
    if (plain.test(text)) this.safe(head, text);
    else this.raw(head, JSON.stringify(text));
  }

  /** @param value a text without characters that JSON escapes. */
  safe(head: Head, value: string): void {
    this.#json += this.#isOpen ? head.textAfterText : head.text;
    this.#json += value;
    this.#isOpen = true;
  }

  /** @param json a value as JSON. */
  raw(head: Head, json: string): void {
    this.#json += this.#isOpen ? head.valueAfterText : head.value;
    this.#json += json;
    this.#isOpen = false;
  }

  number(head: Head, value: number | undefined): void {
    if (value !== undefined) this.raw(head, String(value));
  }

  /** @param members as JSON, each after a comma. */
  all(members: string): void {
    this.#json += this.#isOpen ? `"${members}` : members;
    this.#isOpen = false;
  }
}
