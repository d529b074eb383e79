/**
 * Scripts that try to leave their sandbox, or to use more than they may. Each row has the expected answer: what such a script gets, and no more. The sandbox
 * is the thread of the product, with its engine and bounds; the rest of the gateway is a list of calls.
 */
import { afterEach, expect, it } from 'vitest';
import { endAll, limits, ran } from './script-under-test.ts';

afterEach(endAll);

/** What a script must not find: objects of Node, of the thread and of the host. */
const outside = `['process', 'require', 'module', 'global', 'Buffer', 'fetch', 'setTimeout', 'setInterval', 'queueMicrotask', 'performance',
  'WebAssembly', 'SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', 'Worker', 'postMessage', 'navigator', 'std', 'os', 'Deno', 'Bun']`;

it.each([
  ['names of the host', `return ${outside}.filter((name) => name in globalThis);`],
  ['the global object of a new function', `return ${outside}.filter((name) => name in Function('return this')());`],
  ['the global object of an indirect eval', `return ${outside}.filter((name) => name in (0, eval)('globalThis'));`],
  [
    'constructors of its functions',
    `const found = [];
     for (const each of [servers.files.read, console.log, Date, Math.random, servers.files.read({})]) {
       const made = each.constructor.constructor('return globalThis')();
       found.push(...${outside}.filter((name) => name in made));
     }
     return found;`,
  ],
  [
    'every object that can be reached by prototypes and properties',
    `const seen = new Set(); const todo = [globalThis, servers, servers.files, servers.files.read, await servers.files.read({ a: { b: 1 } })];
     const made = [];
     while (todo.length > 0 && seen.size < 5000) {
       const at = todo.pop();
       if ((typeof at !== 'object' && typeof at !== 'function') || at === null || seen.has(at)) continue;
       seen.add(at);
       todo.push(Object.getPrototypeOf(at));
       for (const key of Reflect.ownKeys(at)) {
         const has = Object.getOwnPropertyDescriptor(at, key);
         if (has) todo.push(has.value, has.get, has.set);
         if (key !== 'global' && ${outside}.includes(String(key))) made.push(String(key));
       }
     }
     return made;`,
  ],
  [
    'the error of a call',
    `try { await servers.files.read(1n); } catch (error) {
       const made = error.constructor.constructor('return globalThis')();
       return ${outside}.filter((name) => name in made);
     }`,
  ],
])('finds nothing outside by %s', async (_by, code) => {
  expect(await ran(code)).toMatchObject({ isOk: true, text: '[]' });
});

it.each([
  ['import()', `await import('node:fs')`, /could not load module/],
  ['import of a data URL', `await import('data:text/javascript,export default 1')`, /could not load module/],
  ['an import statement', `import fs from 'fs'`, /SyntaxError/],
  ['require', `require('fs')`, /'require' is not defined/],
  ['WebAssembly', `new WebAssembly.Module(new Uint8Array(8))`, /not defined/],
  ['shared memory', `new SharedArrayBuffer(8)`, /not defined/],
  ['code behind its own end', `}); return 1; (`, /SyntaxError/],
])('cannot use %s', async (_what, code, problem) => {
  const end = await ran(code);
  expect(end.isOk).toBe(false);
  expect(end.text).toMatch(problem);
});

it.each([
  ['an endless loop', `for (;;);`],
  ['an endless loop that catches its interruption', `for (;;) { try { for (;;); } catch { continue; } }`],
  ['an endless loop in a finally block', `try { for (;;); } finally { for (;;); }`],
  [
    'a flood of promises',
    `const flood = () => { Promise.resolve().then(flood); Promise.resolve().then(flood); }; flood(); await new Promise(() => {});`,
  ],
  ['a thenable without end', `const then = (go) => go({ then }); await { then };`],
  ['a regular expression that backtracks', `/^(a+)+$/.test('a'.repeat(40) + 'b')`],
  [
    'a sort that never compares alike',
    `for (;;) Array.from({ length: 1e4 }, (_, at) => at).sort(() => Math.random() - 0.5)`,
  ],
  ['a getter in its result', `return { get never() { for (;;); } }`],
  ['toJSON in its result', `return { toJSON() { for (;;); } }`],
  ['a getter in arguments', `await servers.files.read({ get never() { for (;;); } })`],
  ['a proxy in arguments', `await servers.files.read(new Proxy({}, { ownKeys() { for (;;); } }))`],
])('is ended by %s', async (_by, code) => {
  const end = await ran(code, { cpuMs: 200 });
  expect(end.isOk).toBe(false);
  expect(end.text).toContain('code.cpu');
});

it('gets an error for too much memory, and for too much stack', async () => {
  expect((await ran(`new ArrayBuffer(1e9)`)).text).toMatch(/out of memory/);
  expect((await ran(`const deep = () => deep() + 1; deep();`)).text).toMatch(/stack overflow/);
});

it('sees a clock that stands still, and the random numbers of its seed, by every way to ask', async () => {
  const code = `const dates = [Date.now(), +new Date(), Date.parse(Date()), +new Date().constructor(), Reflect.construct(Date, []).getTime()];
    let sum = 0; for (let at = 0; at < 1e5; at += 1) sum += at;
    class Later extends Date {}
    const copy = new (Object.getPrototypeOf(new Date()).constructor)();
    return [...dates.slice(0, 3), +new Later(), +copy, Date.now(), Math.random(), Math.random()];`;
  const [one, other] = await Promise.all([ran(code), ran(code)]);
  const now = Date.UTC(2030, 0, 1);
  const seen = JSON.parse(one.text) as readonly number[];
  expect(seen.slice(0, 6)).toEqual([now, now, now, now, now, now]);
  expect(seen[6]).not.toBe(seen[7]);
  expect(other.text).toBe(one.text);
});

it('cannot forge the outcome of a call, or replace functions that the gateway uses', async () => {
  const end = await ran(`
    Promise.prototype.then = function () { return 'forged'; };
    JSON.stringify = () => '"forged"'; JSON.parse = () => 'forged';
    Object.prototype.resolve = () => { throw new Error('forged'); };
    Array.prototype.push = () => 0; globalThis.Error = class {}; Map.prototype.get = () => 'forged';
    return { real: await servers.files.read({ real: true }) };`);
  expect(JSON.parse(end.text)).toEqual({ real: { real: true } });
  expect(end.calls).toEqual(['{"real":true}']);
});

it('gets results as plain data, whatever names they have', async () => {
  const text = '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"then":"no","toJSON":"no"}';
  const end = await ran(
    `const made = await servers.files.read(); return [typeof made, ({}).isAdmin === undefined, made.then, Object.keys(made)];`,
    { answer: () => ({ isOk: true, text }) },
  );
  expect(JSON.parse(end.text)).toEqual(['object', true, 'no', ['__proto__', 'constructor', 'then', 'toJSON']]);
});

it('cannot change its functions, and names that are none have an error', async () => {
  const end = await ran(`
    const tried = [() => { servers.files = 1; }, () => { servers.files.read = 1; }, () => { delete servers.files; },
      () => Object.setPrototypeOf(servers, {}), () => Object.defineProperty(servers, 'x', { value: 1 }), () => servers.other.read(), () => servers.files.write()];
    return tried.map((act) => { try { act(); return 'done'; } catch (error) { return error.name; } });`);
  expect(JSON.parse(end.text)).not.toContain('done');
});

it('may make so many calls and no more, and does not grow by them', async () => {
  const end = await ran(`
    const all = await Promise.allSettled(Array.from({ length: 1000 }, () => servers.files.read({ text: 'x' })));
    return all.filter(({ status }) => status === 'fulfilled').length;`);
  expect(end.text).toBe('20');
  expect(end.calls).toHaveLength(20);
});

it('may give so long arguments, print so much, and return so much, and no more', async () => {
  const long = await ran(`await servers.files.read({ text: 'x'.repeat(10_000) });`);
  expect(long).toMatchObject({ isOk: false, calls: [] });
  expect(long.text).toContain('the arguments have');
  const printed = await ran(
    `for (let at = 0; at < 2000; at += 1) console.log('a line that is printed'); return 'end';`,
  );
  expect(printed.printed.length).toBeLessThan(limits.outputLength + 100);
  const returned = await ran(`return 'x'.repeat(100_000);`);
  expect(returned.text.length).toBeLessThan(limits.outputLength + 200);
  expect(returned.text).toContain('98000 more characters are left out');
});

it('gets an error for a result that does not fit into its memory', async () => {
  const end = await ran(`try { await servers.files.read(); } catch (error) { return error.reason; }`, {
    answer: () => ({ isOk: true, text: JSON.stringify('x'.repeat(10_000_000)) }),
  });
  expect(end).toMatchObject({ isOk: true, text: 'result.too_large' });
});

it('names line and column of its errors, as the script was sent', async () => {
  expect((await ran(`const made = 1;\n\n  null.x;`)).text).toBe(
    "TypeError: cannot read property 'x' of null\n    at line 3, column 7",
  );
  expect((await ran(`const made: number = ;`)).text).toBe('SyntaxError: Expression expected\n    at line 1, column 22');
  expect((await ran(`let one;\nenum Two { A }`)).text).toBe(
    'SyntaxError: TypeScript enum is not supported in strip-only mode\n    at line 2, column 1',
  );
  const refused = await ran(`const made = 1;\nawait servers.files.read();`, {
    answer: () => ({ isOk: false, text: '{"message":"no","reason":"policy.denied"}' }),
  });
  expect(refused.text).toMatch(/^CallError: no\n {4}at line 2, column \d+/);
});

it('is over if it waits for a promise that is never settled', async () => {
  expect(await ran(`await new Promise(() => {});`)).toMatchObject({
    isOk: false,
    text: 'the script waits for a promise that is never settled',
  });
});

it('calls that are open have arguments of so many characters together, and more once some are answered', async () => {
  const end = await ran(`
    const text = 'x'.repeat(9_000);
    const settled = await Promise.allSettled(Array.from({ length: 5 }, () => servers.files.read({ text })));
    const more = await servers.files.read({ text });
    return [settled.map(({ status }) => status), settled[4].reason.message, more.text.length];`);
  const [states, problem, length] = JSON.parse(end.text) as readonly unknown[];
  expect(states).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected']);
  expect(problem).toContain('30000 are allowed: wait for some of them');
  expect(length).toBe(9_000);
});
