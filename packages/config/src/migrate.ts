/**
 * Former names of options, and the names that other programs use for them. A file with such a name is refused, naming the line to change, and
 * `omnibus migrate` changes it. It changes the names and values only, so that comments, order and layout stay.
 */
import { isMap, isScalar, LineCounter, parseDocument, type Document, type Pair, type Scalar, type YAMLMap } from 'yaml';
import { blankComments, looksLikeJson } from './document.ts';

interface Row {
  /** Where the option stood; `*` for any name. */
  readonly path: readonly string[];
  /** The present name of the option; left out if only its value changed. */
  readonly to?: string;
  /** Values that are written differently now; others stay as they are. */
  readonly values?: Readonly<Record<string, string>>;
  /** The program that uses this name. */
  readonly of: string;
}

/** A renamed option gets a row here, and the old name is never used again. */
const rows: readonly Row[] = [
  { path: ['servers'], to: 'mcpServers', of: 'VS Code' },
  { path: ['context_servers'], to: 'mcpServers', of: 'Zed' },
  { path: ['mcpServers', '*', 'serverUrl'], to: 'url', of: 'Windsurf' },
  { path: ['mcpServers', '*', 'httpUrl'], to: 'url', of: 'Gemini' },
  { path: ['mcpServers', '*', 'transport'], to: 'type', of: 'other gateways' },
  { path: ['mcpServers', '*', 'environment'], to: 'env', of: 'other gateways' },
  {
    path: ['mcpServers', '*', 'enabled'],
    to: 'disabled',
    values: { true: 'false', false: 'true' },
    of: 'other gateways',
  },
  { path: ['mcpServers', '*', 'type'], values: { local: 'stdio', remote: 'http' }, of: 'other gateways' },
];

/** One place of a file that is written as it was before. */
interface Outdated {
  readonly line: number;
  readonly column: number;
  readonly path: readonly string[];
  /** What to write there instead, for people. */
  readonly instead: string;
}

export interface Migrated {
  /** The same text with those places as they are to be; lines are where they were. */
  readonly text: string;
  readonly outdated: readonly Outdated[];
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Finds outdated options in a configuration and replaces them. A text that is neither YAML nor JSON is returned as it is. */
export function migrateConfig(text: string): Migrated {
  const outdated: Outdated[] = [];
  let current = text;
  // One row after the other: later rows find an option under its new name.
  let read = readDocument(text);
  if (read.document.errors.length > 0) return { text, outdated: [] };
  for (const row of rows) {
    const { document, lines } = read;
    const edits: Edit[] = [];
    for (const { path, pair, siblings } of find(document.contents, row.path, [])) {
      if (row.to !== undefined && siblings.has(row.to)) continue; // Which of the two is meant is for a person to say.
      const { key, value } = pair;
      const said = isScalar(value) ? row.values?.[String(value.value)] : undefined;
      // An unknown value of an option with changed meanings has no translation, so the option stays unchanged.
      if (said === undefined && (row.to === undefined || row.values !== undefined)) continue;
      if (row.to !== undefined) edits.push(editOf(key, row.to, current));
      if (said !== undefined) edits.push(editOf(value as Scalar, said, current));
      const option = row.to ?? String(key.value);
      const { line, col: column } = lines.linePos(key.range?.[0] ?? 0);
      outdated.push({
        line,
        column,
        path,
        instead: `${option}${said === undefined ? '' : `: ${said}`} (as written for ${row.of}: ${String(key.value)}${said === undefined ? '' : `: ${String((value as Scalar).value)}`})`,
      });
    }
    for (const { start, end, text: replacement } of edits.toSorted((a, b) => b.start - a.start))
      current = current.slice(0, start) + replacement + current.slice(end);
    if (edits.length > 0) read = readDocument(current);
  }
  return { text: current, outdated: outdated.toSorted((a, b) => a.line - b.line) };
}

function readDocument(text: string): { readonly document: Document.Parsed; readonly lines: LineCounter } {
  const lines = new LineCounter();
  return {
    lines,
    document: parseDocument(looksLikeJson(text) ? blankComments(text) : text, {
      lineCounter: lines,
      prettyErrors: false,
    }),
  };
}

interface Found {
  readonly path: readonly string[];
  readonly pair: Pair<Scalar>;
  readonly siblings: YAMLMap;
}

function find(node: unknown, [step, ...rest]: readonly string[], path: readonly string[]): Found[] {
  if (!isMap(node) || step === undefined) return [];
  return node.items.flatMap((pair): Found[] => {
    const { key, value } = pair;
    if (!isScalar(key) || (step !== '*' && key.value !== step)) return [];
    const here = [...path, String(key.value)];
    return rest.length === 0 ? [{ path: here, pair: pair as Pair<Scalar>, siblings: node }] : find(value, rest, here);
  });
}

/** Replaces a scalar and keeps its quotes, if it has any. */
function editOf(node: Scalar, replacement: string, text: string): Edit {
  const [start, end] = node.range as [number, number, number];
  const quote = /^["']/.exec(text.slice(start, end))?.[0] ?? '';
  return { start, end, text: `${quote}${replacement}${quote}` };
}
