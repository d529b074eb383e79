import { shown } from './right-forms.ts';
import { secretName } from './secret-words.ts';
import { parseVaultReference } from './vault-reference.ts';

/** The value of a reference, or the reason why it is missing, in words. */
export type Resolved =
  | { readonly text: string }
  | {
      readonly problem: string;
      /** Not requested: the server that has it is fine. */
      readonly isUnasked?: boolean | undefined;
    };

/** `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${file:path}` and `${vault:MOUNT/PATH#FIELD}` inside any text of the configuration; `$${` is a plain `${`. */
export interface ReferenceSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file named in `${file:…}`. @throws {Error} with a message for the user. */
  readonly readFile: (path: string) => string;
  /**
   * The secret that `${vault:…}` stands for; absent where the secret store is not asked.
   * @param reference what follows `vault:`, of the right form.
   * @param ofServer whether it stands in the options of a server.
   */
  readonly secret?: ((reference: string, ofServer: boolean) => Resolved) | undefined;
}

const reference = /\$\$\{|\$\{([^}]*)\}/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces every reference in a text.
 * @param ofServer whether it is an option of a server.
 * @returns the text, or its problem in words.
 */
export function resolveReferences(text: string, source: ReferenceSource, ofServer = false): Resolved {
  if (!text.includes('${')) return { text };
  let problem: string | undefined;
  let isUnasked = false;
  const resolved = text.replace(reference, (whole, inner: string | undefined) => {
    if (inner === undefined) return '${';
    if (inner.startsWith('file:')) {
      const read = fileOf(whole, inner.slice('file:'.length), source);
      if ('problem' in read) problem ??= read.problem;
      return 'text' in read ? read.text : '';
    }
    if (inner.startsWith('vault:')) {
      const found = secretOf(whole, inner.slice('vault:'.length), source, ofServer);
      if ('problem' in found) {
        isUnasked ||= found.isUnasked === true;
        problem ??= found.problem;
      }
      return 'text' in found ? found.text : '';
    }
    const found = variableOf(inner, source);
    if ('problem' in found) problem ??= found.problem;
    return 'text' in found ? found.text : '';
  });
  return problem === undefined ? { text: resolved } : { problem, isUnasked };
}

/** References as shells, workflows and Docker Compose write them. */
function meantReference(inner: string): string | undefined {
  const [, workflow] = /^\{\s*(?:secrets|env|vars)\.([A-Za-z_]\w*)/.exec(inner) ?? [];
  if (workflow !== undefined) return `write \${${workflow}}`;
  const [, name, sign, rest = ''] = /^(?:env:)?([A-Za-z_]\w*)(:?[-=?+])(.*)$/s.exec(inner) ?? [];
  if (name === undefined || sign === undefined || sign.endsWith('+')) return undefined;
  return sign.endsWith('?') ? `write \${${name}}, without which the server stays down` : `write \${${name}:-${rest}}`;
}

/** The text in the braces, without a default that is or has a secret. */
function shownReference(inner: string): string {
  return inner.replace(
    /^((?:env:)?[A-Za-z_]\w*:?[-=+])(.+)$/s,
    (_all, before: string, fallback: string) => `${before}${secretName.test(before) ? '...' : shown(fallback)}`,
  );
}

function variableOf(inner: string, { env }: ReferenceSource): Resolved {
  const [variable, fallback] = splitOnce(inner.startsWith('env:') ? inner.slice('env:'.length) : inner, ':-');
  if (!variableName.test(variable)) {
    const written = shownReference(inner);
    return {
      problem: `\${${written}} is not a reference: ${meantReference(written) ?? 'expected ${NAME}, ${NAME:-default}, ${file:path} or ${vault:MOUNT/PATH#FIELD}'}; write $\${ for a plain \${`,
    };
  }
  // As shells do, an empty variable has the default (`:-`) too.
  const set = env[variable];
  const text = set === undefined || set === '' ? (fallback ?? set) : set;
  return text === undefined
    ? {
        problem: `the environment variable ${variable} is not set; set it or give a default: \${${variable}:-value}`,
      }
    : { text };
}

function fileOf(whole: string, path: string, { readFile }: ReferenceSource): Resolved {
  try {
    return { text: readFile(path).replace(/\r?\n$/, '') };
  } catch (error) {
    return { problem: `${whole} cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function secretOf(whole: string, reference: string, { secret }: ReferenceSource, ofServer: boolean): Resolved {
  if (parseVaultReference(reference) === undefined)
    return {
      problem: `${whole} is not a reference: expected \${vault:MOUNT/PATH#FIELD}, for example \${vault:secret/team/github#token}, or \${vault:MOUNT/PATH?version=3#FIELD}`,
    };
  return secret?.(reference, ofServer) ?? { problem: `${whole} leads to the secret store, which is not asked here` };
}

function splitOnce(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}
