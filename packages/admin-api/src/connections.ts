/** What users have connected to servers by signing in there, as the API shows it. */
import { z } from 'zod';

const connectionRow = z.object({
  id: z.string().describe('`SERVER|PRINCIPAL`, by which it is revoked.'),
  server: z.string(),
  host: z.string().describe('Of the server; empty where the connection cannot be decrypted.'),
  principal: z.string(),
  owner: z
    .string()
    .optional()
    .describe('Name of the user; left out where callers are not authenticated, and where it is not known.'),
  issuer: z.string().describe('That gave the tokens.'),
  scope: z.string().optional(),
  since: z.string().optional().describe('ISO 8601; left out where it is not known.'),
  state: z
    .enum(['connected', 'signed-out', 'unreadable'])
    .describe(
      '`signed-out`: its tokens were refused, and the user is asked to sign in again. `unreadable`: a key of the vault is missing.',
    ),
});
export type ConnectionSeen = z.output<typeof connectionRow>;

export const connections = z.object({
  connections: z.array(connectionRow).describe('The first ones, by server.'),
  total: z.int().nonnegative(),
});
export type Connections = z.output<typeof connections>;

export const connectionRevoked = z.object({
  revoked: z.string(),
  isRevokedAtIssuer: z
    .boolean()
    .optional()
    .describe('Left out where the issuer takes no tokens back, or could not be asked.'),
  wasUnreadable: z.boolean().optional().describe('Its issuer was not asked, since a key of the vault is missing.'),
});
export type ConnectionRevoked = z.output<typeof connectionRevoked>;

export const forgotten = z.object({
  count: z.number(),
  notRevoked: z.number().describe('How many of them their issuers did not take back.'),
});
export const userGone = z.strictObject({
  user: z.string().min(1).max(255).describe('The subject of the user.'),
  issuer: z.string().min(1).max(512).optional().describe('Needed where several issuers have a user of this name.'),
});
