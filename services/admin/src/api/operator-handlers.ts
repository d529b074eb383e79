/** The operations of the API that concern the configuration, API keys, users and recovery. Each change is logged, with its author. */
import type { IncomingMessage } from 'node:http';
import type { Config } from '@omnibus/config';
import { addKey, readKeys, revokeKeyIn } from '../records/key-records.ts';
import { recordAct } from '../act-records.ts';
import type { Recovery } from '../recovery.ts';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions } from './options.ts';
import { fileOf, inWords } from './record-files.ts';
import type { Handlers } from './site.ts';

interface OperatorHandlersOptions extends Pick<
  ApiOptions,
  'config' | 'baseFolder' | 'access' | 'recovery' | 'reload' | 'log' | 'faults' | 'metrics' | 'audit' | 'note'
> {
  /** When keys were last accepted, in milliseconds since 1970, by their ids. */
  readonly keyUses: () => Promise<ReadonlyMap<string, number>>;
}

export function operatorHandlers(
  options: OperatorHandlersOptions,
): Pick<
  Handlers,
  'whoami' | 'reload' | 'keys' | 'makeKey' | 'revokeKey' | 'users' | 'setUser' | 'removeUser' | 'recovery' | 'recover'
> {
  const { access, reload, note, recovery } = options;
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
    ...keyHandlers(options),
    ...userHandlers(options),
    recovery: () => Promise.resolve({ question: keyed(recovery).question() }),
    recover: ({ request, body }) => Promise.resolve(recovered(options, request, body)),
  };
}

function keyHandlers({
  config,
  baseFolder,
  keyUses,
  note,
}: OperatorHandlersOptions): Pick<Handlers, 'keys' | 'makeKey' | 'revokeKey'> {
  const file = (): string => fileOf(authOf(config())?.keys?.file, baseFolder, 'auth.keys names no file of API keys');
  return {
    keys: () =>
      inWords(async () => {
        const [keys, uses] = [readKeys(file()), await keyUses()];
        return {
          keys: keys.map(({ hash: _digest, ...rest }) => {
            const at = uses.get(rest.id);
            return at === undefined ? rest : { ...rest, lastUse: new Date(at).toISOString() };
          }),
        };
      }),
    makeKey: async ({ request, body }) => {
      const made = await inWords(() => addKey(file(), body));
      note(request, 'keys.create', { key: made.id, subject: body.subject });
      return made;
    },
    revokeKey: async ({ request, given }) => {
      const id = await inWords(() => revokeKeyIn(file(), given));
      note(request, 'keys.revoke', { key: id });
      return { id };
    },
  };
}

function userHandlers({
  config,
  baseFolder,
  note,
}: OperatorHandlersOptions): Pick<Handlers, 'users' | 'setUser' | 'removeUser'> {
  const file = (): string =>
    fileOf(authOf(config())?.server?.users?.file, baseFolder, 'auth.server.users names no file of users');
  return {
    users: async () => {
      const { readUsers } = await import('../records/user-records.ts');
      return inWords(() => ({
        users: readUsers(file()).map(({ password: _digest, passwordSince: _since, id: _id, ...rest }) => rest),
      }));
    },
    setUser: async ({ request, body: { name, password, groups } }) => {
      const { setUser } = await import('../records/user-records.ts');
      const wasThere = await inWords(() => setUser(file(), name, password, groups));
      note(request, 'users.set', { user: name, wasThere });
      return { name, isNew: !wasThere };
    },
    removeUser: async ({ request, given }) => {
      const { removeUserFrom } = await import('../records/user-records.ts');
      await inWords(() => removeUserFrom(file(), given));
      note(request, 'users.remove', { user: given });
      return { name: given };
    },
  };
}

function authOf({ auth }: Config): Exclude<Config['auth'], 'none' | undefined> | undefined {
  return auth === 'none' ? undefined : auth;
}

/** @throws {ApiProblem} for a wrong proof. */
function recovered(
  { recovery, metrics, faults, audit, log }: OperatorHandlersOptions,
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
