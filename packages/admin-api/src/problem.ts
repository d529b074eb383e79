/** The errors of the API. */
import { z } from 'zod';

/** Error codes for programs, each with its HTTP status. */
export const problemStatus = {
  invalid: 400,
  unauthenticated: 401,
  host: 403,
  origin: 403,
  header: 403,
  mode: 403,
  forbidden: 403,
  unknown: 404,
  method: 405,
  conflict: 409,
  large: 413,
  reused: 422,
  busy: 429,
  failed: 500,
  starting: 503,
} as const;
export type ProblemReason = keyof typeof problemStatus;

export const problem = z.object({
  reason: z.enum(Object.keys(problemStatus) as [ProblemReason, ...ProblemReason[]]).describe('For programs.'),
  problem: z.string().describe('What is wrong, for people.'),
  advice: z.string().optional().describe('What to do.'),
});
export type Problem = z.output<typeof problem>;
