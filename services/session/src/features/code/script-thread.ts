/** The thread that runs one script. It ends with the script; the worker ends it where the script does not end itself. */
import { parentPort, workerData } from 'node:worker_threads';
import { Sandbox } from './sandbox.ts';
import type { FromScript, Script, ToScript } from './script-messages.ts';

/**
 * Makes local time that of UTC in this thread. The engine asks the thread for local time, and a script may not see where the machine is.
 */
function forgetZone(): void {
  const { prototype } = Date;
  for (const part of ['Day', 'Date', 'FullYear', 'Hours', 'Minutes', 'Month', 'Seconds'] as const)
    Object.defineProperty(prototype, `get${part}`, { value: prototype[`getUTC${part}`] });
  Object.defineProperty(prototype, 'getTimezoneOffset', { value: () => 0 });
}

/** Left out if the file is loaded outside a thread. */
const port = parentPort;
if (port !== null) {
  forgetZone();
  const sandbox = Sandbox.run(workerData as Script, (messages: readonly FromScript[]) => port.postMessage(messages));
  port.on('message', ({ settled }: ToScript) => void sandbox.then((running) => running.settle(settled)));
}
