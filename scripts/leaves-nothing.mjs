/** Runs before each file of tests: a file fails that leaves something behind which the next file in its worker would meet. */
import { afterAll, vi } from 'vitest';

const environment = { ...process.env };
const folder = process.cwd();
/** How many listen to each event of the process. A gateway that runs in this process (`test/support/gateway-here.ts`) must hear none after its end. */
const listening = () => new Map(process.eventNames().map((name) => [name, process.listenerCount(name)]));
const heard = listening();

// Registered before those of the file, so that it runs after them.
afterAll(() => {
  const left = [
    ...(vi.isFakeTimers() ? ['a clock that is turned'] : []),
    ...(process.cwd() === folder ? [] : ['another working directory']),
    ...(process.exitCode === undefined ? [] : ['an exit status']),
    ...[...new Set([...Object.keys(environment), ...Object.keys(process.env)])]
      .filter((name) => process.env[name] !== environment[name])
      .map((name) => `the variable ${name}`),
    ...[...listening()]
      .filter(([name, count]) => count > (heard.get(name) ?? 0))
      .map(([name]) => `a listener of the process: ${String(name)}`),
  ];
  if (left.length > 0) throw new Error(`this file leaves behind for the next one: ${left.join(', ')}`);
});
