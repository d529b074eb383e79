/** The acts of the admin port that change something: reloading the configuration, API keys, users, and recovery. Each change is logged, with who made it. */
import { resolve } from 'node:path';
import type { IncomingMessage } from 'node:http';
import type { Audit } from '@omnibus/audit';
import type { Config } from '@omnibus/config';
import {
  json,
  type AdminAnswer,
  type AdminExchange,
  type AdminRoute,
  type Faults,
  type Logger,
  type Metrics,
} from '@omnibus/telemetry';
import { z } from 'zod';
import { addKey, readKeys, revokeKeyIn } from './records/key-records.ts';
import type { AdminAccess } from './access.ts';
import { recordAct, type ActDetails } from './act-records.ts';
import type { Recovery } from './recovery.ts';

/** What became of a configuration that was read again. */
export interface Reloaded {
  /** Why the one from before stays in use; empty where the new one is. */
  readonly problems: readonly string[];
  /** Options that take effect with the next start, of those that differ from what the process was started with. */
  readonly later: readonly string[];
}

export interface ActsOptions {
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
}

/** Makes routes from acts: errors are answered with their messages, and successful acts are counted. */
export function actsCounted(metrics: Metrics) {
  return (
    route: Omit<AdminRoute, 'run'>,
    run: (exchange: AdminExchange) => AdminAnswer | Promise<AdminAnswer>,
  ): AdminRoute => ({
    ...route,
    async run(exchange) {
      try {
        const answer = await run(exchange);
        if (answer.status < 400) metrics.callers.adminActed(route.act);
        return answer;
      } catch (error) {
        return { status: 422, text: `${(error as Error).message}\n` };
      }
    },
  });
}

const name = z.string().min(1).max(255);
const names = z.array(name).max(200);
const newKey = z.strictObject({
  subject: name,
  tenant: name.optional(),
  groups: names.default([]),
  endpoints: names.optional(),
  tools: z.array(z.string().min(1).max(1_000)).min(1).max(100).optional(),
  expires: z.string().optional(),
  note: z.string().max(1_000).optional(),
});
const newUser = z.strictObject({ name, password: z.string().max(1_000), groups: names.default([]) });
const proven = z.strictObject({ question: z.string().max(1_000), proof: z.string().max(1_000) });

export function adminRoutes(options: ActsOptions): readonly AdminRoute[] {
  const { config, baseFolder, access, recovery, reload, log, faults, metrics, audit } = options;
  const note = (request: IncomingMessage, act: string, details: ActDetails = {}): void => {
    log.info(
      { act, by: access.of(request).name, address: request.socket.remoteAddress, ...details },
      'an act at the admin port',
    );
    recordAct(audit(), access.of(request), request, act, { outcome: 'ok', details });
  };
  const ways = (): Exclude<Config['auth'], 'none' | undefined> | undefined => {
    const { auth } = config();
    return auth === 'none' ? undefined : auth;
  };
  const keysFile = (): string => fileOf(ways()?.keys?.file, baseFolder, 'auth.keys names no file of API keys');
  const usersFile = (): string =>
    fileOf(ways()?.server?.users?.file, baseFolder, 'auth.server.users names no file of users');
  const act = actsCounted(metrics);
  return [
    act({ name: 'whoami', method: 'GET', act: 'whoami' }, ({ request }) => {
      const { name: who, roles, facts, tenant } = access.of(request);
      const until = facts?.expiresAt === undefined ? undefined : new Date(facts.expiresAt).toISOString();
      return json(200, {
        name: who,
        roles,
        looksAfter: tenant,
        issuer: facts?.issuer,
        subject: facts?.subject,
        tenant: facts?.tenant,
        groups: facts?.groups,
        until,
      });
    }),
    act({ name: 'reload', method: 'POST', act: 'reload' }, async ({ request }) => {
      const { problems, later } = await reload();
      note(request, 'reload', { problems: problems.length });
      const rest = later.length === 0 ? '' : `; what differs in ${later.join(', ')} takes effect with the next start`;
      return problems.length === 0
        ? { status: 200, text: `the configuration was read again, and is in use${rest}\n` }
        : { status: 422, text: `the configuration from before stays:\n${problems.join('\n')}\n` };
    }),
    act({ name: 'keys', method: 'GET', act: 'keys.list' }, () =>
      json(
        200,
        readKeys(keysFile()).map(({ hash: _digest, ...rest }) => rest),
      ),
    ),
    act({ name: 'keys', method: 'POST', act: 'keys.change' }, async ({ request, body }) => {
      const wanted = read(newKey, body);
      const made = await addKey(keysFile(), wanted);
      note(request, 'keys.create', { key: made.id, subject: wanted.subject });
      return json(201, made);
    }),
    act({ name: 'keys', method: 'DELETE', act: 'keys.change', hasRest: true }, async ({ request, rest = '' }) => {
      const key = await revokeKeyIn(keysFile(), rest);
      note(request, 'keys.revoke', { key });
      return { status: 200, text: `key ${key} is revoked\n` };
    }),
    act({ name: 'users', method: 'GET', act: 'users.list' }, async () => {
      const { readUsers } = await import('./records/user-records.ts');
      return json(
        200,
        readUsers(usersFile()).map(({ password: _digest, passwordSince: _since, id: _id, ...rest }) => rest),
      );
    }),
    act({ name: 'users', method: 'POST', act: 'users.change' }, async ({ request, body }) => {
      const { setUser } = await import('./records/user-records.ts');
      const user = read(newUser, body);
      const wasThere = await setUser(usersFile(), user.name, user.password, user.groups);
      note(request, 'users.set', { user: user.name, wasThere });
      return {
        status: wasThere ? 200 : 201,
        text: `user ${user.name} ${wasThere ? 'has another password' : 'is there'}\n`,
      };
    }),
    act({ name: 'users', method: 'DELETE', act: 'users.change', hasRest: true }, async ({ request, rest = '' }) => {
      const { removeUserFrom } = await import('./records/user-records.ts');
      await removeUserFrom(usersFile(), rest);
      note(request, 'users.remove', { user: rest });
      return { status: 200, text: `user ${rest} is gone, and what was allowed and connected in that name ends\n` };
    }),
    act({ name: 'recovery', method: 'GET', act: 'recovery' }, () =>
      recovery === undefined ? noKey : json(200, { question: recovery.question() }),
    ),
    act({ name: 'recovery', method: 'POST', act: 'recovery' }, ({ request, body }) => {
      if (recovery === undefined) return noKey;
      const { question, proof } = read(proven, body);
      const given = recovery.answer(question, proof);
      const { remoteAddress: address } = request.socket;
      if (given === undefined) {
        metrics.callers.adminRefused('recovery', 'unknown');
        faults.fromOutside('somebody tried to recover the admin port without the sealing key', undefined, { address });
        recordAct(audit(), undefined, request, 'recovery', { outcome: 'denied' });
        return {
          status: 403,
          text: 'this is not the sealing key of this gateway, or the question was of a minute ago; is OMNIBUS_SEALING_KEY or security.sealingKeyFile that of the gateway?\n',
        };
      }
      recordAct(audit(), undefined, request, 'recovery', {
        outcome: 'ok',
        details: { until: new Date(given.until).toISOString() },
      });
      log.warn(
        { address, until: new Date(given.until).toISOString() },
        'somebody with the sealing key has become admin of this process',
      );
      return json(200, { token: given.token, until: new Date(given.until).toISOString() });
    }),
  ];
}

const noKey: AdminAnswer = {
  status: 409,
  text: 'this process has no sealing key: whoever may write its configuration says under auth.admin.roles who is admin, and it is followed; or set security.sealingKeyFile\n',
};

/** @throws {Error} */
function fileOf(file: string | undefined, baseFolder: string, problem: string): string {
  if (file === undefined) throw new Error(problem);
  return resolve(baseFolder, file);
}

/** @throws {Error} */
export function read<Value>(shape: z.ZodType<Value>, body: string): Value {
  let said: unknown;
  try {
    said = JSON.parse(body);
  } catch (error) {
    throw new Error('expected a JSON object as the body', { cause: error });
  }
  const parsed = shape.safeParse(said);
  if (parsed.success) return parsed.data;
  throw new Error(
    parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`).join('; '),
  );
}
