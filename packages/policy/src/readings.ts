/**
 * The readings by servers of a value with another type than expected. Frameworks turn `"9"` into 9, and `1`, `"true"` and `"yes"` into `true`, so such
 * a value counts against the caller where it is compared.
 */

const truths: readonly string[] = ['true', 'yes', 'on', 'y', 't'];
const falsities: readonly string[] = ['false', 'no', 'off', 'n', 'f'];
const nothings: readonly string[] = ['', 'null', 'none'];

/** The type of a value. All kinds of numbers are one type. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'object') return typeof value === 'bigint' ? 'number' : typeof value;
  return typeof value.valueOf() === 'bigint' ? 'number' : isPlain(value) ? 'map' : value.constructor.name;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/**
 * Whether a server may take one value for the other, though they have different types. A list or an object may be read as anything: some servers take a
 * list of one item for the item.
 */
export function mayMean(one: unknown, other: unknown): boolean {
  if (typeOf(one) === typeOf(other)) return false;
  const [first, second] = [readingsOf(one), readingsOf(other)];
  return first === undefined || second === undefined || first.some((each) => second.includes(each));
}

/** @returns undefined for a value that may be read as anything. */
function readingsOf(value: unknown): readonly string[] | undefined {
  switch (typeOf(value)) {
    case 'null':
      return ['null', 'false', '0'];
    case 'boolean':
      return value === true ? ['true', '1'] : ['false', '0', 'null'];
    case 'number':
      return ofNumber(Number(value));
    case 'string':
      return ofText((value as string).trim().toLowerCase());
    default:
      return undefined;
  }
}

function ofNumber(number: number): readonly string[] {
  if (number === 1) return ['1', 'true'];
  return number === 0 ? ['0', 'false', 'null'] : [String(number)];
}

function ofText(text: string): readonly string[] {
  if (truths.includes(text)) return ['true'];
  if (falsities.includes(text)) return ['false'];
  if (nothings.includes(text)) return ['null'];
  const number = Number(text);
  return Number.isNaN(number) ? [] : ofNumber(number);
}

/**
 * Compares values of which the library of CEL says that they are not equal.
 * @returns `unknown` where they differ only in places that have values of different types.
 */
export function difference(one: unknown, other: unknown): 'none' | 'certain' | 'unknown' {
  const type = typeOf(one);
  if (type !== typeOf(other)) return 'unknown';
  if (type === 'list') return ofMembers(one as readonly unknown[], other as readonly unknown[]);
  if (type === 'map') return ofMembers(one as object, other as object);
  // Doubles may round two numbers to the same.
  if (type === 'number') return Number(one) === Number(other) ? 'none' : 'certain';
  if (type === 'string' || type === 'boolean') return one === other ? 'none' : 'certain';
  return 'none';
}

function ofMembers(one: object, other: object): 'none' | 'certain' | 'unknown' {
  const [first, second] = [Object.entries(one), other as Readonly<Record<string, unknown>>];
  if (first.length !== Object.keys(other).length) return 'certain';
  let found: 'none' | 'unknown' = 'none';
  for (const [key, value] of first) {
    const each = Object.hasOwn(second, key) ? difference(value, second[key]) : 'certain';
    if (each === 'certain') return each;
    if (each === 'unknown') found = each;
  }
  return found;
}
