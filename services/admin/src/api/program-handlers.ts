/** The operations of the API about programs that users have allowed. Edges have the authorization server; any process can be asked. */
import { userPrograms, type AgentSeen, type ProgramsSeen } from '@omnibus/admin-api';
import type { AuthorizationServer } from '@omnibus/authorization';
import { printable } from '@omnibus/protocol';
import { z } from 'zod';
import type { AllProcesses } from './all-processes.ts';
import { ApiProblem } from './api-problem.ts';
import { actMs, answerMs, surveyMs } from './assembly.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';
import type { Handlers } from './site.ts';

const problem = z.object({ problem: z.string() });
const seen = z.union([userPrograms, problem]);
/** Without a client there was no such consent, or the revocation failed. */
const revoked = problem.partial().extend({ client: z.string().optional() });

/** Runs a part of a question. @returns the problem if it fails, for the operator that waits for the answer. */
async function told(answer: () => Promise<object | undefined>): Promise<object | undefined> {
  try {
    return await answer();
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

export function programQuestions({
  process,
  authorization,
}: Pick<ApiOptions, 'process'> & {
  readonly authorization: () => Pick<AuthorizationServer, 'programsOf' | 'revokeProgram'> | undefined;
}): Readonly<Record<string, Question>> {
  return {
    programs: ({ user }) => told(async () => authorization()?.programsOf(String(user))),
    'programs-revoke': async ({ by, user, id }) => {
      const own = by === process ? authorization() : undefined;
      return own === undefined
        ? undefined
        : told(async () => (await own.revokeProgram(String(user), String(id))) ?? {});
    },
  };
}

/** The agents of a user; with a problem if their file cannot be read. */
async function agentsOfUser(
  agents: () => Promise<readonly AgentSeen[]>,
  names: readonly string[],
): Promise<Pick<ProgramsSeen, 'agents' | 'agentsProblem'>> {
  try {
    const owned = (await agents()).filter(({ owner }) => names.includes(owner));
    return {
      agents: owned.map(({ name, state, lastUse }) => ({ name, state, ...(lastUse === undefined ? {} : { lastUse }) })),
    };
  } catch (error) {
    return { agents: [], agentsProblem: (error as Error).message };
  }
}

/** The programs of a user, as the first process that knows them says. @throws {ApiProblem} */
async function first(
  { assembly }: Pick<AllProcesses, 'assembly'>,
  user: string,
): Promise<{ readonly process: string; readonly body: z.output<typeof userPrograms> }> {
  const { said, missing } = await assembly.ask('programs', { user }, seen, answerMs, surveyMs);
  const problems: string[] = [];
  for (const { process, body } of said) {
    if (!('problem' in body)) return { process, body };
    problems.push(body.problem);
  }
  if (problems[0] !== undefined) throw new ApiProblem('failed', problems[0]);
  if (missing.length > 0)
    throw new ApiProblem(
      'failed',
      `${missing.map(({ process }) => process).join(', ')} did not answer; ask again, or look at the processes`,
    );
  throw new ApiProblem(
    'conflict',
    'no process that answers has an authorization server: the gateway runs one if `auth.server` is configured, in processes that serve clients',
  );
}

export function programHandlers(
  { note }: Pick<ApiOptions, 'note'>,
  all: Pick<AllProcesses, 'assembly'>,
  /** None where no file of agents is configured. */
  agents: () => Promise<readonly AgentSeen[]>,
): Pick<Handlers, 'programs' | 'revokeProgram'> {
  return {
    programs: async ({ query: { user } }) => {
      const { body } = await first(all, user);
      if (!body.isKnown)
        throw new ApiProblem(
          'unknown',
          `no user ${printable(user, 200)} is in the file of users, or has signed in`,
          'name a user as in the file, or as ISSUER|SUBJECT',
        );
      return { ...body, ...(await agentsOfUser(agents, [body.user, user])) };
    },
    revokeProgram: async ({ request, given: id, body: { user } }) => {
      const { process, body } = await first(all, user);
      const args = { by: process, user: body.user, id };
      const { said } = await all.assembly.ask('programs-revoke', args, revoked, answerMs, actMs);
      if (said[0] === undefined)
        throw new ApiProblem(
          'failed',
          'the process that should revoke the program did not answer; look at the programs again',
        );
      const { client, problem: failure } = said[0].body;
      if (client !== undefined) note(request, 'programs.revoke', { user: body.user, client });
      if (failure !== undefined)
        throw new ApiProblem(
          'failed',
          client === undefined
            ? failure
            : `the tokens of ${printable(client, 200)} have ended, and the consent may still be listed: ${failure}`,
        );
      if (client === undefined)
        throw new ApiProblem(
          'unknown',
          `${printable(user, 200)} has allowed no such program now`,
          '"omnibus users show" lists them',
        );
      return { user: body.user, client };
    },
  };
}
