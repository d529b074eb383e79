/**
 * Reads and writes numbers that a double cannot represent as they were written: integers above 2^53, `1e400`, `1.0`, `-0`. JSON sets no bounds for
 * numbers (RFC 8259, section 6), so the gateway passes them on unchanged. Such a number is read as a raw number, which is written again in the same form;
 * every other one is an ordinary number.
 */

/** The result of `JSON.rawJSON` for the text of a number. */
export interface RawNumber {
  readonly rawJSON: string;
}

/**
 * Matches the beginning of a number with a fraction, an exponent, sixteen digits or a negative zero. It may also match inside a string, where it causes
 * only a second search.
 */
const suspicious = /[:,[\s]-(?:0|\d+[.eE]|\d{16})|[:,[\s](?:\d{16}|\d+[.eE])/;
/** Matches such a number as a whole. */
const candidate = /(?<=[:,[\s])(?:-0(?![\d.eE])|-?(?:\d{16,}(?:\.\d+)?|\d+\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?)/g;

/** Whether a JSON text may contain a number that must be read as a raw one. For a text without fractions and long numbers, this is a single search. */
export function mayHoldRawNumbers(text: string): boolean {
  if (!suspicious.test(text)) return false;
  for (const [written] of text.matchAll(candidate)) if (String(Number(written)) !== written) return true;
  return false;
}

/**
 * `JSON.parse` that reads numbers which a double cannot represent as raw numbers. Takes ten times as long.
 * @throws {SyntaxError} as `JSON.parse` does.
 */
function parseWithRawNumbers(text: string): unknown {
  return JSON.parse(
    text,
    function keepWritten(this: object, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
      const source = context?.source;
      if (typeof value === 'object' && value !== null && holders.has(value)) holders.add(this);
      if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
      holders.add(this);
      return rawJson.rawJSON(source);
    },
  );
}

/** Objects and arrays that contain a raw number at any depth; they are added while they are read, so that values need not be searched later. */
const holders = new WeakSet();

/**
 * Whether a value that was read here contains a raw number. A value that was composed of such values is searched one level deep, which covers rewritten
 * parameters.
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
 * Parses JSON text and keeps every number as it was written. For text of our own; text from outside must be bounded first (`read-json.ts`).
 * @throws {SyntaxError} as `JSON.parse` does.
 */
export function parseJson(text: string): unknown {
  return suspicious.test(text) && mayHoldRawNumbers(text) ? parseWithRawNumbers(text) : JSON.parse(text);
}

/** A number as it was read: a double, or a raw number where a double would change it. */
export type JsonNumber = number | RawNumber;

export function isRawNumber(value: unknown): value is RawNumber {
  return rawJson.isRawJSON(value);
}

/** A number of either kind as a double, for calculations; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return isRawNumber(value) ? Number(value.rawJSON) : undefined;
}

/** Whether a double differs from the value that was written, as it does for `9007199254740993` and `1e400`, and does not for `1.0`. */
export function isRounded({ rawJSON }: RawNumber): boolean {
  const double = Number(rawJSON);
  return !Number.isFinite(double) || valueOf(rawJSON) !== valueOf(String(double));
}

/** Equal texts for equal values: the digits without zeros around them, and the exponent of the last one. Reads each character once. */
function valueOf(written: string): string {
  const sign = written.startsWith('-') ? '-' : '';
  const mark = written.search(/[eE]/);
  const mantissa = written.slice(sign.length, mark === -1 ? undefined : mark);
  const [whole = '', fraction = ''] = mantissa.split('.', 2);
  const digits = whole + fraction;
  let [first, end] = [0, digits.length];
  while (digits[first] === '0') first += 1;
  while (end > first && digits[end - 1] === '0') end -= 1;
  const exponent = (mark === -1 ? 0 : Number(written.slice(mark + 1))) - fraction.length + digits.length - end;
  return first === end ? '0' : `${sign}${digits.slice(first, end)}e${exponent}`;
}

/** ECMAScript 2026, JSON.parse source text access; TypeScript's library does not declare it yet. */
const rawJson = JSON as unknown as { rawJSON(text: string): RawNumber; isRawJSON(value: unknown): boolean };
