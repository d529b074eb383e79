/** The operations about the programs that users have allowed to act for them at the gateway's own authorization server. */
import { z } from 'zod';

const program = z.object({
  id: z.string().describe('Names the consent, and opens nothing.'),
  client: z.string(),
  name: z.string().optional().describe('The name that the program gives itself.'),
  hosts: z.array(z.string()).describe('To which its answers go.'),
  scopes: z.array(z.string()),
  resources: z.array(z.string()),
  since: z.string().describe('ISO 8601.'),
  lastUse: z.string().describe('The day of its last refresh.'),
});
export type ProgramSeen = z.output<typeof program>;
/** Also the answer of each process that has the authorization server. */
export const userPrograms = z.object({
  user: z.string().describe('The name in the file of users, or `ISSUER|SUBJECT`.'),
  isKnown: z.boolean().describe('Whether the user is in the file, or has signed in.'),
  groups: z.array(z.string()),
  programs: z.array(program).describe('The latest first; 100 at most.'),
});
const programsSeen = userPrograms.extend({
  agents: z
    .array(z.object({ name: z.string(), state: z.string(), lastUse: z.string().optional() }))
    .describe('Agents that the user owns.'),
  agentsProblem: z.string().optional().describe('Why no agents are shown: their file cannot be read.'),
});
export type ProgramsSeen = z.output<typeof programsSeen>;

const user = z.string().min(1).max(600);

export const programOperations = {
  programs: {
    method: 'get',
    path: '/programs',
    summary: 'The programs that a user has allowed to act for them, with their last use, and the agents of the user.',
    answer: programsSeen,
    query: z.object({ user: user.describe('The name in the file of users, or `ISSUER|SUBJECT`.') }),
  },
  revokeProgram: {
    method: 'post',
    path: '/programs/{id}',
    summary: 'Revokes the consent of a user to a program: its tokens end at once, in every process.',
    body: z.strictObject({ user }),
    answer: z.object({ user: z.string(), client: z.string() }),
  },
} as const;
