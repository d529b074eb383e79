/** The operations of the API that show the keys of the vault and switch to another one: in all processes with the vault, or in none. */
import { vaultReport } from '@omnibus/admin-api';
import { ApiProblem } from './api-problem.ts';
import { surveyMs, type Assembly, type Heard } from './assembly.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';
import { rotated, type ShownVault } from './vault-desk.ts';

/** Together with the time for asking all processes, less than the command line waits. */
const rotateMs = 6_000;

interface VaultHandlersOptions extends Pick<ApiOptions, 'note'> {
  /** @throws {ApiProblem} while the process is starting. */
  readonly assembly: () => Assembly;
}

export function vaultHandlers({ assembly, note }: VaultHandlersOptions): Pick<Handlers, 'vault' | 'rotateVault'> {
  const ask = async (): Promise<Heard<ShownVault> & { readonly first: Heard<ShownVault>['said'][number] }> => {
    const { said, missing } = await assembly().ask('vault', {}, vaultReport, surveyMs);
    const [first] = said;
    if (first === undefined)
      throw new ApiProblem(
        'conflict',
        'no process has a vault: it is opened for the first server with credentials: { kind: oauth }, by processes of the role backend',
      );
    return { said, first, missing: missing.filter(mayHaveVault) };
  };
  return {
    vault: async () => {
      const { first, said, missing } = await ask();
      return {
        ...first.body,
        processes: said.map(({ process, body }) => ({ process, keys: body.keys.map(({ id }) => id) })),
        missing: missing.map(({ process }) => process),
      };
    },
    rotateVault: async ({ request, body: { key: given } }) => {
      const { first, ...heard } = await ask();
      const key = chosenKey(first.body, given);
      const problem = problemOf(heard, key);
      if (problem !== undefined) throw new ApiProblem('conflict', problem);
      const { said, missing } = await assembly().ask(
        'vault-rotate',
        key === undefined ? {} : { key },
        rotated,
        rotateMs,
      );
      const done = {
        key: said[0]?.body.key ?? key ?? '',
        renewed: said.reduce((sum, each) => sum + each.body.renewed, 0),
        lost: Math.max(0, ...said.map((each) => each.body.lost)),
        isGoingOn: said.length === 0 || missing.some(mayHaveVault) || said.some((each) => each.body.isGoingOn),
      };
      note(request, 'vault.rotate', { key: done.key, renewed: done.renewed, lost: done.lost });
      return done;
    },
  };
}

const mayHaveVault = ({ role }: { readonly role: string }): boolean => role !== 'edge' && role !== 'session';

/** @returns undefined where the gateway makes the key itself. */
function chosenKey({ makesKeys, keys }: ShownVault, given: string | undefined): string | undefined {
  return given ?? (makesKeys ? undefined : keys[0]?.id);
}

/** Why entries cannot be encrypted under a key in all processes now; undefined when they can. */
function problemOf({ said, missing }: Heard<ShownVault>, key: string | undefined): string | undefined {
  if (missing.length > 0)
    return `${missing.map(({ process }) => process).join(', ')} does not answer, and may not have the key: what the others encrypt under it would open for nobody there`;
  if (key === undefined) return undefined;
  const [first] = said;
  const without = said.filter(({ body }) => !body.keys.some(({ id }) => id === key));
  if (without.length > 0)
    return `${without.map(({ process }) => process).join(', ')} has no key ${JSON.stringify(key)}: add it to vault.keys of all backend workers first, and restart those that take it from their environment`;
  const check = first?.body.keys.find(({ id }) => id === key)?.check;
  const other = said.find(({ body }) => body.keys.find(({ id }) => id === key)?.check !== check);
  if (other !== undefined)
    return `the key ${JSON.stringify(key)} is another one in ${other.process} than in ${first?.process ?? ''}: give both the same`;
  if (first?.body.keys.length === 1 && first.body.current === key && first.body.lostCount === 0)
    return `${JSON.stringify(key)} is the only key of the vault, and everything is under it: add another one in front of it to vault.keys, such as "2027a:\${VAULT_KEY_2027A}"`;
  return undefined;
}
