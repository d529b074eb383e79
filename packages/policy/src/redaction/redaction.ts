/**
 * Redacts servers' messages by rules (`redact` under `access`): matches of patterns anywhere, and values at given paths of
 * structured results. Content that cannot be searched is withheld, unless the rule lets it pass.
 */
import { isDeeperThan, isObject, isRawNumber, parseJson, type JsonObject } from '@omnibus/protocol';
import { compilePattern, type Replace } from './patterns.ts';

export interface RedactSettings {
  readonly patterns: readonly string[];
  /** JSON pointers in which `*` is any member or item. */
  readonly paths: readonly string[];
  readonly unreadable: 'withhold' | 'pass';
}

export interface RedactTerms {
  /** The id of the rule. */
  readonly rule: string;
  readonly replaces: readonly Replace[];
  readonly paths: readonly (readonly string[])[];
  readonly unreadable: 'withhold' | 'pass';
  /** What happens to images, audio and other binary contents, where that differs from `unreadable`. */
  readonly binaries?: 'pass';
}

const redactedMark = '[redacted]';
/** Stands in place of content that cannot be searched. */
const withheldMark = '[withheld: this cannot be redacted]';
/** Bound on the characters of one message that are searched: more would make all other calls wait for tenths of a second. */
const maxLength = 1_024 * 1_024;
/** Bound on the nesting of a text that is searched as JSON. */
const maxDepth = 200;
/** Members of a result that belong to the protocol, which are not redacted. */
const ofProtocol = new Set(['taskId', 'requestState', 'nextCursor', 'resultType']);
const ofBlocks = new Set(['type', 'role']);

/** @throws {Error} with a message for the operator when a pattern or path is invalid. */
export function compileRedaction(rule: string, { patterns, paths, unreadable }: RedactSettings): RedactTerms {
  if (patterns.length === 0 && paths.length === 0)
    throw new Error('expected `patterns` or `paths`: what is to be redacted');
  return { rule, replaces: patterns.map(compilePattern), paths: paths.map(stepsOf), unreadable };
}

function stepsOf(pointer: string): readonly string[] {
  if (!/^(\/([^~/]|~[01])*)+$/.test(pointer))
    throw new Error(`expected a JSON pointer such as "/customers/*/phone", got ${JSON.stringify(pointer)}`);
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

class TooLong extends Error {}

/** What some rules together redact. Each message has the bound on searched characters to itself. */
export class Redaction {
  readonly #terms: readonly RedactTerms[];
  readonly #withholds: boolean;
  readonly #withholdsBinaries: boolean;
  readonly #replaces: readonly Replace[];
  readonly #paths: RedactTerms['paths'];
  #left = maxLength;

  constructor(terms: readonly RedactTerms[]) {
    this.#terms = terms;
    this.#withholds = terms.some(({ unreadable }) => unreadable === 'withhold');
    this.#withholdsBinaries = terms.some(
      ({ unreadable, binaries }) => unreadable === 'withhold' && binaries !== 'pass',
    );
    this.#replaces = terms.flatMap(({ replaces }) => replaces);
    this.#paths = terms.flatMap(({ paths }) => paths);
  }

  /** The id of the first of the rules. */
  get rule(): string | undefined {
    return this.#terms[0]?.rule;
  }

  /** Redacts a result of any method. Parts that do not change stay the same objects. */
  result(result: JsonObject): JsonObject {
    const before = this.#left;
    try {
      return mapMembers(result, (value, key) => this.#member(value, key));
    } catch (error) {
      return this.#isWithheld(error) ? withheld(result) : result;
    } finally {
      this.#left = before;
    }
  }

  /** Redacts any other message: an error, progress, a log message, a question. Paths apply to results only. */
  said<Said>(value: Said): Said {
    const before = this.#left;
    try {
      return this.#value(value) as Said;
    } catch (error) {
      if (!this.#isWithheld(error)) return value;
      return (typeof value === 'string' ? withheldMark : {}) as Said;
    } finally {
      this.#left = before;
    }
  }

  /** @returns whether a message with which the search has ended is withheld. @throws an error that does not say that it is too long. */
  #isWithheld(error: unknown): boolean {
    if (!(error instanceof TooLong)) throw error;
    return this.#withholds;
  }

  #member(value: unknown, key: string): unknown {
    if (ofProtocol.has(key)) return value;
    switch (key) {
      case 'structuredContent':
        return this.#value(this.#atPaths(value));
      case 'content':
        return this.#blocks(value);
      case 'contents':
        return Array.isArray(value) ? mapItems(value, (entry) => this.#contents(entry)) : this.#value(value);
      case 'messages':
        return Array.isArray(value) ? mapItems(value, (message) => this.#message(message)) : this.#value(value);
      case 'task':
        return isObject(value)
          ? mapMembers(value, (member, name) => (ofProtocol.has(name) ? member : this.#value(member)))
          : value;
      // The result of a task, as the extension of tasks carries it.
      case 'result':
        return isObject(value) ? this.result(value) : this.#value(value);
      default:
        return this.#value(value);
    }
  }

  /** A message of a prompt (2025-11-25 server/prompts, PromptMessage). */
  #message(message: unknown): unknown {
    if (!isObject(message)) return this.#value(message);
    return mapMembers(message, (member, name) =>
      name === 'content' ? this.#blocks(member) : ofBlocks.has(name) ? member : this.#value(member),
    );
  }

  #blocks(content: unknown): unknown {
    return Array.isArray(content) ? mapItems(content, (block) => this.#block(block)) : this.#block(content);
  }

  /** A block of content (2025-11-25 server/tools, Tool Result). */
  #block(block: unknown): unknown {
    if (!isObject(block)) return this.#value(block);
    if (typeof block['data'] === 'string' && block['type'] !== 'text')
      return this.#withholdsBinaries ? { type: 'text', text: withheldMark } : block;
    return mapMembers(block, (value, key) => {
      if (ofBlocks.has(key)) return value;
      if (key === 'text') return this.#document(value);
      if (key === 'resource') return this.#contents(value);
      return key === 'content'
        ? this.#blocks(value)
        : this.#value(key === 'structuredContent' ? this.#atPaths(value) : value);
    });
  }

  /** The contents of a resource (2025-11-25 server/resources, Resource Contents). */
  #contents(entry: unknown): unknown {
    if (!isObject(entry)) return this.#value(entry);
    const { blob, ...rest } = entry;
    if (blob !== undefined && this.#withholdsBinaries)
      return { ...(this.#value(rest) as JsonObject), mimeType: 'text/plain', text: withheldMark };
    return mapMembers(entry, (value, key) =>
      ofBlocks.has(key) || key === 'blob' ? value : key === 'text' ? this.#document(value) : this.#value(value),
    );
  }

  /** Redacts a text that may repeat a structured result as JSON, so that paths apply to it. */
  #document(text: unknown): unknown {
    if (typeof text !== 'string') return this.#value(text);
    if (this.#paths.length === 0) return this.#said(text);
    const parsed = parsedOf(text);
    if (typeof parsed === 'object') return this.#restated(text, this.#text(text), parsed, this.#atPaths(parsed));
    // It is not JSON, so it has no values at paths.
    return this.#withholds ? withheldMark : this.#said(text);
  }

  /**
   * Redacts a text. Of one that is JSON, decoded values are also searched: an escape (`\n` in front of an address, `\u0040`) hides a value that a
   * pattern finds, and a mark in place of half an escape or of a number would leave no JSON.
   */
  #said(text: string): string {
    const found = this.#text(text);
    if (found === text && !text.includes('\\')) return text;
    const parsed = parsedOf(text);
    return parsed === undefined ? found : this.#restated(text, found, parsed, parsed);
  }

  /** @param found the text without matches in its written form. @param kept its JSON value, without values at paths. */
  #restated(text: string, found: string, parsed: Parsed, kept: unknown): string {
    const left = this.#left;
    const changed = this.#value(kept);
    this.#left = left; // The characters of the text are counted already.
    return changed === parsed ? found : JSON.stringify(changed, undefined, indentOf(text));
  }

  #atPaths(value: unknown): unknown {
    return this.#paths.reduce((made, steps) => at(made, steps, 0), value);
  }

  #value(value: unknown): unknown {
    if (typeof value === 'string') return this.#said(value);
    if (typeof value === 'number' || isRawNumber(value)) {
      const written = typeof value === 'number' ? String(value) : value.rawJSON;
      const said = this.#text(written);
      return said === written ? value : said;
    }
    if (Array.isArray(value)) return mapItems(value, (item) => this.#value(item));
    return isObject(value) ? this.#object(value) : value;
  }

  /** Redacts members and their names; if two get the same name, a number is added to the second. */
  #object(value: JsonObject): JsonObject {
    let isChanged = false;
    const made = new Map<string, unknown>();
    for (const [name, member] of Object.entries(value)) {
      const mapped = this.#value(member);
      let called = this.#text(name);
      for (let count = 2; called !== name && (made.has(called) || Object.hasOwn(value, called)); count += 1)
        called = `${redactedMark} ${count}`;
      isChanged ||= mapped !== member || called !== name;
      made.set(called, mapped);
    }
    return isChanged ? Object.fromEntries(made) : value;
  }

  #text(text: string): string {
    this.#left -= text.length;
    if (this.#left < 0) throw new TooLong();
    let said = text;
    for (const replace of this.#replaces) said = replace(said, redactedMark);
    return said;
  }
}

/** An object, a list or a text. */
type Parsed = JsonObject | readonly unknown[] | string;

/** The JSON value of a text. Undefined if it is no such JSON, or is nested too deeply. */
function parsedOf(text: string): Parsed | undefined {
  if (!/^\s*["[{]/.test(text)) return undefined;
  try {
    const parsed = parseJson(text) as Parsed;
    return isDeeperThan(parsed, maxDepth) ? undefined : parsed;
  } catch {
    return undefined; // A text that begins like JSON and is none.
  }
}

/** The indentation of a JSON text; undefined where it has none. */
function indentOf(text: string): string | undefined {
  return /^\s*[[{]\r?\n([ \t]{1,10})/.exec(text)?.[1];
}

/** A result of the same type without its content. */
function withheld(result: JsonObject): JsonObject {
  const text = { type: 'text', text: withheldMark };
  if ('contents' in result) return { contents: [] };
  return 'messages' in result ? { messages: [{ role: 'user', content: text }] } : { content: [text], isError: true };
}

/** The value with the mark at the place of the steps; unchanged if they lead nowhere. */
function at(value: unknown, steps: readonly string[], index: number): unknown {
  const step = steps[index];
  if (step === undefined) return redactedMark;
  if (Array.isArray(value))
    return mapItems(value, (item, place) =>
      step === '*' || step === String(place) ? at(item, steps, index + 1) : item,
    );
  return isObject(value) && !isRawNumber(value)
    ? mapMembers(value, (member, name) => (step === '*' || step === name ? at(member, steps, index + 1) : member))
    : value;
}

function mapItems(items: readonly unknown[], map: (item: unknown, index: number) => unknown): readonly unknown[] {
  const mapped = items.map((item, index) => map(item, index));
  return mapped.every((item, index) => item === items[index]) ? items : mapped;
}

function mapMembers(value: JsonObject, map: (member: unknown, name: string) => unknown): JsonObject {
  const made = Object.entries(value).map(([name, member]) => [name, map(member, name)] as const);
  return made.some(([name, mapped]) => mapped !== value[name]) ? Object.fromEntries(made) : value;
}
