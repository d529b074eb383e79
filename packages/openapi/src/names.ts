/** Names of tools and of their arguments: stable, unique, and of the characters and length that interfaces of models take. */
import { hash } from 'node:crypto';

/** With the name of a server before it, a name of this length stays within 64 characters for most servers. */
const maxName = 60;
const maxArgument = 64;

/**
 * @param operationId of the document; undefined if it has none, or one that another operation has too.
 * @returns a name that depends on this operation alone.
 */
export function operationName(operationId: string | undefined, method: string, path: string): string {
  const said = operationId ?? `${method.toLowerCase()}_${path.replaceAll(/[{}]/g, '')}`;
  const clean = said
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/_{2,}/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  if (clean !== '' && clean.length <= maxName) return clean;
  return withHash(clean, `${method} ${path}`);
}

/** The name of an operation whose plain name another one has too. */
export function withHash(name: string, unique: string): string {
  const mark = hash('sha256', unique.isWellFormed() ? unique : JSON.stringify(unique), 'hex').slice(0, 6);
  return `${name.slice(0, maxName - 7)}_${mark}`;
}

/** @param taken names of the arguments so far; the new one is added. */
export function argumentName(name: string, place: string, taken: Set<string>): string {
  const clean =
    name
      .replaceAll(/[^A-Za-z0-9_.-]+/g, '_')
      .replaceAll(/^_+|_+$/g, '')
      .slice(0, maxArgument) || place;
  const forms = [clean, `${clean}_${place}`.slice(0, maxArgument)];
  let made = forms.find((form) => !taken.has(form));
  for (let turn = 2; made === undefined; turn += 1) {
    const form = `${clean.slice(0, maxArgument - 4)}_${turn}`;
    if (!taken.has(form)) made = form;
  }
  taken.add(made);
  return made;
}
