/** The operations about the keys with which the gateway's own authorization server signs tokens. */
import { z } from 'zod';

const signingKey = z.object({
  id: z.string().describe('The `kid` of tokens.'),
  created: z.string(),
  state: z
    .enum(['next', 'signing', 'kept'])
    .describe('next: published, and signs from `at` on. signing: signs now. kept: verifies only, until `at`.'),
  at: z.string().optional().describe('ISO 8601.'),
});
/** Also the answer of each process that has the keys. */
export const signingKeysSeen = z.object({ keys: z.array(signingKey) });
export type SigningKeysSeen = z.output<typeof signingKeysSeen>;

export const signingKeyOperations = {
  signingKeys: {
    method: 'get',
    path: '/signing-keys',
    summary: "The keys with which the gateway's own authorization server signs tokens.",
    answer: signingKeysSeen,
  },
  rotateSigningKeys: {
    method: 'post',
    path: '/signing-keys',
    summary:
      'Makes another key. It signs in an hour, when all verifiers have it, and the old one verifies for a day more.',
    body: z.strictObject({
      atOnce: z
        .boolean()
        .default(false)
        .describe('The new key signs at once, and the others are removed: all tokens end. For a key that others know.'),
    }),
    answer: signingKeysSeen,
    isRepeatable: false,
  },
} as const;
