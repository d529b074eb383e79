/**
 * The first code in a sandbox: it makes `servers`, `console`, a clock that stands still, and random numbers by seed, and gives the host three functions. It
 * keeps the built-in functions that it uses, so that a script that replaces them changes only what it sees itself. Only text crosses its border.
 *
 * `calls(lines, last)` takes calls that the script has made, one a line: server, tool and arguments as JSON. The first call of a script has the number 1, and
 * the last of these calls the number `last`. `names()` returns JSON.
 * `print(json)` and `finish(isOk, json)` take a text as JSON, since the host reads a text of the engine up to its first NUL only. Each
 * crossing costs as much as many steps of the engine, so calls and their outcomes cross together.
 */
export const prelude = `(function (calls, print, finish, names, now, seed) {
  'use strict';
  // Kept before a script can replace them.
  const { imul: Math_imul } = Math;
  const Object_prototype = Object.prototype;
  const { parse, stringify } = JSON;
  const { apply, construct, ownKeys } = Reflect;
  const { hasOwn, freeze, defineProperty, create } = Object;
  const [NativeError, NativePromise, NativeProxy, NativeDate, text] = [Error, Promise, Proxy, Date, String];
  const then = NativePromise.prototype.then;

  for (const name of ['SharedArrayBuffer', 'Atomics', 'WeakRef', 'FinalizationRegistry', 'WebAssembly']) delete globalThis[name];

  // The time of the beginning, in every way to ask for it.
  function FixedDate(...given) {
    if (new.target === undefined) return text(new NativeDate(now));
    return construct(NativeDate, given.length === 0 ? [now] : given, new.target);
  }
  FixedDate.prototype = NativeDate.prototype;
  for (const name of ['parse', 'UTC']) defineProperty(FixedDate, name, { value: NativeDate[name], writable: true, configurable: true });
  defineProperty(FixedDate, 'now', { value: () => now, writable: true, configurable: true });
  defineProperty(FixedDate, 'name', { value: 'Date' });
  defineProperty(NativeDate.prototype, 'constructor', { value: FixedDate, writable: true, configurable: true });
  defineProperty(globalThis, 'Date', { value: FixedDate, writable: true, configurable: true });

  // mulberry32
  let state = seed >>> 0;
  defineProperty(Math, 'random', {
    value: () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = state;
      mixed = Math_imul(mixed ^ (mixed >>> 15), mixed | 1);
      mixed ^= mixed + Math_imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    },
    writable: true,
    configurable: true,
  });

  class CallError extends NativeError {
    constructor(message, reason) {
      super(message);
      // Without a prototype: members that a script gives Object.prototype are not in them.
      defineProperty(this, 'name', { __proto__: null, value: 'CallError' });
      defineProperty(this, 'reason', { __proto__: null, value: reason, enumerable: true });
    }
  }

  // The calls that run, by number. It has the native functions itself, since a script may replace those of all maps.
  const waiting = new Map();
  for (const name of ['get', 'set', 'delete']) defineProperty(waiting, name, { __proto__: null, value: waiting[name] });
  let count = 0;
  // Calls that the host does not know yet.
  let lines = '';
  const longestLines = 8192;
  const flush = () => {
    if (lines === '') return;
    calls(lines, count);
    lines = '';
  };
  const failure = (message, reason, stack) => {
    const error = new CallError(message, reason);
    defineProperty(error, 'stack', { __proto__: null, value: stack, writable: true, configurable: true });
    return error;
  };
  const caller = (head) => (given) => {
    const { stack } = new NativeError();
    return new NativePromise((resolve, reject) => {
      const args = given === undefined ? '{}' : stringify(given);
      const line = head + (args === undefined ? 'null' : args);
      const joined = lines === '' ? line : lines + '\\n' + line;
      waiting.set(count + 1, { resolve, reject, stack });
      // Nothing between these two lines needs memory, so that a call without room has no number.
      lines = joined;
      count += 1;
      if (lines.length > longestLines) flush();
    });
  };

  let known;
  const all = () => {
    known ??= parse(names());
    return known;
  };
  const silent = (key) => typeof key === 'symbol' || key === 'then' || key === 'toJSON' || hasOwn(Object_prototype, key);
  const fixed = { set: () => false, defineProperty: () => false, deleteProperty: () => false, setPrototypeOf: () => false, preventExtensions: () => false };
  const listed = (read, missing, make) => {
    const kept = create(null);
    const made = (key) => (kept[key] ??= make(key));
    return new NativeProxy(create(null), {
      ...fixed,
      get(_, key) {
        const before = kept[key];
        if (before !== undefined) return before;
        if (typeof key === 'string' && hasOwn(read(), key)) return made(key);
        if (silent(key)) return undefined;
        throw new NativeError(missing(key));
      },
      has: (_, key) => hasOwn(read(), key),
      ownKeys: () => ownKeys(read()),
      getOwnPropertyDescriptor: (_, key) =>
        hasOwn(read(), key) ? { __proto__: null, value: made(key), enumerable: true, configurable: true, writable: false } : undefined,
      getPrototypeOf: () => null,
    });
  };
  const functionsOf = (server) =>
    listed(
      () => all()[server],
      (tool) => 'there is no function servers.' + server + '.' + tool + '; find_api finds functions',
      (tool) => caller(server + ' ' + tool + ' '),
    );
  const servers = listed(
    all,
    (server) => 'there is no server servers.' + server + '; servers: ' + ownKeys(all()).slice(0, 40).join(', '),
    functionsOf,
  );
  defineProperty(globalThis, 'servers', { value: servers });

  const shown = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof NativeError) return text(value.name) + ': ' + text(value.message);
    try {
      const json = stringify(value);
      return json === undefined ? text(value) : json;
    } catch {
      return text(value);
    }
  };
  const say = (...given) => {
    let line = '';
    for (let at = 0; at < given.length; at += 1) line += (at === 0 ? '' : ' ') + shown(given[at]);
    print(stringify(line));
  };
  defineProperty(globalThis, 'console', {
    value: freeze({ log: say, info: say, warn: say, error: say, debug: say }),
    writable: true,
    configurable: true,
  });

  const problemOf = (error) => {
    try {
      if (error instanceof NativeError)
        return stringify({ name: text(error.name), message: text(error.message), stack: text(error.stack) });
      return stringify({ message: 'thrown: ' + shown(error) });
    } catch {
      return '{"message":"a value was thrown that cannot be shown"}';
    }
  };
  const end = (isOk, made) => {
    let json;
    try {
      json = stringify(made);
    } catch {
      const message = 'the script ends with a text of ' + made.length + ' characters, and its memory has no room for a copy (code.memory): return less';
      isOk = false;
      json = stringify(stringify({ message }));
    }
    flush();
    finish(isOk, json);
  };
  return {
    flush,
    // The host ends calls. 'given' is JSON: for each its number, whether it has succeeded, and what it has got, if anything.
    settle(given) {
      const settled = parse(given);
      for (let at = 0; at < settled.length; at += 1) {
        const { 0: id, 1: isOk, length } = settled[at];
        const got = length > 2 ? settled[at][2] : undefined;
        const open = waiting.get(id);
        waiting.delete(id);
        if (open !== undefined) {
          if (isOk) open.resolve(got);
          else open.reject(failure(got.message, got.reason, open.stack));
        }
      }
    },
    // The host has begun the script.
    watch(promise) {
      apply(then, promise, [
        (value) => {
          let made;
          try {
            made = value === undefined ? '' : typeof value === 'string' ? value : stringify(value, null, 1);
          } catch (error) {
            end(false, problemOf(error));
            return;
          }
          end(true, made === undefined ? text(value) : made);
        },
        (error) => end(false, problemOf(error)),
      ]);
    },
  };
})`;
