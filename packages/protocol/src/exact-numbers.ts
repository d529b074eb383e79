/**
 * Numbers a double cannot hold as they were written: integers above 2^53, `1e400`, `1.0`, `-0`. JSON sets no bounds for numbers (RFC 8259,
 * section 6), and a gateway that only carries them has no reason to change them. Such a number is read as a raw one, which is written
 * again as it came; every other is a number as always.
 */

/** What `JSON.rawJSON` makes of the text of a number. */
export interface RawNumber {
  readonly rawJSON: string;
}

/** How a number with a fraction, an exponent, sixteen digits or a negative zero begins; it is looked for in strings too, where it means nothing. */
const suspicious = /[:,[\s]-(?:0|\d+[.eE]|\d{16})|[:,[\s](?:\d{16}|\d+[.eE])/;
/** Such a number from its beginning to its end. */
const candidate = /(?<=[:,[\s])(?:-0(?![\d.eE])|-?(?:\d{16,}(?:\.\d+)?|\d+\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?)/g;

/** Whether a JSON text may hold a number that has to be read as a raw one. A text without fractions and long numbers pays one search. */
export function mayHoldRawNumbers(text: string): boolean {
  if (!suspicious.test(text)) return false;
  for (const [written] of text.matchAll(candidate)) if (String(Number(written)) !== written) return true;
  return false;
}

/**
 * `JSON.parse`, with what a double cannot hold as raw numbers. Ten times as dear as without.
 * @throws {SyntaxError} as `JSON.parse` does.
 */
function parseWithRawNumbers(text: string): unknown {
  return JSON.parse(text, function keepWritten(this: object, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
    const source = context?.source;
    if (typeof value === 'object' && value !== null && holders.has(value)) holders.add(this);
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
    holders.add(this);
    return rawJson.rawJSON(source);
  });
}

/** What was read with a raw number in it, however deep: found out while reading, so that nobody has to look. */
const holders = new WeakSet();

/**
 * Whether a value that was read here has a raw number in it. What was put together of parts that were read is looked at one level deep,
 * which is how parameters are rewritten.
 */
export function holdsRawNumbers(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (isRawNumber(value) || holders.has(value)) return true;
  if (Array.isArray(value)) return false;
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === 'object' && member !== null && (holders.has(member) || isRawNumber(member))) return true;
  }
  return false;
}

/**
 * What JSON text means, with every number as it was written. For text of our own; what comes from outside is bounded first (`read-json.ts`).
 * @throws {SyntaxError} as `JSON.parse` does.
 */
export function parseJson(text: string): unknown {
  return mayHoldRawNumbers(text) ? parseWithRawNumbers(text) : JSON.parse(text);
}

/** A number as it was read: a double, or a raw number where a double would change it. */
export type JsonNumber = number | RawNumber;

export function isRawNumber(value: unknown): value is RawNumber {
  return rawJson.isRawJSON(value);
}

/** What the gateway calculates with: a number of either kind as a double; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return isRawNumber(value) ? Number(value.rawJSON) : undefined;
}

/** ECMAScript 2026, JSON.parse source text access; the library of types does not have it yet. */
const rawJson = JSON as unknown as { rawJSON(text: string): RawNumber; isRawJSON(value: unknown): boolean };
