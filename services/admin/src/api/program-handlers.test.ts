/** What operators read about programs of users when a process fails, or does not answer. */
import { beforeEach, expect, it } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, type AdminAnswer, type AdminQuestion, type JsonObject } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { ApiProblem } from './api-problem.ts';
import { Assembly } from './assembly.ts';
import { programHandlers, programQuestions } from './program-handlers.ts';
import type { ApiRequest } from './site.ts';

const process = newWorkerId('edge');
const ann = { user: 'ann', isKnown: true, groups: [], programs: [] };
const authorization = {
  programsOf: () => Promise.resolve(ann),
  revokeProgram: (): Promise<{ client: string; problem?: string } | undefined> => Promise.resolve({ client: 'code' }),
};
let own: typeof authorization;
/** Questions that the process with the authorization server does not answer in time. */
let unanswered: readonly string[];
let noted: string[];
let agents: () => Promise<readonly []>;

beforeEach(() => {
  [own, unanswered, noted] = [{ ...authorization }, [], []];
  agents = () => Promise.resolve([]);
});

function handlers() {
  const questions = programQuestions({ process, authorization: () => own });
  const assembly = new Assembly({
    bus: new MemoryBus(({ what }) => expect.fail(what)),
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    log: createLogger({ level: 'silent', format: 'json' }),
    answer: async ({ about, args }: AdminQuestion): Promise<AdminAnswer> => {
      if (unanswered.includes(about))
        return {
          process: newWorkerId('session'),
          role: 'session',
          workers: [],
          known: [{ worker: process, role: 'edge' }],
        };
      const frame = { process, role: 'edge', workers: [process], known: [] };
      return { ...frame, body: (await questions[about]?.(args)) as JsonObject };
    },
  });
  return programHandlers({ note: (_request, act) => void noted.push(act) }, { assembly }, () => agents());
}

const show = () => handlers().programs({ query: { user: 'ann' } } as ApiRequest<'programs'>);
const revoke = () => handlers().revokeProgram({ given: 'p1', body: { user: 'ann' } } as ApiRequest<'revokeProgram'>);

it('a revocation is answered with its client, and is on record', async () => {
  expect(await revoke()).toEqual({ user: 'ann', client: 'code' });
  expect(noted).toEqual(['programs.revoke']);
});

it('a program that the user has not allowed is unknown', async () => {
  own.revokeProgram = () => Promise.resolve(undefined);
  await expect(revoke()).rejects.toMatchObject({ reason: 'unknown' });
  expect(noted).toEqual([]);
});

it.each([
  ['a revocation', revoke, 'programs-revoke', 'look at the programs again'],
  ['a list', show, 'programs', 'ask again'],
])('%s that fails says why, and one that no process answers says what to do', async (_what, act, about, advice) => {
  const failing = () => Promise.reject(new Error('the store is away'));
  own[about === 'programs' ? 'programsOf' : 'revokeProgram'] = failing;
  await expect(act()).rejects.toMatchObject({ reason: 'failed', message: 'the store is away' });
  unanswered = [about];
  await expect(act()).rejects.toMatchObject({
    reason: 'failed',
    message: expect.stringContaining(`did not answer; ${advice}`) as string,
  });
  expect(noted).toEqual([]);
});

it('a revocation whose consent cannot be removed afterwards is on record', async () => {
  own.revokeProgram = () => Promise.resolve({ client: 'code', problem: 'the store is away' });
  await expect(revoke()).rejects.toMatchObject({
    reason: 'failed',
    message: 'the tokens of code have ended, and the consent may still be listed: the store is away',
  });
  expect(noted).toEqual(['programs.revoke']);
});

it('a file of agents that cannot be read hides no programs', async () => {
  expect(await show()).toEqual({ ...ann, agents: [] });
  agents = () => Promise.reject(new ApiProblem('invalid', 'agents.yaml: line 3'));
  expect(await show()).toEqual({ ...ann, agents: [], agentsProblem: 'agents.yaml: line 3' });
});
