/** Mutations of a message, chosen by a seed: single values, members, whole structures, and the bytes on the wire. */
import { randomNumbers } from '../chaos/random.ts';

/** Choices that are determined by the seed and the number of the iteration, independent of earlier ones. */
export class Chooser {
  readonly #random: () => number;

  constructor(seed: number, iteration: number) {
    this.#random = randomNumbers(
      Math.imul(seed ^ 0x9e_37_79_b9, 0x85_eb_ca_6b) ^ Math.imul(iteration + 1, 0xc2_b2_ae_35),
    );
  }

  /** At least 0, less than `bound`. */
  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  of<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }
}

/** JSON that JSON.stringify would not write, such as numbers that no double can represent. */
class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const nested = (depth: number): Literal => new Literal(`${'{"a":['.repeat(depth)}1${']}'.repeat(depth)}`);

const oddities: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 1.5,
  () => '',
  () => [],
  () => ({}),
  () => [[]],
  () => ({ '': '' }),
  () => '0',
  () => ' ',
  () => '\0',
  () => '\n',
  () => '\u{d800}',
  () => '\u{2028}',
  () => '__proto__',
  () => 'constructor',
  () => ({ ['__proto__']: { id: 1 } }),
  () => ({ toString: 1, valueOf: null, toJSON: 1, length: -1 }),
  () => 'x'.repeat(5_000),
  () => '💥'.repeat(300),
  () => '../../etc/passwd',
  () => 'javascript:alert(1)',
  () => '\u{1b}[2J',
  () => '{+a}'.repeat(12),
  () => 'a\r\nx-evil: 1',
  () => new Literal('1e400'),
  () => new Literal('-0'),
  () => new Literal('1E-999'),
  () => new Literal('9'.repeat(400)),
  () => new Literal('9007199254740993'),
  () => new Literal(String.raw`"\ud83d"`),
  () => new Literal('{"a":1,"a":2}'),
  () => new Literal('{"then":1}'),
  () => nested(20),
  () => nested(70),
  () => nested(400),
  () => 4_294_967_296,
  () => Number.MAX_SAFE_INTEGER,
  () => Array.from({ length: 300 }, (_, index) => index),
  () => Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, index])),
  () => ({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  () => [null, undefined, {}],
];

/** Paths of everything inside a value, except the value itself. */
function placesIn(
  value: unknown,
  holders: { readonly holder: Record<string, unknown>; readonly key: string }[] = [],
  depth = 0,
): { readonly holder: Record<string, unknown>; readonly key: string }[] {
  if (typeof value !== 'object' || value === null || value instanceof Literal || depth > 8) return holders;
  for (const key of Object.keys(value)) {
    holders.push({ holder: value as Record<string, unknown>, key });
    placesIn((value as Record<string, unknown>)[key], holders, depth + 1);
  }
  return holders;
}

function misspelt(key: string, choose: Chooser): string {
  const at = choose.below(key.length + 1);
  return choose.of([
    key.toUpperCase(),
    `${key} `,
    key.slice(0, at),
    `${key.slice(0, at)}x${key.slice(at)}`,
    `\u{feff}${key}`,
    '__proto__',
    'constructor',
  ]);
}

function set(holder: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Makes one change in place. */
function change(message: unknown, choose: Chooser): void {
  const places = placesIn(message);
  if (places.length === 0) return;
  const { holder, key } = choose.of(places);
  const before = holder[key];
  switch (choose.below(7)) {
    case 0:
      Reflect.deleteProperty(holder, key);
      break;
    case 1:
      Reflect.deleteProperty(holder, key);
      if (!Array.isArray(holder)) set(holder, misspelt(key, choose), before);
      break;
    case 2:
      if (!Array.isArray(holder))
        set(
          holder,
          choose.of([
            'extra',
            'id',
            'result',
            'error',
            'params',
            'method',
            '_meta',
            '__proto__',
            'constructor',
            'cursor',
            'task',
            '',
          ]),
          choose.of(oddities)(),
        );
      break;
    case 3:
      set(holder, key, [before]);
      break;
    case 4:
      if (typeof before === 'string')
        set(
          holder,
          key,
          choose.of([
            `${before}${before}`,
            before.slice(1),
            before.toUpperCase(),
            `${before}\u{0}`,
            `${before}/../x`,
            before.split('').toReversed().join(''),
          ]),
        );
      break;
    default:
      set(holder, key, choose.of(oddities)());
  }
}

/** A message with one to four changes, sometimes in a batch, as text. */
export function mutated(message: unknown, choose: Chooser): string {
  const copy: unknown = structuredClone(message);
  for (let left = 1 + choose.below(choose.chance(0.2) ? 4 : 2); left > 0; left -= 1) change(copy, choose);
  const whole = choose.chance(0.04)
    ? choose.of([[copy], [copy, message], [], copy === undefined ? [] : Array.from({ length: 120 }, () => copy)])
    : copy;
  return write(whole);
}

function write(value: unknown): string {
  const literals: string[] = [];
  const text = JSON.stringify(value, (_key, each: unknown) => {
    if (!(each instanceof Literal)) return each;
    literals.push(each.text);
    return `\u{e000}${literals.length - 1}\u{e000}`;
  });
  return text.replace(/"\u{e000}(\d+)\u{e000}"/gu, (_match, index: string) => literals[Number(index)] as string);
}

/** Bytes that were changed, cut, repeated, or inserted, as no JSON library writes them. */
export function mangled(text: string, choose: Chooser): Buffer {
  const bytes = Buffer.from(text);
  const at = choose.below(bytes.length + 1);
  const put = (...more: number[]): Buffer =>
    Buffer.concat([bytes.subarray(0, at), Buffer.from(more), bytes.subarray(at)]);
  switch (choose.below(9)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return put(0x80);
    case 2:
      return put(0xed, 0xa0, 0x80);
    case 3:
      return put(choose.below(256), choose.below(256));
    case 4:
      return Buffer.concat([bytes, bytes]);
    case 5:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
    case 6:
      return put(
        ...Buffer.from(
          choose.of(['[', '{', '"', ',', '\\', ':', '\u{2028}', '\r', '\0']).repeat(1 + choose.below(300)),
        ),
      );
    case 7:
      return Buffer.from(text, 'utf16le');
    default: {
      if (bytes.length > 0) bytes[Math.min(at, bytes.length - 1)] = choose.below(256);
      return bytes;
    }
  }
}
