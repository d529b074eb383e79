/** Scripts that use as much memory and stack as they can, and generated ones. In the long lane: the engine needs seconds to fill its memory. */
import { afterEach, expect, it } from 'vitest';
import { endAll, ran } from './script-under-test.ts';

afterEach(endAll);

it.each([
  ['an array without end', `const all = []; for (;;) all.push(new Array(10000).fill(all.length));`],
  ['a long text', `let text = 'x'; for (;;) text += text;`],
  ['one large buffer', `new ArrayBuffer(1e9)`],
  ['many buffers', `const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1));`],
  ['promises that wait', `const all = []; for (;;) all.push(new Promise(() => {}));`],
  [
    'closures',
    `let next = () => 0; for (;;) { const before = next; const big = new Array(1000).fill(1); next = () => [before, big]; }`,
  ],
  ['recursion', `const deep = () => deep() + 1; deep();`],
  ['recursion through a proxy', `const made = new Proxy({}, { get: (of, key, self) => self[key] }); made.x;`],
  ['recursion through toString', `const made = { toString: () => String(made) }; String(made);`],
  ['nesting of brackets', `eval('('.repeat(1e5))`],
  ['nesting of groups', `new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5)).test('a')`],
  ['JSON that nests', `JSON.parse('['.repeat(1e5))`],
])('gets an error for %s, within the bounds of memory and stack', async (_what, code) => {
  const end = await ran(code, { cpuMs: 5_000 });
  expect(end.isOk).toBe(false);
  expect(end.text).toMatch(
    /out of memory|string too long|stack overflow|too much stack|too big|too many|SyntaxError|code\.cpu/,
  );
});

const seed = Number(process.env['OMNIBUS_FUZZ_SEED'] ?? 42);
const scripts = Number(process.env['OMNIBUS_FUZZ_SCRIPTS'] ?? 60);

/** Values and operations that engines have had faults with: odd objects, in odd places. */
const parts = [
  '[]',
  '{}',
  'null',
  'undefined',
  '-0',
  'NaN',
  '1e308',
  '2n ** 64n',
  '"\\ud800"',
  '""',
  'Symbol.iterator',
  'globalThis',
  'servers',
  'servers.files',
  'servers.files.read',
  'console',
  'Date',
  'Promise',
  'Proxy',
  'Reflect',
  'Object.prototype',
  'Array.prototype',
  'Function.prototype',
  'new Proxy({}, { get: () => x, has: () => true, ownKeys: () => ["a", "a"] })',
  'new Proxy(function () {}, { construct: () => x, apply: () => x })',
  '{ then(a, b) { b(a); a(b); } }',
  '{ get a() { return this; }, toJSON() { return x; } }',
  'new Uint8Array(7)',
  '/(.*)*$/',
  'async function* () { yield x; }',
  'class extends Array { static get [Symbol.species]() { return x; } }',
];
const steps = [
  (a: string, b: string) => `x = Reflect.apply(${a}, ${b}, [x])`,
  (a: string, b: string) => `x = Reflect.construct(${a}, [${b}])`,
  (a: string, b: string) => `Object.setPrototypeOf(${a}, ${b})`,
  (a: string, b: string) => `Object.defineProperty(${a}, "constructor", { get: () => ${b} })`,
  (a: string, b: string) => `x = (${a})[${b}]`,
  (a: string, b: string) => `(${a})[x] = ${b}`,
  (a: string, b: string) => `x = await (${a})(${b})`,
  (a: string, b: string) => `x = await servers.files.read({ a: ${a}, b: ${b} })`,
  (a: string, b: string) => `x = structuredClone(${a}, ${b})`,
  (a: string) => `x = JSON.stringify(${a}, (k, v) => v, 2)`,
  (a: string) => `x = [...(${a})]`,
  (a: string) => `x = new (${a}.constructor.constructor)("return " + x)()`,
  (a: string) => `for (const k in ${a}) { x = k; break; }`,
  (a: string) => `eval(String(${a}))`,
  (a: string) => `delete (${a})[x]`,
  (a: string) => `Object.freeze(${a})`,
];

function generated(random: () => number): string {
  const one = <Of>(of: readonly Of[]): Of => of[Math.floor(random() * of.length)] as Of;
  const lines = Array.from(
    { length: 40 },
    () => `try { ${one(steps)(`(${one(parts)})`, `(${one(parts)})`)}; } catch (e) { x = e; }`,
  );
  return `let x = {};\n${lines.join('\n')}\nreturn "end";`;
}

/** mulberry32 */
function randomOf(given: number): () => number {
  let state = given >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

it(`ends each of ${scripts} generated scripts in order (OMNIBUS_FUZZ_SEED=${seed})`, { timeout: 600_000 }, async () => {
  const random = randomOf(seed);
  for (let count = 0; count < scripts; count += 1) {
    const code = generated(random);
    const end = await ran(code, { cpuMs: 500 });
    // Each has an end that the engine, or the host in its place, has made; only arguments that are JSON have come out.
    expect(typeof end.text, code).toBe('string');
    expect(end.text, code).not.toMatch(/node:|\/features\/|worker_threads/);
    for (const args of end.calls) expect(() => JSON.parse(args) as unknown, code).not.toThrow();
  }
});
