/** One script in the thread of the product, with a list of calls in place of the gateway. */
import { ScriptHost } from './script-host.ts';
import type { SettledCall } from '../../call/inner-stream.ts';
import type { Script, ScriptEnd } from './script-messages.ts';

export const limits = {
  // Much more than they need: the tests of this bound set a smaller one, and a busy machine stalls a script.
  cpuMs: 30_000,
  memoryBytes: 16 * 1024 * 1024,
  calls: 20,
  argumentLength: 10_000,
  openLength: 30_000,
  outputLength: 2_000,
};
const hosts: ScriptHost[] = [];
export function endAll(): void {
  for (const host of hosts.splice(0)) host.kill();
}

type Answer = (args: string) => Omit<SettledCall, 'id'>;

export interface Ran extends ScriptEnd {
  readonly calls: readonly string[];
}

/** A script as its thread gets it. */
export const scriptOf = (code: string, more: Partial<Script['limits']> = {}): Script => ({
  code,
  names: JSON.stringify({ files: { read: 1 } }),
  now: Date.UTC(2030, 0, 1),
  seed: 1,
  limits: { ...limits, ...more },
});

/** @param answer of each call. */
export function ran(
  code: string,
  {
    answer = (args) => ({ isOk: true, text: args }),
    ...more
  }: Partial<Script['limits']> & { readonly answer?: Answer } = {},
): Promise<Ran> {
  const calls: string[] = [];
  return new Promise((resolve) => {
    const host: ScriptHost = new ScriptHost(scriptOf(code, more), {
      begun: () => undefined,
      called: ({ id, args }) => {
        calls.push(args);
        host.settle([{ id, ...answer(args) }]);
      },
      ended: (end) => resolve({ ...end, calls }),
    });
    hosts.push(host);
  });
}
