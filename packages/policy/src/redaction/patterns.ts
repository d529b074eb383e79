/**
 * The patterns that are searched for in texts that a rule redacts. Servers choose these texts, so every pattern does a bounded amount of work for each
 * character: repetitions are bounded, and a pattern from the configuration has no groups and may match in few ways.
 */
import { tokenPattern } from '@omnibus/protocol';

/** Returns the text with each match replaced by the mark; the same text when nothing matches. */
export type Replace = (text: string, mark: string) => string;

const email = /[\p{L}\p{N}._%+'-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu;
/** Digits in groups, as card numbers are written; `isCard` decides which of them are card numbers. */
const digits = /(?<!\d)\d(?:[ -]?\d){12,}/g;
const account = /(?<![A-Z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}(?![A-Z0-9])/g;
/** A private key (RFC 7468; RFC 9580 section 6.2), with what may stand in it: headers, and line ends that a text in JSON writes as `\n`. What comes after its last line is not part of it. */
const privateKey = /-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s:,.()\\-]{0,16000}/g;
const privateKeyEnd = /-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----/;

const builtIn: Readonly<Record<string, Replace>> = {
  email: (text, mark) => (text.includes('@') ? text.replace(email, mark) : text),
  card: (text, mark) =>
    text.replace(digits, (found) => inGroups(found, /[ -]/, { least: 13, most: 19, fits: isCard }, mark)),
  iban: (text, mark) =>
    text.replace(account, (found) => inGroups(found, / /, { least: 15, most: 34, fits: isAccount }, mark)),
  key: (text, mark) => withoutPrivateKeys(text, mark).replace(tokenPattern, mark),
};

export const patternNames: readonly string[] = Object.keys(builtIn);

/** @param text the name of a known pattern, or a pattern itself. @throws {Error} with a message for the operator when it is neither. */
export function compilePattern(text: string): Replace {
  if (Object.hasOwn(builtIn, text)) return builtIn[text] as Replace;
  const problem = ownProblem(text);
  if (problem !== undefined) throw new Error(`${problem}; or name one of ${patternNames.join(', ')}`);
  const own = new RegExp(text, 'gu');
  return (given, mark) => given.replace(own, mark);
}

/** A key that is cut off has no last line; everything that may belong to it is removed then. */
function withoutPrivateKeys(text: string, mark: string): string {
  if (!text.includes('-----BEGIN ')) return text;
  return text.replace(privateKey, (found) => {
    const end = privateKeyEnd.exec(found);
    return end === null ? mark : `${mark}${withoutPrivateKeys(found.slice(end.index + end[0].length), mark)}`;
  });
}

// --- cards and accounts ---------------------------------------------------------------------------------------------------------

/** Finds numbers among groups of characters: from each group on, the longest run of at most `maxGroups` groups that fits. */
function inGroups(found: string, between: RegExp, { least, most, fits }: Sought, mark: string): string {
  const starts = [0];
  for (let at = 0; at < found.length; at += 1) if (between.test(found.charAt(at))) starts.push(at + 1);
  const ends = [...starts.slice(1).map((start) => start - 1), found.length];
  let said = '';
  for (let first = 0; first < starts.length; first += 1) {
    const start = starts[first] as number;
    // The longest run is tried first; no card or account number has more groups than this.
    let last = Math.min(first + maxGroups, ends.length) - 1;
    const isOne = (): boolean => {
      const length = (ends[last] as number) - start - (last - first);
      return length >= least && length <= most && fits(found.slice(start, ends[last]).replaceAll(/[ -]/g, ''));
    };
    while (last >= first && !isOne()) last -= 1;
    const isFound = last >= first;
    said += isFound ? mark : found.slice(start, ends[first]);
    if (isFound) first = last;
    said += found.slice(ends[first], starts[first + 1] ?? found.length);
  }
  return said;
}

/** Groups of four characters in the longest account number. */
const maxGroups = 9;

/** A kind of number: how many characters it has, not counting separators, and a test of these characters. */
interface Sought {
  readonly least: number;
  readonly most: number;
  readonly fits: (plain: string) => boolean;
}

/** ISO/IEC 7812-1: 13 to 19 digits, of which the last is the check digit of the Luhn algorithm. */
function isCard(plain: string): boolean {
  if (/^0+$/.test(plain)) return false;
  let sum = 0;
  for (let index = 0; index < plain.length; index += 1) {
    const digit = Number(plain.charAt(plain.length - 1 - index));
    const counted = index % 2 === 1 ? digit * 2 : digit;
    sum += counted > 9 ? counted - 9 : counted;
  }
  return sum % 10 === 0;
}

/** ISO 13616: the remainder by 97 is one. */
function isAccount(plain: string): boolean {
  let rest = 0;
  for (const character of `${plain.slice(4)}${plain.slice(0, 4)}`)
    for (const digit of String(parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}

// --- patterns of one's own --------------------------------------------------------------------------------------------------------

/** Bound on the ways in which a pattern may match at one place, all of which are tried at worst. */
const maxWays = 1_000;
const maxLength = 300;
/** A character, a character class or a word boundary, with its repetition. */
const piece =
  /(?:\\[dDwWsS]|\\[^\w\s]|\\b|\[(?:\\[dDwWsS]|\\[^\w\s]|[^\]\\])+\]|[^\\[\](){}*+?|^$.])(?:\{(\d{1,3})(?:,(\d{1,3}))?\}|(\?))?/uy;

/** Why a pattern from the configuration is refused. */
function ownProblem(text: string): string | undefined {
  if (text.length > maxLength) return `a pattern has at most ${maxLength} characters`;
  piece.lastIndex = 0;
  let ways = 1;
  while (piece.lastIndex < text.length) {
    const at = piece.lastIndex;
    const found = piece.exec(text);
    if (found === null)
      return `at ${JSON.stringify(text.slice(at, at + 10))}: a pattern has characters, classes such as [A-Z] or \\d, and after each {3}, {3,6} or ?; no groups, "|", "*", "+" or "."`;
    const [, from, to, optional] = found;
    const [least, most] = optional === undefined ? [Number(from ?? 1), Number(to ?? from ?? 1)] : [0, 1];
    if (most < least) return `${JSON.stringify(found[0])} ends before it begins`;
    ways *= most - least + 1;
  }
  if (ways > maxWays)
    return `it fits in ${ways} ways at one place, and ${maxWays} are allowed: give ranges fewer repetitions`;
  try {
    return new RegExp(text, 'gu').test('') ? 'it fits where there is nothing' : undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
