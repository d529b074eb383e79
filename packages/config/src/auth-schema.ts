/** The part of the configuration that says how callers are known. */
import { z } from 'zod';

const ways = z.strictObject({
  keys: z.strictObject({
    file: z.string().min(1).describe('File of the API keys that `omnibus keys` makes, lists and revokes; it holds digests only and is followed.'),
  }).optional().describe('API keys: `Authorization: Bearer omk_…`.'),
}).refine(({ keys }) => keys !== undefined, { error: 'expected a way to be known, such as `keys: { file: keys.yaml }`, or "none"' });

export const authSchema = z.union([z.literal('none'), ways]);
