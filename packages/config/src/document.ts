/** Parses the text of a configuration and knows the line of each option: YAML, JSON with comments and trailing commas, or TOML. */
import { parse as parseToml, TomlError } from 'smol-toml';
import {
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type YAMLError,
  type YAMLWarning,
} from 'yaml';
import type { Path } from './problem.ts';

interface Place {
  readonly line: number;
  readonly column: number;
}

/** A text that could be parsed. */
export interface ReadDocument {
  readonly format: 'yaml' | 'json' | 'toml';
  readonly value: unknown;
  /** The place of an option; of its nearest parent in the text where the text does not have it. */
  placeOf(path: Path): Place;
}

export interface Unreadable {
  readonly faults: readonly (Place & { readonly message: string })[];
}

/** Parses a configuration. A file that ends in `.toml` is TOML, a text that begins with a brace is JSON, anything else YAML. */
export function readDocument(text: string, file: string): ReadDocument | Unreadable {
  if (text.includes('\0'))
    return {
      faults: [
        {
          line: 1,
          column: 1,
          message:
            'this is no text in UTF-8: save it as UTF-8 (PowerShell writes UTF-16 with ">"; use Set-Content -Encoding utf8)',
        },
      ],
    };
  if (file.endsWith('.toml')) return readToml(text);
  const isJson = looksLikeJson(text);
  const lines = new LineCounter();
  const source = withoutMark(isJson ? blankComments(text) : text);
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false, merge: true });
  // A text with "!" before it is a tag, which would leave an empty text behind.
  const tags = document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED');
  const errors = document.errors.length > 0 ? document.errors : tags;
  const odd = isJson ? undefined : oddBlank(text);
  if (odd !== undefined && (errors.length > 0 || hasOddName(document))) return { faults: [odd] };
  const foreign = isJson || (errors.length === 0 && isMap(document.contents)) ? undefined : foreignText(text);
  if (foreign !== undefined) return { faults: [foreign] };
  if (errors.length > 0) return { faults: faultsOf(errors, source, lines, isJson) };
  const unfolded = unfold(document);
  if ('problem' in unfolded) {
    const at = unfolded.of === undefined ? -1 : source.indexOf(unfolded.of);
    const { line, col } = at === -1 ? { line: 1, col: 1 } : lines.linePos(at);
    return { faults: [{ line, column: col, message: unfolded.problem }] };
  }
  return {
    format: isJson ? 'json' : 'yaml',
    value: unfolded.value,
    placeOf: (path) => placeIn(document, lines, path),
  };
}

/** A line that is indented with a character of which YAML makes a part of the name. */
function oddBlank(text: string): (Place & { readonly message: string }) | undefined {
  const found =
    /^([ \t]*)([\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000])[^\S\r\n\u200B]*["']?[\w.-]{1,100}["']?:(?=\s|$)/m.exec(
      text,
    );
  if (found === null) return undefined;
  const [, blanks = '', odd = ''] = found;
  return {
    line: text.slice(0, found.index).split('\n').length,
    column: blanks.length + 1,
    message: `this line is indented with a character that looks like a blank and is none (${codePoint(odd)}): write blanks`,
  };
}

/** Whether a name begins with such a character. In a text of several lines the character is a part of the text. */
function hasOddName(document: Document.Parsed): boolean {
  let found = false;
  visit(document, {
    Pair(_key, { key }) {
      found ||= isScalar(key) && /^[\s\u200B]/.test(String(key.value));
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}

/** What a text is instead of YAML, or the line that keeps it from being YAML though it looks right. */
function foreignText(text: string): (Place & { readonly message: string }) | undefined {
  if (/^\uFEFF?\s*<(!doctype|html|head)\b/i.test(text))
    return {
      line: 1,
      column: 1,
      message: 'this is a web page and no configuration: download the file itself, for example with "Raw" at GitHub',
    };
  const lines = text.split('\n');
  const slashes = looksLikeJson(text) ? -1 : lines.findIndex((line) => /^\s*\/\/(?!\S*:\s)/.test(line));
  if (slashes !== -1 && !/[|>][-+\d]*\s*$/m.test(text))
    return {
      line: slashes + 1,
      column: (lines[slashes]?.search(/\S/) ?? 0) + 1,
      message: 'a comment of YAML begins with "#": write # in place of //',
    };
  for (const [index, line] of lines.entries()) {
    const [, name] = /^(\s*["']?[\w.-]+["']?)[：﹕∶]/.exec(line) ?? [];
    if (name !== undefined)
      return {
        line: index + 1,
        column: name.length + 1,
        message: `this looks like a colon and is none (${codePoint(line.charAt(name.length))}): write "${name.trim()}: "`,
      };
  }
  const first = lines.findIndex((line) => !/^\s*(#.*)?$/.test(line));
  return /^\s*\[\[?[\w."-]+\]\]?\s*(#.*)?$/.test(lines[first] ?? '') && /^\s*[\w."-]+\s*=/.test(lines[first + 1] ?? '')
    ? { line: first + 1, column: 1, message: 'this is TOML: give the file a name that ends in .toml' }
    : undefined;
}

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Puts the parts where aliases (`*name`) refer to them, which can have no end. */
function unfold(
  document: Document.Parsed,
): { readonly value: unknown } | { readonly problem: string; readonly of?: string } {
  try {
    const value = document.toJS() as unknown;
    // It throws where a value contains itself.
    JSON.stringify(value);
    return { value };
  } catch (error) {
    const [, unknown] = /^Unresolved alias.*: (.*)$/.exec((error as Error).message) ?? [];
    if (unknown !== undefined)
      return {
        problem: '"*…" without quotes refers to a part of this file that has no such name: put it in quotes',
        of: `*${unknown}`,
      };
    if ((error as Error).message.startsWith('Merge sources'))
      return {
        problem:
          '"<<" puts the options of another map here, and what follows it is no map: write "<<: *NAME" with "&NAME" at a map',
        of: '<<',
      };
    if (error instanceof ReferenceError)
      return {
        problem: 'aliases ("*name") refer to aliases so often that the file would be too large: write the parts out',
      };
    return {
      problem:
        'an alias ("*name") stands inside the part that it refers to ("&name"), which has no end: write the part out',
    };
  }
}

export function looksLikeJson(text: string): boolean {
  return /^\uFEFF?\s*(\/\/[^\n]*\s*|\/\*[\s\S]*?\*\/\s*)*\{/.test(text);
}

/** The same text with blanks where comments and tabs were, so that everything else stays where it is. */
export function blankComments(text: string): string {
  return text.replaceAll(/"(?:\\[^\n]|[^"\\\n])*"|'(?:\\[^\n]|[^'\\\n])*'|\/\/[^\n]*|\/\*[\s\S]*?\*\/|\t/g, (found) =>
    /^["']/.test(found) ? found : found.replaceAll(/[^\r\n]/g, ' '),
  );
}

/** Replaces the byte order mark that some editors on Windows put in front of a text. */
function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, ' ');
}

/** The mistakes in a text, of which structural ones only the first: everything after it would be reported too. */
function faultsOf(
  errors: readonly (YAMLError | YAMLWarning)[],
  text: string,
  lines: LineCounter,
  isJson: boolean,
): (Place & { readonly message: string })[] {
  const faults: (Place & { readonly message: string })[] = [];
  let hasStructural = false;
  for (const error of errors) {
    const words = wordsOf(error, text, isJson);
    if (words === undefined) {
      if (hasStructural) continue;
      hasStructural = true;
    }
    const { line, col } = lines.linePos(error.pos[0]);
    if (faults.some((fault) => fault.line === line && fault.message === words)) continue;
    faults.push({
      line: Math.max(1, line),
      column: Math.max(1, col),
      message:
        words ??
        `not ${isJson ? 'JSON' : 'YAML or JSON'}: ${structureWords(error)}${isJson ? '' : cutWords(error, text)}`,
    });
  }
  return faults;
}

/** A value in braces that begins with "#" is a comment, together with the end of the braces. It can be a password, and is never shown. */
function cutWords({ message, pos: [at] }: YAMLError | YAMLWarning, text: string): string {
  if (!/end with an? [}\]]/.test(message)) return '';
  // The parser names the place behind the braces, where it gave up.
  const line =
    text
      .slice(0, at)
      .split('\n')
      .findLast((each) => !/^\s*(#|$)/.test(each)) ?? '';
  const bare = line.replaceAll(/"(?:\\.|[^"\\])*"|'[^']*'/g, 'x');
  const comment = bare.search(/[ \t]#/);
  const isValue =
    comment !== -1 && /[{[,:][ \t]*$/.test(bare.slice(0, comment)) && /^[ \t]#\S.*[}\]]/.test(bare.slice(comment));
  return isValue ? '; "#…" and the rest of its line are a comment: put the value in quotes' : '';
}

/**
 * The words for a mistake. They show only the first character of a value, since the others can be a password.
 * @returns undefined for a structural mistake, which makes everything behind it unreadable.
 */
function wordsOf({ code, pos: [at] }: YAMLError | YAMLWarning, text: string, isJson: boolean): string | undefined {
  const word = /^[^\s,\]}]*/.exec(text.slice(at))?.[0].replace(/(?<=^.).+/, '…') ?? '';
  switch (code) {
    case 'BAD_SCALAR_START':
      if (text.slice(at).startsWith('```'))
        return 'the fence of Markdown is no part of the file: remove the lines that begin with ```';
      return `a text that begins with "${word.slice(0, 1)}" needs quotes`;
    case 'BAD_ALIAS':
      return `"${word}" without quotes refers to a part of this file: put it in quotes`;
    case 'TAG_RESOLVE_FAILED':
      return `${JSON.stringify(word)} without quotes is a tag of YAML and no text: put it in quotes`;
    case 'MULTIPLE_DOCS':
      return '"---" begins a second document, and a configuration is one: remove the line, or write each into a file of its own';
    case 'BLOCK_AS_IMPLICIT_KEY':
      return deeperWords(text, at) ?? 'the text has ": " in it, which begins another option: put the text in quotes';
    case 'BAD_DQ_ESCAPE':
      return `in double quotes a backslash begins an escape, and this is not a valid one: write \\\\ for each backslash of a path, or / instead${isJson ? '' : ', or put it in single quotes'}`;
    case 'DUPLICATE_KEY': {
      const key = /^\s*("[^"\n]*"|'[^'\n]*'|[^\s:,}]+)/.exec(text.slice(at))?.[1] ?? 'this';
      return `${key.replaceAll(/^["']|["']$/g, '').replaceAll(/^|$/g, '"')} stands twice in the same map: rename or remove one of them`;
    }
    case 'MULTILINE_IMPLICIT_KEY':
      return text.slice(at).startsWith('```')
        ? 'the fence of Markdown is no part of the file: remove the lines that begin with ```'
        : deeperWords(text, at);
    case 'TAB_AS_INDENT':
      return 'this line is indented with a tab, and YAML takes blanks only: write two blanks for each tab';
    default:
      return undefined;
  }
}

/** @returns words for an option that has more blanks in front than the one above it, and is read as a part of its text. @param at where that text begins. */
function deeperWords(text: string, at: number): string | undefined {
  const above = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  const [, own, name] = /^((?: |- )*)([\w.-]+):[ \t]+$/.exec(above) ?? [];
  const [, blanks, deeper] = /^[^\n]*\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*( +)([\w.-]+):(?:\s|$)/.exec(text.slice(at)) ?? [];
  if (own === undefined || blanks === undefined || blanks.length <= own.length) return undefined;
  return `the next line, "${deeper ?? ''}:", is indented further than "${name ?? ''}:", so it is read as a part of its text: give it ${own.length} blanks in front`;
}

/** Mistakes in the structure of a text, by the words of the parser; the first that fits is meant. */
const structures: readonly (readonly [pattern: RegExp, words: string])[] = [
  [
    /^Implicit map keys need to be followed by map values/,
    'this line is no option, as it has no ": ": write NAME: VALUE; each entry of a list begins with "- "',
  ],
  [
    /^Implicit keys need to be on a single line/,
    'this line and the next ones are read as one name: write the ":" at the end of the line that has options below it, and ": " between an option and its value',
  ],
  [
    /^Missing , or : between flow map/,
    'a ":" between a name and its value, or a "," between two members, is missing in front of this',
  ],
  [/^(Missing , |Unexpected (double|single)-quoted-scalar at node end)/, 'a "," is missing in front of this'],
  [
    /^Unexpected flow-(map|seq)-start (at node end|token)/,
    'something begins here that does not belong to what is in front of it: a file has one map in braces, and a "," between its members',
  ],
  [/^Unexpected ,/, 'a "," stands here with nothing in front of it: remove it, or write what is missing'],
  [/^Unexpected flow-map-end/, 'this "}" closes nothing: remove it, or write the "{" that it belongs to'],
  [/^Unexpected flow-seq-end/, 'this "]" closes nothing: remove it, or write the "[" that it belongs to'],
  [
    /^All (mapping|sequence) items must start at the same column|^Sequence item without -/,
    'the line is not indented as far as the others of its map or list: give it as many blanks in front as they have',
  ],
  [
    /^Unexpected scalar at node end|^Unexpected (double|single)-quoted-scalar token/,
    'this stands behind the end of a text, list or map: remove it, or put the whole text in one pair of quotes; inside single quotes a quote is written twice',
  ],
  [
    /^(Block scalar header|Not a YAML token)/,
    'behind "|" or ">" the text begins on the next line, with more blanks in front: write it there, or put a text that begins with this character in quotes',
  ],
  [
    /^Missing directives-end/,
    'a line that begins with "%" is an instruction to the reader of the file: remove the line, or put a name that begins with "%" in quotes',
  ],
  [/^Comments must be separated/, 'a comment needs a blank in front of its "#"'],
  [
    /^Block collections are not allowed/,
    'inside braces and brackets lists and maps are written with them too: [x, y] in place of lines with "- ", {NAME: VALUE} in place of NAME: VALUE',
  ],
  [
    /^Block collection cannot start/,
    'the line has "---" in front of its option: write "---" on a line of its own, or remove it',
  ],
  [
    /^The : indicator must be/,
    'the name of an option has more than 1024 characters: is a ":" missing, or a text not closed?',
  ],
  [
    /anchor|tag|alias/i,
    'a text with "&", "*" or "!" in front of it is a reference or a type in YAML: put it in quotes',
  ],
];

/** @returns words for a mistake in the structure, such as open brackets and quotes at the end of the text or its part. */
function structureWords({ code, message }: YAMLError | YAMLWarning): string {
  const known = structures.find(([pattern]) => pattern.test(message))?.[1];
  if (known !== undefined) return known;
  const [, sign] = /end with an? ([}\]])/.exec(message) ?? [];
  if (sign !== undefined) return `a "${sign === '}' ? '{' : '['}" before this place is not closed: write its "${sign}"`;
  const [, quote] = /^Missing closing (["'])/.exec(message) ?? [];
  if (quote !== undefined) return `a text that begins with ${quote} before this place has no ${quote} at its end`;
  return code === 'RESOURCE_EXHAUSTION'
    ? 'maps and lists are inside each other too deeply'
    : 'this does not belong here; is the line indented as far as the others of its map, with a blank after its colon?';
}

function placeIn(document: Document.Parsed, lines: LineCounter, path: Path): Place {
  for (let depth = path.length; depth > 0; depth -= 1) {
    const parent = document.getIn(path.slice(0, depth - 1), true);
    const key = path[depth - 1];
    const pair = isMap(parent) ? parent.items.find((item) => isScalar(item.key) && item.key.value === key) : undefined;
    const node = pair?.key ?? document.getIn(path.slice(0, depth), true);
    if (isNode(node) && node.range) {
      const { line, col } = lines.linePos(node.range[0]);
      return { line, column: col };
    }
  }
  return { line: 1, column: 1 };
}

/** Mistakes in TOML, by the words of its parser; the first that fits is meant. */
const tomlMistakes: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/redefine/, 'this name is there already: rename or remove one of the two'],
  [
    /unfinished (table|array)|comma or end of structure/,
    'a "," is missing in front of this, or a "{" or "[" before it is not closed',
  ],
  [/control characters|unfinished string/, 'a text is not closed: write its quote at the end'],
  [
    /escape/,
    'in double quotes a backslash begins an escape, and this is not a valid one: write \\\\ for each backslash, or put the text in single quotes',
  ],
  [
    / key|key-value|end of table/,
    'expected [NAME] or NAME = VALUE on a line; a name with other characters than letters, digits, "_" and "-" needs quotes',
  ],
  [/nested/, 'lists and tables are inside each other too deeply'],
];

/** @returns what is wrong and how to mend it, in the words of this gateway. */
export function tomlWords(error: TomlError): string {
  return (
    tomlMistakes.find(([pattern]) => pattern.test(error.message.split('\n', 1)[0] ?? ''))?.[1] ??
    'expected a value: a text in quotes, a number, true, false, a list in [] or a table in {}'
  );
}

function readToml(text: string): ReadDocument | Unreadable {
  try {
    return { format: 'toml', value: parseToml(text), placeOf: (path) => placeInToml(text, path) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return {
      faults: [{ line: error.line, column: error.column, message: `not TOML: ${tomlWords(error)}` }],
    };
  }
}

/** The TOML parser reports no places, so this looks for the line of the table, and in it for the line of the option. */
function placeInToml(text: string, path: Path): Place {
  const lines = text.split('\n');
  const bare = (line: string): string => line.replaceAll(/["'\s]/g, '');
  for (let depth = path.length; depth > 0; depth -= 1) {
    const table = lines.findIndex((line) => bare(line).startsWith(`[${path.slice(0, depth).join('.')}]`));
    if (table === -1) continue;
    const next = lines.findIndex((line, index) => index > table && line.trimStart().startsWith('['));
    const option =
      depth < path.length
        ? lines.findIndex(
            (line, index) =>
              index > table && (next === -1 || index < next) && bare(line).startsWith(`${String(path[depth])}=`),
          )
        : -1;
    return { line: (option === -1 ? table : option) + 1, column: 1 };
  }
  return { line: 1, column: 1 };
}
