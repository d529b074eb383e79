/** Starts a program that serves an address of its own, and waits until something answers there. */
import { Child, type ChildOptions } from './child-process.ts';
import { untilPortOpen } from './port.ts';

export interface UrlProgramOptions {
  readonly child: ChildOptions;
  readonly url: string;
  readonly openTimeoutMs: number;
  /** The program has ended, with the reason. */
  readonly onEnd: (problem: string) => void;
  readonly isClosed: () => boolean;
}

/** Resolves when something answers at the address. @throws {Error} in words, when nothing does in time. */
export async function startUrlProgram({
  child: options,
  url,
  openTimeoutMs,
  onEnd,
  isClosed,
}: UrlProgramOptions): Promise<Child> {
  const child = new Child(options);
  // The program's output is read and dropped, so that the program never waits because a pipe is full.
  child.onOutput(() => undefined);
  let problem: string | undefined;
  void child.ended.then((reason) => {
    problem = reason;
    onEnd(reason);
  });
  if (await untilPortOpen({ url, limitMs: openTimeoutMs, isWanted: () => problem === undefined && !isClosed() }))
    return child;
  if (problem !== undefined) throw new Error(problem);
  void child.stop();
  throw new Error(`the program was started, but nothing answers at ${url}`);
}
