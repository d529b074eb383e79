/**
 * Follows references (`$ref`) within one document (OpenAPI 3.1, 4.8.23; RFC 6901). References to other documents are refused: a document could name an
 * address or a file that only this machine reaches. Nothing is copied, so a document of references to references stays small.
 */
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import { DocumentProblem } from './problem.ts';

/** References that may lead to each other; a longer chain is a circle. */
const maxChain = 32;
const maxShown = 200;

export class Refs {
  readonly #root: JsonObject;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /**
   * @param value an object, or a reference to one.
   * @param place of it, for the problem.
   * @throws {DocumentProblem}
   */
  object(value: unknown, place: string): JsonObject {
    let found = value;
    for (let turn = 0; turn < maxChain; turn += 1) {
      if (!isObject(found)) throw new DocumentProblem(place, 'expected an object');
      const { $ref } = found;
      if (typeof $ref !== 'string') return found;
      found = this.at($ref, place);
    }
    throw new DocumentProblem(place, `its references lead to each other (${maxChain} in a row)`);
  }

  /** @returns the value that one reference leads to. @throws {DocumentProblem} */
  at(reference: string, place: string): unknown {
    const shown = JSON.stringify(printable(reference, maxShown));
    if (!reference.startsWith('#'))
      throw new DocumentProblem(place, `${shown} leads to another document: put all parts into one (a bundler does)`);
    let found: unknown = this.#root;
    for (const step of reference.slice(1).split('/').slice(1)) {
      const name = unescaped(step);
      const next = isObject(found) || Array.isArray(found) ? Object.getOwnPropertyDescriptor(found, name) : undefined;
      if (next === undefined) throw new DocumentProblem(place, `${shown} leads nowhere`);
      found = next.value as unknown;
    }
    return found;
  }
}

function unescaped(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
