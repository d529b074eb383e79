/** Options of which only the description differs. */
import { z } from 'zod';
import { durationHint, durationProblem, parseDurationMs } from './duration.ts';

export const nonEmpty = z.string().min(1);
export const optionalText = nonEmpty.optional();
/** Headers, variables and the like. */
export const textMap = z.record(z.string(), z.string()).default({});
export const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http:// or https:// address' });
/** Of a rule, a grant or a guardrail. */
export const ruleId = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, { error: 'expected 1 to 64 characters of letters, digits, ".", "_" and "-"' });
/** Of a token. */
export const scope = z
  .string()
  .regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, { error: 'expected a scope: letters, digits and signs, without spaces' });
export const offByDefault = z.boolean().default(false);
export const onByDefault = z.boolean().default(true);
/** A time in milliseconds. */
export const givenDuration = z
  .union([z.string(), z.number()], { error: `expected ${durationHint}` })
  .refine((value) => durationProblem(value) === undefined, { error: ({ input }) => durationProblem(input) })
  .transform((value) => parseDurationMs(value) as number);
export const duration = (fallback: string) => givenDuration.prefault(fallback);
