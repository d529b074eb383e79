/**
 * Whether a URI may come from an RFC 6570 template, in a time that grows with the length of either and no faster: a server writes
 * templates, a client writes URIs, and a backtracking pattern of ten `{+a}` takes minutes for 70 characters that do not fit.
 *
 * Expansions with operators may hold anything their operator allows; a plain `{name}` stops at reserved characters.
 */

/** Longer or richer templates stay in the list, and no URI is looked for in them: a match takes the product of both lengths. */
const maxTemplateLength = 1_024;
const maxExpressions = 16;
/** Longer URIs are found in lists only. */
const maxUriLength = 2_048;

interface Expansion {
  /** What an expansion that may be empty begins with when it is not. */
  readonly lead?: number;
  /** Characters that cannot stand in the expansion. */
  readonly ends: string;
}

type Part = string | Expansion;

export class UriTemplate {
  readonly #parts: readonly Part[];
  /** Literal characters: what makes one template more specific than another. */
  readonly literals: number;

  private constructor(parts: readonly Part[]) {
    this.#parts = parts;
    this.literals = parts.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0);
  }

  /** @returns undefined for a template that is too long or has too many expressions to be matched. */
  static parse(template: string): UriTemplate | undefined {
    if (template.length > maxTemplateLength) return undefined;
    const parts = template
      .split(/(\{[^{}]*\})/)
      .filter((part) => part !== '')
      .map((part) => (/^\{.*\}$/s.test(part) ? expansionOf(part.slice(1, -1)) : part));
    return parts.filter((part) => typeof part !== 'string').length > maxExpressions
      ? undefined
      : new UriTemplate(parts);
  }

  /** A URI of another scheme or authority is rejected without matching the rest. */
  mayMatch(uri: string): boolean {
    const [first, last] = [this.#parts[0] ?? '', this.#parts.at(-1) ?? ''];
    return (
      uri.length <= maxUriLength &&
      (typeof first !== 'string' || uri.startsWith(first)) &&
      (typeof last !== 'string' || uri.endsWith(last))
    );
  }

  /** Takes the product of both lengths at most. */
  matches(uri: string): boolean {
    if (!this.mayMatch(uri)) return false;
    let reached: Uint8Array = new Uint8Array(uri.length + 1);
    reached[0] = 1;
    for (const part of this.#parts) {
      reached = typeof part === 'string' ? afterLiteral(uri, part, reached) : afterExpansion(uri, part, reached);
      if (!reached.includes(1)) return false;
    }
    return reached[uri.length] === 1;
  }
}

function expansionOf(expression: string): Expansion {
  switch (expression[0]) {
    case '+':
      return { ends: '' };
    case '#':
      return { lead: 0x23, ends: '' };
    case '.':
      return { lead: 0x2e, ends: '/?#' };
    case '/':
      return { lead: 0x2f, ends: '?#' };
    case ';':
      return { lead: 0x3b, ends: '/?#' };
    case '?':
      return { lead: 0x3f, ends: '#' };
    case '&':
      return { lead: 0x26, ends: '#' };
    default:
      return { ends: expression.endsWith('*') ? '?#' : '/?#' };
  }
}

/** @param reached where the parts before can end. @returns where this one can. */
function afterLiteral(uri: string, literal: string, reached: Uint8Array): Uint8Array {
  const next = new Uint8Array(reached.length);
  for (let at = reached.indexOf(1); at !== -1; at = reached.indexOf(1, at + 1))
    if (uri.startsWith(literal, at)) next[at + literal.length] = 1;
  return next;
}

function afterExpansion(uri: string, { lead, ends }: Expansion, reached: Uint8Array): Uint8Array {
  const next = new Uint8Array(reached.length);
  /** The expansion began somewhere before, and everything since may be in it. */
  let isInside = false;
  for (let at = 0; at < reached.length; at += 1) {
    const canBegin = reached[at] === 1;
    if (isInside || (canBegin && lead !== undefined)) next[at] = 1;
    const goesOn: boolean = isInside && !ends.includes(uri.charAt(at));
    const begins: boolean =
      canBegin && (lead === undefined ? !ends.includes(uri.charAt(at)) : uri.charCodeAt(at) === lead);
    isInside = goesOn || begins;
  }
  return next;
}
