/** What is wrong with a script, in words for a model: the message, and line and column in the script as it was sent. */

/** Lines of our own before those of the script. */
const linesBefore = 1;
const maxFrames = 4;

/** @param json an error of the engine: `name`, `message`, `stack`. @param code the script: places after its last line are our own. */
export function thrownProblem(json: string, code: string): string {
  const { name, message, stack } = membersOf(json);
  const text = `${name === undefined || name === 'Error' ? '' : `${name}: `}${message ?? json}`;
  if (name === 'InternalError' && message === 'interrupted') return 'the script computed for too long (code.cpu)';
  const places = placesIn(stack ?? '', code.split('\n').length);
  return places.length === 0 ? text : `${text}\n${places.map((place) => `    at ${place}`).join('\n')}`;
}

function membersOf(json: string): { readonly name?: string; readonly message?: string; readonly stack?: string } {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : { message: String(value) };
  } catch {
    return { message: json };
  }
}

function placesIn(stack: string, lines: number): readonly string[] {
  return [...stack.matchAll(/script\.ts:(\d+)(?::(\d+))?/g)]
    .map(([, line, column]) => ({ line: Number(line) - linesBefore, column }))
    .filter(({ line }) => line > 0 && line <= lines)
    .slice(0, maxFrames)
    .map(({ line, column }) => `line ${line}${column === undefined ? '' : `, column ${column}`}`);
}

/** @param error of `stripTypeScriptTypes`. Its stack begins with name and line, and has the code there with a mark below it. */
export function syntaxProblem(error: unknown): string {
  const { message, stack = '' } = error instanceof Error ? error : { message: String(error) };
  // The parser has run out of its stack, and says that in words about Node.
  if (/memory access out of bounds|unreachable|call stack/i.test(message))
    return 'SyntaxError: the code nests too deeply';
  const lines = stack.split('\n');
  const line = /^script\.ts:(\d+)$/.exec(lines[0] ?? '')?.[1];
  const mark = lines.findIndex((each) => /^ *\^+ *$/.test(each));
  const place =
    line === undefined
      ? ''
      : `\n    at line ${Number(line) - linesBefore}${mark < 0 ? '' : `, column ${(lines[mark] as string).indexOf('^') + 1}`}`;
  return `SyntaxError: ${message}${place}`;
}
