/** `${NAME}`, `${NAME:-default}`, `${env:NAME}` and `${file:path}` inside any text of the configuration; `$${` is a plain `${`. */
export interface ReferenceSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a file named in `${file:…}`. @throws {Error} with what the user should be told. */
  readonly readFile: (path: string) => string;
}

const reference = /\$\$\{|\$\{([^}]*)\}/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Replaces every reference in a text.
 * @returns the text, or what is wrong with it in words.
 */
export function resolveReferences(text: string, source: ReferenceSource): { readonly text: string } | { readonly problem: string } {
  if (!text.includes('${')) return { text };
  let problem: string | undefined;
  const resolved = text.replace(reference, (whole, inner: string | undefined) => {
    if (inner === undefined) return '${';
    if (inner.startsWith('file:')) {
      try {
        return source.readFile(inner.slice('file:'.length)).replace(/\r?\n$/, '');
      } catch (error) {
        problem ??= `${whole} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
        return '';
      }
    }
    const [variable, fallback] = splitOnce(inner.startsWith('env:') ? inner.slice('env:'.length) : inner, ':-');
    if (!variableName.test(variable)) {
      problem ??= `${whole} is not a reference: expected \${NAME}, \${NAME:-default} or \${file:path}; write $\${ for a plain \${`;
      return '';
    }
    const value = source.env[variable] ?? fallback;
    if (value === undefined) problem ??= `the environment variable ${variable} is not set; set it or give a default: \${${variable}:-value}`;
    return value ?? '';
  });
  return problem === undefined ? { text: resolved } : { problem };
}

function splitOnce(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}
