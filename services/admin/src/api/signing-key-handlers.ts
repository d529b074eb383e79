/** The operations of the API about the signing keys of the gateway's own authorization server. Edges have them; any process can be asked. */
import { signingKeysSeen } from '@omnibus/admin-api';
import type { AllProcesses } from './all-processes.ts';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';
import type { Handlers } from './site.ts';

/** @returns the question to all processes; only the process that the question names makes another key. */
export function signingKeyQuestions({
  process,
  authorization,
}: Pick<ApiOptions, 'process' | 'authorization'>): Readonly<Record<string, Question>> {
  return {
    'signing-keys': () => authorization()?.signingKeys(),
    'signing-keys-rotate': async ({ by, atOnce }) => {
      const own = by === process ? authorization() : undefined;
      await own?.rotateKeys(atOnce === true);
      return own?.signingKeys();
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
    const { said } = await all.assembly.ask('signing-keys', {}, signingKeysSeen);
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
      const { process, body } = await first();
      const next = body.keys.find(({ state }) => state === 'next');
      if (next !== undefined && !atOnce)
        throw new ApiProblem('conflict', `the next key is published already, and signs from ${String(next.at)} on`);
      const { said } = await all.assembly.ask('signing-keys-rotate', { by: process, atOnce }, signingKeysSeen);
      if (said[0] === undefined)
        throw new ApiProblem('failed', 'the process that should make the key did not answer; look at the keys again');
      note(request, 'signing_keys.rotate', { at_once: atOnce });
      return said[0].body;
    },
  };
}
