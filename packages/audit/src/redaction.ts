/**
 * Selects the parts of arguments and results that are recorded. Nothing is, unless a rule keeps it: rules name places by JSON pointers (RFC 6901), and a
 * redacted place is left out even if another pointer keeps it.
 */
import { createHmac } from 'node:crypto';
import { canonical, isObject, isRawNumber } from '@omnibus/protocol';
import { sha256 } from './sha256.ts';

export interface Places {
  /** Values that are recorded as they are; an empty pointer means everything. */
  readonly keep: readonly string[];
  /** Values that are recorded as a digest, so that equal values can be recognized. */
  readonly hash: readonly string[];
  /** Values that are never recorded. */
  readonly redact: readonly string[];
}

export interface RecordingRule {
  /** `server/tool`, with `*` for any run of characters. */
  readonly tool: string;
  readonly arguments: Places;
  readonly results: Places;
}

/** Bound on the characters recorded of one value. */
const maxLength = 8 * 1_024;
/** Members that are never recorded, wherever they are. */
const secretNames = /^(proxy-)?authorization$|^(set-)?cookie$/i;
const redacted = '[redacted]';

type Fate = 'keep' | 'hash' | 'redact';

/** The pointers of a rule as a tree, so that a value is walked once. */
class Branch {
  fate: Fate | undefined;
  readonly members = new Map<string, Branch>();

  static of({ keep, hash, redact }: Places): Branch {
    const root = new Branch();
    // If two pointers name one place, the one that reveals less wins.
    for (const [fate, pointers] of [
      ['keep', keep],
      ['hash', hash],
      ['redact', redact],
    ] as const)
      for (const pointer of pointers) stepsOf(pointer).reduce((branch, step) => branch.#below(step), root).fate = fate;
    return root;
  }

  #below(step: string): Branch {
    const known = this.members.get(step) ?? new Branch();
    this.members.set(step, known);
    return known;
  }
}

function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

export class Recorder {
  readonly #places: Branch;
  readonly #key: Buffer | undefined;

  /** @param key for digests of values, since digests of short values could be guessed without one. */
  constructor(places: Places, key: Buffer | undefined) {
    this.#places = Branch.of(places);
    this.#key = key;
  }

  /** @returns the parts that may be recorded, as JSON text; undefined where there are none. */
  textOf(value: unknown): string | undefined {
    const kept = this.#walk(value, this.#places, undefined);
    if (kept === undefined) return undefined;
    const text = JSON.stringify(kept);
    return text.length <= maxLength
      ? text
      : JSON.stringify({ omitted: `${text.length} characters`, digest: this.#digest(value) });
  }

  #walk(value: unknown, branch: Branch | undefined, above: Fate | undefined): unknown {
    const fate = branch?.fate ?? above;
    if (fate === 'redact') return redacted;
    if (fate === 'hash') return this.#digest(value);
    if (Array.isArray(value)) {
      const items = value.map((item, index) => this.#walk(item, branch?.members.get(String(index)), fate));
      return fate === 'keep' || items.some((item) => item !== undefined)
        ? items.map((item) => item ?? null)
        : undefined;
    }
    if (isObject(value) && !isRawNumber(value)) {
      const members = Object.entries(value).flatMap(([name, member]) => {
        const walked = secretNames.test(name)
          ? fate === 'keep'
            ? redacted
            : undefined
          : this.#walk(member, branch?.members.get(name), fate);
        return walked === undefined ? [] : [[name, walked] as const];
      });
      return fate === 'keep' || members.length > 0 ? Object.fromEntries(members) : undefined;
    }
    return fate === 'keep' ? value : undefined;
  }

  #digest(value: unknown): string {
    const text = canonical(value);
    return this.#key === undefined
      ? `sha256:${sha256(text)}`
      : `hmac:${createHmac('sha256', this.#key).update(text).digest('base64url')}`;
  }
}

/** An address without the parts that may contain secrets: query, fragment, user and password. */
export function cutUri(uri: string): string {
  return uri
    .replace(/[?#].*$/s, '')
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1')
    .slice(0, 1_000);
}

/** The first rule that matches `server/tool`. */
export function ruleFor<Rule extends { readonly tool: string }>(
  rules: readonly Rule[],
  name: string,
): Rule | undefined {
  return rules.find(({ tool }) =>
    new RegExp(
      `^${tool
        .split('*')
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('.*')}$`,
      's',
    ).test(name),
  );
}
