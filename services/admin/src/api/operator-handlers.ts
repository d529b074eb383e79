/** The operations of the API that concern the configuration, API keys, users and recovery. Each change is logged, with who made it. */
import { resolve } from 'node:path';
import type { IncomingMessage } from 'node:http';
import type { Audit } from '@omnibus/audit';
import type { Config } from '@omnibus/config';
import type { Faults, Logger, Metrics } from '@omnibus/telemetry';
import { addKey, readKeys, revokeKeyIn } from '../records/key-records.ts';
import type { AdminAccess } from '../access.ts';
import { recordAct, type ActDetails } from '../act-records.ts';
import type { Recovery } from '../recovery.ts';
import { ApiProblem } from './api-problem.ts';
import type { Handlers } from './site.ts';

/** What became of a configuration that was read again. */
export interface Reloaded {
  /** Why the one from before stays in use; empty where the new one is. */
  readonly problems: readonly string[];
  /** Options that take effect with the next start, of those that differ from what the process was started with. */
  readonly later: readonly string[];
}

export interface OperatorHandlersOptions {
  /** The configuration as it is now. */
  readonly config: () => Config;
  readonly baseFolder: string;
  readonly access: AdminAccess;
  readonly recovery: Recovery | undefined;
  /** Reads the configuration again. @returns the problems found. */
  readonly reload: () => Promise<Reloaded>;
  readonly log: Logger;
  readonly faults: Pick<Faults, 'fromOutside'>;
  readonly metrics: Metrics;
  /** Undefined as long as the process is starting, and where nothing is recorded. */
  readonly audit: () => Audit | undefined;
  /** Records what was done in the log and the audit. */
  readonly note: (request: IncomingMessage, act: string, details: ActDetails) => void;
}

export function operatorHandlers({
  config,
  baseFolder,
  access,
  reload,
  note,
  ...options
}: OperatorHandlersOptions): Pick<
  Handlers,
  'whoami' | 'reload' | 'keys' | 'makeKey' | 'revokeKey' | 'users' | 'setUser' | 'removeUser' | 'recovery' | 'recover'
> {
  const ways = (): Exclude<Config['auth'], 'none' | undefined> | undefined => {
    const { auth } = config();
    return auth === 'none' ? undefined : auth;
  };
  const keysFile = (): string => fileOf(ways()?.keys?.file, baseFolder, 'auth.keys names no file of API keys');
  const usersFile = (): string =>
    fileOf(ways()?.server?.users?.file, baseFolder, 'auth.server.users names no file of users');
  return {
    whoami: ({ request }) => {
      const { name, roles, facts, tenant } = access.of(request);
      const { issuer, subject, tenant: own, groups, expiresAt } = facts ?? {};
      return Promise.resolve({
        name,
        roles: [...roles],
        ...(tenant === undefined ? {} : { looksAfter: tenant }),
        ...(issuer === undefined ? {} : { issuer }),
        ...(subject === undefined ? {} : { subject }),
        ...(own === undefined ? {} : { tenant: own }),
        ...(groups === undefined ? {} : { groups: [...groups] }),
        ...(expiresAt === undefined ? {} : { until: new Date(expiresAt).toISOString() }),
      });
    },
    reload: async ({ request }) => {
      const { problems, later } = await reload();
      note(request, 'reload', { problems: problems.length });
      if (problems.length > 0)
        throw new ApiProblem('conflict', `the configuration from before stays:\n${problems.join('\n')}`);
      return { later: [...later] };
    },
    keys: () =>
      inWords(() => ({
        keys: readKeys(keysFile()).map(({ hash: _digest, ...rest }) => rest),
      })),
    makeKey: async ({ request, body }) => {
      const made = await inWords(() => addKey(keysFile(), body));
      note(request, 'keys.create', { key: made.id, subject: body.subject });
      return made;
    },
    revokeKey: async ({ request, given }) => {
      const id = await inWords(() => revokeKeyIn(keysFile(), given));
      note(request, 'keys.revoke', { key: id });
      return { id };
    },
    users: async () => {
      const { readUsers } = await import('../records/user-records.ts');
      return inWords(() => ({
        users: readUsers(usersFile()).map(({ password: _digest, passwordSince: _since, id: _id, ...rest }) => rest),
      }));
    },
    setUser: async ({ request, body: { name, password, groups } }) => {
      const { setUser } = await import('../records/user-records.ts');
      const wasThere = await inWords(() => setUser(usersFile(), name, password, groups));
      note(request, 'users.set', { user: name, wasThere });
      return { name, isNew: !wasThere };
    },
    removeUser: async ({ request, given }) => {
      const { removeUserFrom } = await import('../records/user-records.ts');
      await inWords(() => removeUserFrom(usersFile(), given));
      note(request, 'users.remove', { user: given });
      return { name: given };
    },
    recovery: () => Promise.resolve({ question: keyed(options.recovery).question() }),
    recover: ({ request, body }) => Promise.resolve(recovered(options, request, body)),
  };
}

/** @throws {ApiProblem} for a wrong proof. */
function recovered(
  {
    recovery,
    metrics,
    faults,
    audit,
    log,
  }: Omit<OperatorHandlersOptions, 'config' | 'baseFolder' | 'access' | 'reload' | 'note'>,
  request: IncomingMessage,
  { question, proof }: { readonly question: string; readonly proof: string },
): { readonly token: string; readonly until: string } {
  const given = keyed(recovery).answer(question, proof);
  const { remoteAddress: address } = request.socket;
  if (given === undefined) {
    metrics.callers.adminRefused('recovery', 'unknown');
    faults.fromOutside('somebody tried to recover the admin port without the sealing key', undefined, { address });
    recordAct(audit(), undefined, request, 'recovery', { outcome: 'denied' });
    throw new ApiProblem(
      'forbidden',
      'this is not the sealing key of this gateway, or the question was of a minute ago; is OMNIBUS_SEALING_KEY or security.sealingKeyFile that of the gateway?',
    );
  }
  const until = new Date(given.until).toISOString();
  recordAct(audit(), undefined, request, 'recovery', { outcome: 'ok', details: { until } });
  log.warn({ address, until }, 'somebody with the sealing key has become admin of this process');
  return { token: given.token, until };
}

/** @throws {ApiProblem} */
function keyed(recovery: Recovery | undefined): Recovery {
  if (recovery !== undefined) return recovery;
  throw new ApiProblem(
    'conflict',
    'this process has no sealing key',
    'name an admin under auth.admin.roles in its configuration, which it follows; or set security.sealingKeyFile',
  );
}

/** @throws {Error} */
function fileOf(file: string | undefined, baseFolder: string, problem: string): string {
  if (file === undefined) throw new Error(problem);
  return resolve(baseFolder, file);
}

/** @throws {ApiProblem} with the words of an error, which are for the operator. */
async function inWords<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ApiProblem ? error : new ApiProblem('invalid', (error as Error).message);
  }
}
