/** The operations of the API about programs that users have allowed. Edges have the authorization server; any process can be asked. */
import { userPrograms, type AgentSeen } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { z } from 'zod';
import type { AllProcesses } from './all-processes.ts';
import { ApiProblem } from './api-problem.ts';
import { actMs, answerMs, surveyMs } from './assembly.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';
import type { Handlers } from './site.ts';

const revoked = z.object({ client: z.string().optional() });

export function programQuestions({
  process,
  authorization,
}: Pick<ApiOptions, 'process' | 'authorization'>): Readonly<Record<string, Question>> {
  return {
    programs: async ({ user }) => authorization()?.programsOf(String(user)),
    'programs-revoke': async ({ by, user, id }) => {
      const own = by === process ? authorization() : undefined;
      return own === undefined ? undefined : { client: await own.revokeProgram(String(user), String(id)) };
    },
  };
}

export function programHandlers(
  { note }: Pick<ApiOptions, 'note'>,
  all: Pick<AllProcesses, 'assembly'>,
  /** None where no file of agents is configured. */
  agents: () => Promise<readonly AgentSeen[]>,
): Pick<Handlers, 'programs' | 'revokeProgram'> {
  const first = async (
    user: string,
  ): Promise<{ readonly process: string; readonly body: z.output<typeof userPrograms> }> => {
    const { said } = await all.assembly.ask('programs', { user }, userPrograms, answerMs, surveyMs);
    if (said[0] === undefined)
      throw new ApiProblem(
        'conflict',
        'no process that answers has an authorization server: the gateway runs one if `auth.server` is configured, in processes that serve clients',
      );
    return said[0];
  };
  return {
    programs: async ({ query: { user } }) => {
      const { body } = await first(user);
      if (!body.isKnown)
        throw new ApiProblem(
          'unknown',
          `no user ${printable(user, 200)} is in the file of users, or has signed in`,
          'name a user as in the file, or as ISSUER|SUBJECT',
        );
      const owned = (await agents()).filter(({ owner }) => owner === body.user || owner === user);
      return {
        ...body,
        agents: owned.map(({ name, state, lastUse }) => ({
          name,
          state,
          ...(lastUse === undefined ? {} : { lastUse }),
        })),
      };
    },
    revokeProgram: async ({ request, given: id, body: { user } }) => {
      const { process, body } = await first(user);
      const args = { by: process, user: body.user, id };
      const { said } = await all.assembly.ask('programs-revoke', args, revoked, answerMs, actMs);
      const client = said[0]?.body.client;
      if (client === undefined)
        throw new ApiProblem(
          'unknown',
          `${printable(user, 200)} has allowed no such program now`,
          '"omnibus users show" lists them',
        );
      note(request, 'programs.revoke', { user: body.user, client });
      return { user: body.user, client };
    },
  };
}
