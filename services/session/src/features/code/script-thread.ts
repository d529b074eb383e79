/** The thread that runs one script. It ends with the script; the worker ends it where the script does not end itself. */
import { parentPort, workerData } from 'node:worker_threads';
import { Sandbox } from './sandbox.ts';
import type { FromScript, Script, ToScript } from './script-messages.ts';

/** Left out if the file is loaded outside a thread. */
const port = parentPort;
if (port !== null) {
  const sandbox = Sandbox.run(workerData as Script, (message: FromScript) => port.postMessage(message));
  port.on('message', ({ settled }: ToScript) => void sandbox.then((running) => running.settle(settled)));
}
