/** A program that serves an address of its own: started, and waited for until something answers there. */
import { connect } from 'node:net';
import { Child, type ChildOptions } from './child-process.ts';

const portProbeMs = 100;

export interface UrlProgramOptions {
  readonly child: ChildOptions;
  readonly url: string;
  readonly openTimeoutMs: number;
  /** The program ended, and why. */
  readonly onEnd: (problem: string) => void;
  readonly isClosed: () => boolean;
}

/** Resolves when something answers at the address. @throws {Error} for a person, when nothing does in time. */
export async function startUrlProgram({ child: options, url, openTimeoutMs, onEnd, isClosed }: UrlProgramOptions): Promise<Child> {
  const child = new Child(options);
  // The program's output is read and thrown away, so that the program never waits for a full pipe.
  child.onOutput(() => undefined);
  let problem: string | undefined;
  void child.ended.then((reason) => {
    problem = reason;
    onEnd(reason);
  });
  const { hostname, port } = new URL(url);
  const giveUpAt = performance.now() + openTimeoutMs;
  while (!(await isPortOpen(hostname, Number(port || 80)))) {
    if (problem !== undefined) throw new Error(problem);
    if (performance.now() > giveUpAt || isClosed()) {
      void child.stop();
      throw new Error(`the program was started, but nothing answers at ${url}`);
    }
  }
  return child;
}

/** Connects once. @returns whether that worked; when it did not, after a short wait. */
function isPortOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      setTimeout(() => resolve(false), portProbeMs);
    });
    // One that neither accepts nor refuses must not hold up the limit.
    socket.setTimeout(portProbeMs * 10, () => socket.destroy(new Error('no answer')));
  });
}
