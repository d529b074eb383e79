/** Reads YAML with digests of keys and passwords in it, of which no error shows a part: errors are logged, and a digest of a password can be guessed at. */
import { LineCounter, parseDocument } from 'yaml';

/** @throws {Error} with the problem and its place, in one line, without anything of the text. */
export function parseSecretYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  // Pretty errors repeat the line.
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new Error(`it is no YAML: line ${line}, column ${col} (${error.code})`);
  }
  try {
    return document.toJS();
  } catch {
    throw new Error('it is no YAML: an alias leads nowhere, or to too much');
  }
}

/** The reason why a readable followed file does not take effect: a writer empties it first. */
export function unwrittenProblem(text: string): string | undefined {
  return text.trim() === '' ? 'it is empty, as while it is being written; what was in it before is used' : undefined;
}
