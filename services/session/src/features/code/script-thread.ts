/** The thread that runs one script. It ends with the script; the worker ends it where the script does not end itself. */
import { parentPort, workerData } from 'node:worker_threads';
import { Sandbox } from './sandbox.ts';
import type { FromScript, Script, ToScript } from './script-messages.ts';

const sandbox = Sandbox.run(workerData as Script, (message: FromScript) => parentPort?.postMessage(message));
parentPort?.on('message', ({ settled }: ToScript) => void sandbox.then((running) => running.settle(settled)));
