/** One mistake in a configuration: its place, the expected value, and the fix. */
export interface ConfigProblem {
  readonly file: string;
  readonly line: number;
  /** From 1, in characters. */
  readonly column: number;
  /** Such as `mcpServers.github.url`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

/** A mistake of a whole file. */
export function fileProblem(file: string, message: string): ConfigProblem {
  return { file, line: 1, column: 1, path: '', message };
}

/** Steps from the top of a configuration to one of its options. */
export type Path = readonly (string | number)[];

/** `file:line:column: path: message`, the form editors and terminals turn into a link. */
export function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;
}

export function formatPath(path: Path): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`))
    .join('');
}

export function byPlace(one: ConfigProblem, other: ConfigProblem): number {
  return one.line - other.line || one.column - other.column;
}
