/** Questions to the processes that hold calls, which alone read and write approvals and grants, and signed decisions for one of them. */
import type { Missing } from '@omnibus/admin-api';
import { consoleMode, type Config } from '@omnibus/config';
import type { SealingKeys } from '@omnibus/identity';
import type { z } from 'zod';
import { ApiProblem } from './api-problem.ts';
import { actMs, surveyMs, type Assembly, type Heard } from './assembly.ts';
import { signDecision } from './decision-seal.ts';

export interface CallHoldersOptions {
  readonly assembly: Assembly;
  readonly config: () => Config;
  readonly keys: SealingKeys | undefined;
  /** Whether the bus has other processes, which accept signed decisions only. */
  readonly isShared: boolean;
}

export class CallHolders {
  readonly #options: CallHoldersOptions;

  constructor(options: CallHoldersOptions) {
    this.#options = options;
  }

  /** Why no decision can be sent from this process. */
  get unable(): string | undefined {
    const { config, keys, isShared } = this.#options;
    if (consoleMode(config()) !== 'full') return 'the console may only be looked at here';
    const { auth } = config();
    return isShared && auth !== undefined && auth !== 'none' && keys === undefined
      ? 'this process has no sealing key, so the others do not accept from it who decides'
      : undefined;
  }

  /** The answer of one of them: all have the same. @throws {ApiProblem} `starting` if none answers. */
  async first<Body>(
    about: string,
    args: object,
    shape: z.ZodType<Body>,
  ): Promise<{ readonly process: string; readonly answer: Body; readonly missing: Missing }> {
    const { said, missing }: Heard<Body> = await this.#options.assembly.ask(about, args, shape, surveyMs);
    const [first] = said.toSorted((one, other) => one.process.localeCompare(other.process));
    if (first === undefined)
      throw new ApiProblem(
        'starting',
        'no process with the role session answers, and those hold calls that wait',
        'is one there, of this version, and does it reach NATS? omnibus status says',
      );
    return {
      process: first.process,
      answer: first.body,
      missing: missing.filter(({ role }) => role === 'session' || role === 'all'),
    };
  }

  /** Sends a decision, signed, to one process. @throws {ApiProblem} `conflict` if no decision can be sent from here, or no answer came. */
  async decide<Body>(process: string, about: string, decision: object, shape: z.ZodType<Body>): Promise<Body> {
    const { unable } = this;
    if (unable !== undefined)
      throw new ApiProblem('conflict', unable, 'decide at the console of an edge or of a session worker');
    const { assembly, keys } = this.#options;
    const said = JSON.stringify({ ...decision, at: Date.now() });
    const heard = await assembly.ask(
      about,
      { to: process, said, ...(keys === undefined ? {} : { signature: signDecision(keys, said) }) },
      shape,
      actMs,
    );
    const answer = heard.said.find((each) => each.process === process)?.body;
    if (answer === undefined)
      throw new ApiProblem(
        'conflict',
        'the process that writes it down did not answer: whether it is decided is not known',
        'look at it again',
      );
    return answer;
  }
}
