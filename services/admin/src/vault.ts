/** The requests of the admin port that show the keys of the vault and switch to another one: in all processes with the vault, or in none. */
import type { Audit } from '@omnibus/audit';
import { json, type AdminAnswer, type AdminRoute, type Logger, type Metrics } from '@omnibus/telemetry';
import { z } from 'zod';
import type { AdminAccess } from './access.ts';
import { recordAct } from './act-records.ts';
import { actsCounted, read } from './acts.ts';
import { surveyMs, type Assembly, type Heard } from './api/assembly.ts';
import { rotated, vaultReport, type ShownVault } from './api/vault-desk.ts';

export interface VaultRoutesOptions {
  readonly access: AdminAccess;
  /** Undefined while the process is starting. */
  readonly assembly: () => Assembly | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined while the process is starting, and where there is no audit. */
  readonly audit: () => Audit | undefined;
}

/** The answer for `omnibus vault`. */
export interface VaultAnswer extends ShownVault {
  /** Processes that have the vault, with the names of their keys. */
  readonly processes: readonly { readonly process: string; readonly keys: readonly string[] }[];
  /** Processes that may have it and have not answered. */
  readonly missing: readonly string[];
}

export interface RotateAnswer {
  readonly key: string;
  readonly renewed: number;
  readonly lost: number;
  readonly isGoingOn: boolean;
}

const wanted = z.strictObject({ key: z.string().min(1).max(40).optional() });
/** Together with the time for asking all processes, less than the command line waits. */
const rotateMs = 6_000;

export function vaultRoutes({ access, assembly, log, metrics, audit }: VaultRoutesOptions): readonly AdminRoute[] {
  const act = actsCounted(metrics);
  const ask = async (): Promise<Heard<ShownVault>> => {
    const found = assembly();
    if (found === undefined) throw new Error('the process is starting, and has no bus yet');
    const heard = await found.ask('vault', {}, vaultReport, surveyMs);
    return { ...heard, missing: heard.missing.filter(({ role }) => role !== 'edge' && role !== 'session') };
  };
  return [
    act({ name: 'vault', method: 'GET', act: 'vault.status' }, async () => {
      const { said, missing } = await ask();
      const [first] = said;
      if (first === undefined) return nowhere;
      const answer: VaultAnswer = {
        ...first.body,
        processes: said.map(({ process, body }) => ({ process, keys: body.keys.map(({ id }) => id) })),
        missing: missing.map(({ process }) => process),
      };
      return json(200, answer);
    }),
    act({ name: 'vault', method: 'POST', act: 'vault.rotate' }, async ({ request, body }) => {
      const given = read(wanted, body).key;
      const heard = await ask();
      const [first] = heard.said;
      if (first === undefined) return nowhere;
      const key = chosenKey(first.body, given);
      const problem = problemOf(heard, key);
      if (problem !== undefined) return { status: 409, text: `${problem}\n` };
      const { said, missing } = await (assembly() as Assembly).ask(
        'vault-rotate',
        key === undefined ? {} : { key },
        rotated,
        rotateMs,
      );
      const done: RotateAnswer = {
        key: said[0]?.body.key ?? key ?? '',
        renewed: said.reduce((sum, each) => sum + each.body.renewed, 0),
        lost: Math.max(0, ...said.map((each) => each.body.lost)),
        isGoingOn:
          said.length === 0 ||
          missing.some(({ role }) => role !== 'edge' && role !== 'session') ||
          said.some((each) => each.body.isGoingOn),
      };
      const details = { key: done.key, renewed: done.renewed, lost: done.lost };
      log.warn(
        { act: 'vault.rotate', by: access.of(request).name, address: request.socket.remoteAddress, ...details },
        'an act at the admin port',
      );
      recordAct(audit(), access.of(request), request, 'vault.rotate', { outcome: 'ok', details });
      return json(200, done);
    }),
  ];
}

const nowhere: AdminAnswer = {
  status: 409,
  text: 'no process has a vault: it is opened for the first server with credentials: { kind: oauth }, by processes of the role backend\n',
};

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
