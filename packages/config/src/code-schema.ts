/** The schema of `code`: bounds on scripts that models send to `run_code` (`listing: code`, docs/how-to/code-mode.md). */
import { z } from 'zod';
import { duration } from './plain-options.ts';

const count = (fallback: number) => z.int().positive().default(fallback);

export const codeSchema = z.strictObject({
  timeout: duration('5m').describe(
    'A script is ended after this time. The time does not pass while a call waits for a user, an approval or another check before it is sent.',
  ),
  cpu: duration('5s').describe('Computing time of one script, without the time of its calls.'),
  memory: z
    .int()
    .min(4 * 1024 * 1024)
    .max(1024 * 1024 * 1024)
    .default(64 * 1024 * 1024)
    .describe('Bytes of memory of one script.'),
  calls: count(200).describe('Calls of tools that one script may make.'),
  callsAtOnce: count(16).describe('Calls of one script that run at the same time; further ones wait.'),
  refusals: count(10).describe(
    'A script is ended when the gateway has refused this number of its calls: by a rule, a guardrail, a limit, an approval, or because there is no such tool.',
  ),
  outputLength: count(100_000).describe(
    'Characters of the result of a script, and of all that it prints. More is cut.',
  ),
  runs: count(16).describe('Scripts that one session worker runs at the same time.'),
  runsPerCaller: count(4).describe('Scripts that one session worker runs for one caller at the same time.'),
});
