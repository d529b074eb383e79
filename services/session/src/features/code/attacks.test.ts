/** More scripts that try to leave their sandbox, to see the machine, or to use it longer than they may; `escapes.test.ts` has the first ones. */
import { afterEach, expect, it } from 'vitest';
import { endAll, ran } from './script-under-test.ts';

afterEach(endAll);

it.each([
  [
    'the stack of an error',
    `Error.prepareStackTrace = (_error, frames) => frames; return typeof new Error().stack;`,
    'string',
  ],
  [
    'the caller of a function without strict mode',
    `return 1; })(); globalThis.seen = []; function spy() { seen.push(typeof spy.caller, typeof arguments.callee.caller); return 'x'; }
     (async () => { await servers.files.read({ toJSON: spy }); return seen.join();`,
    'undefined,undefined',
  ],
  [
    'a setter for members of what the gateway makes',
    `const found = []; for (const name of ['resolve', 'reject', 'stack', 'value', 'message', 'reason'])
       Object.defineProperty(Object.prototype, name, { __proto__: null, set(value) { found.push(name); }, get() { return undefined; }, configurable: true });
     const made = await servers.files.read({ a: 1 }); return [found.length, made.a].join();`,
    '0,1',
  ],
  [
    'a thenable that every object inherits',
    `Object.prototype.then = function (go) { delete Object.prototype.then; go('forged'); }; const made = await servers.files.read({ a: 1 });
     return typeof made;`,
    'string',
  ],
  [
    'the number of another call',
    `const both = await Promise.all([servers.files.read({ n: 1 }), servers.files.read({ n: 2 })]); return both.map(({ n }) => n).join();`,
    '1,2',
  ],
  [
    'modules of the engine',
    `const got = []; for (const name of ['std', 'os', 'bjson', 'qjs:std', 'prelude', 'script.ts', '/etc/passwd', 'https://example.com/a.js'])
     try { await import(name); got.push(name); } catch { continue; } return got.join();`,
    '',
  ],
  [
    'symbols that its functions share with others',
    `return Object.getOwnPropertySymbols(servers).concat(Object.getOwnPropertySymbols(servers.files.read)).length;`,
    '0',
  ],
  [
    'species and iterators of built-in lists',
    `Array.prototype[Symbol.iterator] = function* () { yield 'forged'; }; Array.prototype.map = () => 'forged';
     const made = await servers.files.read({ list: [1, 2] }); return made.list.length + JSON.stringify(made);`,
    '2{"list":[1,2]}',
  ],
])('gains nothing by %s', async (_by, code, text) => {
  expect(await ran(code)).toMatchObject({ isOk: true, text });
});

it('does not see the time zone of the machine, so that a replay elsewhere is the same', async () => {
  const before = process.env['TZ'];
  process.env['TZ'] = 'Asia/Tokyo';
  try {
    const end = await ran(
      `return [new Date(0).getTimezoneOffset(), new Date(0).getHours(), String(new Date(0)), new Date(2030, 6, 1).toISOString(), new Date('2030-01-01T00:00').getTime()];`,
    );
    expect(JSON.parse(end.text)).toEqual([
      0,
      0,
      'Thu Jan 01 1970 00:00:00 GMT+0000',
      '2030-07-01T00:00:00.000Z',
      Date.UTC(2030, 0, 1),
    ]);
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
});

it.each([
  ['a result', `return 'c\\0d\\ud800';`, 'c\0d\ud800', ''],
  ['a line', `console.log('a\\0b'); return 1;`, '1', 'a\0b\n'],
  ['arguments', `return (await servers.files.read({ text: 'a\\0b' })).text;`, 'a\0b', ''],
])('loses nothing of %s with characters that end texts elsewhere', async (_what, code, text, printed) => {
  expect(await ran(code)).toMatchObject({ isOk: true, text, printed });
});

it('gets a plain error if its result leaves no room for the copy that the gateway reads', async () => {
  expect(await ran(`return 'x'.repeat(12e6);`)).toMatchObject({
    isOk: false,
    text: expect.stringContaining('a text of 12000000 characters'),
  });
});

it('gets the reason of a refused call, whatever all objects inherit', async () => {
  const end = await ran(
    `Object.prototype.get = () => 1; Object.prototype.writable = false; Object.prototype.value = 'forged';
     try { await servers.files.read(); } catch (error) { return [error.name, error.reason, error.message, typeof error.stack].join(); }`,
    { answer: () => ({ isOk: false, text: '{"message":"no","reason":"policy.denied"}' }) },
  );
  expect(end).toMatchObject({ isOk: true, text: 'CallError,policy.denied,no,string' });
});

it.each([
  ['brackets', '('.repeat(90_000)],
  ['lists', '['.repeat(90_000)],
  ['blocks', '{'.repeat(90_000) + '}'.repeat(90_000)],
  ['functions', `${'x=>'.repeat(60_000)}1`],
  ['types', `let a: ${'Array<'.repeat(20_000)}1${'>'.repeat(20_000)}`],
  ['templates', '`${'.repeat(40_000)],
  ['conditions', `${'if(1)'.repeat(30_000)}1`],
])('gets a plain error for code with %s inside each other, before it runs', async (_what, code) => {
  expect(await ran(code)).toMatchObject({ isOk: false, text: 'SyntaxError: the code nests too deeply' });
});

it.each([
  ['a search in a long text', `'a'.repeat(4e6).indexOf('a'.repeat(2e6) + 'b')`],
  ['a list with more places than memory', `Array(2 ** 32 - 1).join('x')`],
])('is ended by %s, which the engine cannot interrupt', async (_by, code) => {
  const end = await ran(code, { cpuMs: 200 });
  expect(end.isOk).toBe(false);
  expect(end.text).toContain('code.cpu');
});
