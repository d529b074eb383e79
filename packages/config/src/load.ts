/** From text to a complete configuration, or to the list of everything that is wrong with it. */
import { distance } from 'fastest-levenshtein';
import { isNode, LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';
import { migrateConfig } from './migrate.ts';
import { resolveReferences, type ReferenceSource } from './references.ts';
import { configSchema, ignoredServerKeys, type Config } from './schema.ts';

export interface ConfigSource extends ReferenceSource {
  /** Shown in problems. */
  readonly file: string;
  /** YAML or JSON. */
  readonly text: string;
  /** Leaves out what servers are sent as `headers` or given as `env`: secrets are for the process that connects to them, and are not looked up elsewhere. */
  readonly withoutServerSecrets?: boolean;
}

/** One mistake: where it is and what was expected. */
export interface ConfigProblem {
  readonly file: string;
  readonly line: number;
  /** Such as `mcpServers.github.url`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
}

type Path = readonly (string | number)[];

/** A mistake that is found out later, where it stands in the file. */
export type ProblemAt = (path: readonly (string | number)[], message: string) => ConfigProblem;

export type LoadResult = { readonly config: Config; readonly problemAt: ProblemAt } | { readonly problems: readonly ConfigProblem[] };

export function loadConfig(source: ConfigSource): LoadResult {
  const lines = new LineCounter();
  const { text, outdated } = migrateConfig(source.text);
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problems: ConfigProblem[] = document.errors.map((error) => ({
    file: source.file, line: lines.linePos(error.pos[0]).line, path: '', message: `not YAML or JSON: ${error.message}`,
  }));
  if (problems.length > 0) return { problems };

  for (const { line, path, instead } of outdated) problems.push({ file: source.file, line, path: formatPath(path), message: `write ${instead}; \`omnibus migrate ${source.file} --write\` does it` });
  const problemAt: ProblemAt = (path, message) => ({ file: source.file, line: lineOf(document, lines, path), path: formatPath(path), message });
  const report = (path: Path, message: string): void => void problems.push(problemAt(path, message));
  const value = substitute(withoutServerKeys(document.toJS() ?? {}, source.withoutServerSecrets === true ? [...ignoredServerKeys, ...secretServerKeys] : ignoredServerKeys), [], source, report);
  const parsed = configSchema.safeParse(value);
  if (!parsed.success) for (const issue of parsed.error.issues) reportIssue(issue, value, report);
  if (problems.length > 0 || !parsed.success) return { problems: problems.toSorted((a, b) => a.line - b.line) };
  return { config: parsed.data, problemAt };
}

/** `file:line: path: message`, the form editors and terminals turn into a link. */
export function formatProblem({ file, line, path, message }: ConfigProblem): string {
  return `${file}:${line}: ${path === '' ? '' : `${path}: `}${message}`;
}

function substitute(value: unknown, path: Path, source: ReferenceSource, report: (path: Path, message: string) => void): unknown {
  if (typeof value === 'string') {
    const resolved = resolveReferences(value, source);
    if ('text' in resolved) return resolved.text;
    report(path, resolved.problem);
    return value;
  }
  if (Array.isArray(value)) return value.map((item, index) => substitute(item, [...path, index], source, report));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substitute(item, [...path, key], source, report)]));
  }
  return value;
}

const secretServerKeys = ['headers', 'env'];

function withoutServerKeys(value: unknown, keys: readonly string[]): unknown {
  const servers = (value as { mcpServers?: unknown } | null)?.mcpServers;
  if (typeof servers !== 'object' || servers === null) return value;
  for (const server of Object.values(servers)) {
    if (typeof server !== 'object' || server === null) continue;
    for (const key of keys) delete (server as Record<string, unknown>)[key];
  }
  return value;
}

function reportIssue(issue: z.core.$ZodIssue, value: unknown, report: (path: Path, message: string) => void): void {
  const path = issue.path as Path;
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) report([...path, key], `unknown option${nearest(key, path)}`);
    return;
  }
  if (issue.code === 'invalid_union' && typeof valueAt(value, path) === 'object') {
    // Of a word, a list or a map, what is wrong with the one that was written; of none of them, with the map.
    const meant = issue.errors.find((errors) => errors.length > 0 && errors.every(({ code, path: at }) => at.length > 0 || code === 'unrecognized_keys'));
    for (const inner of meant ?? issue.errors.at(-1) ?? []) reportIssue({ ...inner, path: [...issue.path, ...inner.path] }, value, report);
    return;
  }
  if (issue.code === 'invalid_key') {
    report(path, issue.issues[0]?.message ?? issue.message);
    return;
  }
  const got = valueAt(value, path);
  report(path, got === undefined || typeof got === 'object' || isSecret(path) ? issue.message : `${issue.message}, got ${withoutLogin(JSON.stringify(got))}`);
}

/** Whether the option is one whose value is not shown to anybody. */
function isSecret(path: Path): boolean {
  return path.some((step) => typeof step === 'string' && /^(password|token|headers|env|clientSecret|secret|registrationToken)$/.test(step));
}

/** A user and a password may stand in an address. */
function withoutLogin(text: string): string {
  return text.replaceAll(/\/\/[^/@\s]*@/g, '//...@');
}

/** The option a mistyped key probably means. */
function nearest(key: string, path: Path): string {
  let candidate: { readonly name: string; readonly distance: number } | undefined;
  for (const name of optionNames(path)) {
    const found = { name, distance: distance(key.toLowerCase(), name.toLowerCase()) };
    if (candidate === undefined || found.distance < candidate.distance) candidate = found;
  }
  return candidate !== undefined && candidate.distance <= Math.max(2, key.length / 3) ? `; did you mean "${candidate.name}"?` : '';
}

function optionNames(path: Path): string[] {
  let schema: unknown = configSchema;
  for (const step of [...path, undefined]) {
    let definition = definitionOf(schema);
    while (definition?.innerType !== undefined || definition?.in !== undefined || definition?.options !== undefined) {
      schema = definition.innerType ?? definition.in ?? definition.options?.at(-1);
      definition = definitionOf(schema);
    }
    if (step === undefined) return Object.keys(definition?.shape ?? {});
    schema = definition?.shape?.[step] ?? definition?.valueType ?? definition?.element;
  }
  return [];
}

interface Definition {
  readonly innerType?: unknown;
  readonly in?: unknown;
  readonly options?: readonly unknown[];
  readonly shape?: Record<string | number, unknown>;
  readonly valueType?: unknown;
  readonly element?: unknown;
}

function definitionOf(schema: unknown): Definition | undefined {
  return (schema as { readonly def?: Definition } | undefined)?.def;
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const step of path) current = (current as Record<string | number, unknown> | undefined)?.[step];
  return current;
}

/** The line of the deepest part of the path that the file has. */
function lineOf(document: Document.Parsed, lines: LineCounter, path: Path): number {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const parent = document.getIn(path.slice(0, depth - 1), true);
    const key = path[depth - 1];
    const pairs = (parent as { items?: { key?: unknown }[] } | undefined)?.items;
    const pair = pairs?.find((item) => (item.key as { value?: unknown } | undefined)?.value === key);
    const node = pair?.key ?? document.getIn(path.slice(0, depth), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function formatPath(path: Path): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${step}`)).join('');
}
