/** The operations of the API about the signing keys of the gateway's own authorization server. Edges have them; any process can be asked. */
import { signingKeysSeen } from '@omnibus/admin-api';
import type { AuthorizationServer } from '@omnibus/authorization';
import { z } from 'zod';
import type { AllProcesses } from './all-processes.ts';
import { ApiProblem } from './api-problem.ts';
import { actMs, answerMs, surveyMs } from './assembly.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';
import type { Handlers } from './site.ts';

/** The answer of the process that should make a key. */
const rotated = z.union([
  signingKeysSeen,
  z.object({ problem: z.string(), reason: z.enum(['conflict', 'failed']).default('failed') }),
]);

/** @returns the question to all processes; only the process that the question names makes another key. */
export function signingKeyQuestions({
  process,
  authorization,
}: Pick<ApiOptions, 'process'> & {
  readonly authorization: () => Pick<AuthorizationServer, 'signingKeys' | 'rotateKeys'> | undefined;
}): Readonly<Record<string, Question>> {
  return {
    'signing-keys': () => authorization()?.signingKeys(),
    'signing-keys-rotate': async ({ by, atOnce }) => {
      const own = by === process ? authorization() : undefined;
      try {
        await own?.rotateKeys(atOnce === true);
        return own?.signingKeys();
      } catch (error) {
        const { kind, message } = error as Error & { readonly kind?: string };
        return { problem: message, reason: kind === 'conflict' ? 'conflict' : 'failed' };
      }
    },
  };
}

export function signingKeyHandlers(
  { note }: Pick<ApiOptions, 'note'>,
  all: Pick<AllProcesses, 'assembly'>,
): Pick<Handlers, 'signingKeys' | 'rotateSigningKeys'> {
  const first = async (): Promise<{
    readonly process: string;
    readonly body: ReturnType<typeof signingKeysSeen.parse>;
  }> => {
    const { said } = await all.assembly.ask('signing-keys', {}, signingKeysSeen, answerMs, surveyMs);
    if (said[0] === undefined)
      throw new ApiProblem(
        'conflict',
        'no process that answers has an authorization server: the gateway runs one if `auth.server` is configured, in processes that serve clients',
      );
    return said[0];
  };
  return {
    signingKeys: async () => (await first()).body,
    rotateSigningKeys: async ({ request, body: { atOnce } }) => {
      const { process } = await first();
      const { said } = await all.assembly.ask('signing-keys-rotate', { by: process, atOnce }, rotated, answerMs, actMs);
      const made = said[0]?.body;
      if (made === undefined)
        throw new ApiProblem('failed', 'the process that should make the key did not answer; look at the keys again');
      if ('problem' in made) throw new ApiProblem(made.reason, made.problem);
      note(request, 'signing_keys.rotate', { at_once: atOnce });
      return made;
    },
  };
}
