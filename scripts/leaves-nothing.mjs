/**
 * Runs before each file of tests: a file fails that leaves something behind which the next file in its worker would meet. Timers that are left behind end with
 * the file: a deadline that is far away sets a timer again and again, and if a later file turns its clock, each turn of a minute would run hundreds of them.
 * Spies and a turned clock end with it too.
 */
import { promisify } from 'node:util';
import { afterAll, vi } from 'vitest';

const environment = { ...process.env };
const folder = process.cwd();
/** How many listen to each event of the process. A gateway that runs in this process (`test/support/gateway-here.ts`) must hear none after its end. */
const listening = () => new Map(process.eventNames().map((name) => [name, process.listenerCount(name)]));
const heard = listening();

/** Timers of this file that have not fired. */
const timers = new Set();
const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
const recorded = (set, isOnce) => {
  const record = (callback, ...rest) => {
    const fire = (...args) => {
      if (isOnce) timers.delete(timer);
      return callback(...args);
    };
    const timer = set(typeof callback === 'function' ? fire : callback, ...rest);
    // undici has one timer for all its clients, which later files share.
    if (callback?.name !== 'onTick') timers.add(timer);
    return timer;
  };
  return Object.assign(record, { [promisify.custom]: set[promisify.custom] });
};
const forgetting = (clear) => (timer) => {
  timers.delete(timer);
  clear(timer);
};
const clocks = {
  setTimeout: recorded(setTimeout, true),
  setInterval: recorded(setInterval, false),
  clearTimeout: forgetting(clearTimeout),
  clearInterval: forgetting(clearInterval),
};
Object.assign(globalThis, clocks);

/** What all files of a worker share, whatever they import, and no library replaces. */
const everywhere = new Map(
  [Array, ArrayBuffer, Buffer, Date, Function, Map, Number, Object, Promise, RegExp, Set, String, Uint8Array, WeakMap]
    .concat([AbortController, AbortSignal, EventTarget, Performance, URL])
    .flatMap((made) => [
      [made.name, made],
      [`${made.name}.prototype`, made.prototype],
    ]),
)
  .set('JSON', JSON)
  .set('Math', Math)
  .set('performance', performance);
/** The functions that these have of their own; reading no property that is made on demand. */
const functions = () =>
  new Map(
    [...everywhere].flatMap(([name, owner]) =>
      Reflect.ownKeys(owner)
        .map((key) => ({ owner, key, descriptor: Reflect.getOwnPropertyDescriptor(owner, key) }))
        .filter(({ descriptor }) => typeof descriptor?.value === 'function')
        .map((found) => [`${name}.${String(found.key)}`, found]),
    ),
  );
const known = functions();

// Registered before those of the file, so that it runs after them.
afterAll(() => {
  for (const timer of timers) clearTimeout(timer);
  // Spies first: one on a function of a turned clock would put that clock back.
  vi.restoreAllMocks();
  const isTurned = vi.isFakeTimers();
  vi.useRealTimers();
  const left = [
    ...(isTurned ? ['a clock that is turned'] : []),
    ...Object.keys(clocks)
      .filter((name) => globalThis[name] !== clocks[name])
      .map((name) => `another ${name}`),
    ...(process.cwd() === folder ? [] : ['another working directory']),
    ...(process.exitCode === undefined ? [] : ['an exit status']),
    ...[...new Set([...Object.keys(environment), ...Object.keys(process.env)])]
      .filter((name) => process.env[name] !== environment[name])
      .map((name) => `the variable ${name}`),
    ...[...listening()]
      .filter(([name, count]) => count > (heard.get(name) ?? 0))
      .map(([name]) => `a listener of the process: ${String(name)}`),
  ];
  const now = functions();
  for (const name of new Set([...known.keys(), ...now.keys()])) {
    const [was, is] = [known.get(name), now.get(name)];
    if (was?.descriptor.value === is?.descriptor.value) continue;
    left.push(`another ${name}`);
    // The next file shall not fail for this one.
    if (was === undefined) Reflect.deleteProperty(is.owner, is.key);
    else Reflect.defineProperty(was.owner, was.key, was.descriptor);
  }
  Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval });
  if (left.length > 0) throw new Error(`this file leaves behind for the next one: ${left.join(', ')}`);
});
