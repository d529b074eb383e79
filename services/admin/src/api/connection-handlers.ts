/** The operations of the API about what users have connected to servers. */
import type { AnswerOf } from '@omnibus/admin-api';
import { type Bus, askBackends } from '@omnibus/bus';
import { principalOf } from '@omnibus/identity';
import { mayBeConnected } from '@omnibus/config';
import { isToken, type Principal, type ServerName } from '@omnibus/protocol';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions } from './options.ts';
import type { ApiRequest, Handlers } from './site.ts';

type ConnectionHandlersOptions = Pick<ApiOptions, 'config' | 'edgeBus' | 'userId' | 'note'>;

export function connectionHandlers(
  options: ConnectionHandlersOptions,
): Pick<Handlers, 'connections' | 'revoke' | 'forget'> {
  const { config, edgeBus } = options;
  const started = config();
  /** @throws {ApiProblem} in a process that serves no clients: users sign in at those that do. */
  const busOf = (): Bus => {
    const bus = edgeBus();
    if (bus !== undefined) return bus;
    throw new ApiProblem(
      'conflict',
      'this process serves no clients, so no user signs in by it',
      'ask a process with the role edge',
    );
  };
  return {
    async connections() {
      const bus = busOf();
      if (!mayBeConnected(bus.isDurable, { config, started })) return { connections: [], total: 0 };
      const said = await askBackends(bus, { kind: 'list' });
      if (said.kind !== 'connections')
        throw new ApiProblem('failed', said.kind === 'failed' ? said.problem : said.kind);
      return {
        total: said.total,
        connections: said.connections.map(({ since, ...row }) => ({
          id: `${row.server}|${row.principal}`,
          ...row,
          ...(since === 0 ? {} : { since: new Date(since).toISOString() }),
        })),
      };
    },
    revoke: (asked) => revoke(options, busOf(), asked),
    forget: (asked) => forget(options, busOf(), asked),
  };
}

async function revoke(
  { note }: ConnectionHandlersOptions,
  bus: Bus,
  { request, given }: ApiRequest<'revoke'>,
): Promise<AnswerOf<'revoke'>> {
  const [server = '', principal = '', ...more] = given.split('|');
  if (!isToken(server) || !isToken(principal) || more.length > 0)
    throw new ApiProblem('invalid', 'expected SERVER|PRINCIPAL', 'GET /connections lists them as `id`');
  const done = await askBackends(bus, {
    kind: 'revoke',
    server: server as ServerName,
    principal: principal as Principal,
  });
  if (done.kind === 'gone') throw new ApiProblem('unknown', 'there is no such connection: it was revoked already');
  if (done.kind !== 'revoked') throw new ApiProblem('failed', done.kind === 'failed' ? done.problem : done.kind);
  note(request, 'connections.change', { server, principal, done: done.kind });
  return {
    revoked: given,
    ...(done.isRevoked === undefined ? {} : { isRevokedAtIssuer: done.isRevoked }),
    ...(done.wasUnreadable === true ? { wasUnreadable: true } : {}),
  };
}

async function forget(
  { note, userId }: ConnectionHandlersOptions,
  bus: Bus,
  { request, body: { user: subject, issuer } }: ApiRequest<'forget'>,
): Promise<AnswerOf<'forget'>> {
  const ofIssuer =
    issuer === undefined
      ? {}
      : { issuer, principal: principalOf({ issuer, subject }, undefined, [], userId(issuer, subject)) };
  const done = await askBackends(bus, { kind: 'forget', subject, ...ofIssuer });
  if (done.kind !== 'forgotten') throw new ApiProblem('invalid', done.kind === 'failed' ? done.problem : done.kind);
  const { count, notRevoked } = done;
  note(request, 'connections.change', {
    user: subject,
    ...(issuer === undefined ? {} : { issuer }),
    count,
    notRevoked,
  });
  return { count, notRevoked };
}
