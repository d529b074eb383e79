/** The operations of the API about what users have connected to servers. */
import type { IncomingMessage } from 'node:http';
import { type Bus, askBackends } from '@omnibus/bus';
import { principalOf } from '@omnibus/identity';
import { enabledServers, type Config } from '@omnibus/config';
import { isToken, type Principal, type ServerName } from '@omnibus/protocol';
import type { ActDetails } from '../act-records.ts';
import { ApiProblem } from './api-problem.ts';
import type { Handlers } from './site.ts';

export interface ConnectionHandlersOptions {
  readonly config: () => Config;
  /** Undefined in a process that serves no clients, and while it starts: users sign in at those that do. */
  readonly edgeBus: () => Bus | undefined;
  /** The id of a user who is in the file of this issuer now. */
  readonly userId: (issuer: string, subject: string) => string | undefined;
  /** Records what was done in the log and the audit. */
  readonly note: (request: IncomingMessage, act: string, details: ActDetails) => void;
}

export function connectionHandlers({
  config,
  edgeBus,
  userId,
  note,
}: ConnectionHandlersOptions): Pick<Handlers, 'connections' | 'revoke' | 'forget'> {
  const busOf = (): Bus => {
    const bus = edgeBus();
    if (bus === undefined)
      throw new ApiProblem(
        'conflict',
        'this process serves no clients, so no user signs in by it',
        'ask a process with the role edge',
      );
    return bus;
  };
  return {
    async connections() {
      const bus = busOf();
      if (![...enabledServers(config()).values()].some(({ credentials }) => credentials?.kind === 'oauth'))
        return { connections: [], total: 0 };
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
    async revoke({ request, given }) {
      const bus = busOf();
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
    },
    async forget({ request, body: { user: subject, issuer } }) {
      const done = await askBackends(busOf(), {
        kind: 'forget',
        subject,
        ...(issuer === undefined
          ? {}
          : { issuer, principal: principalOf({ issuer, subject }, undefined, [], userId(issuer, subject)) }),
      });
      if (done.kind !== 'forgotten') throw new ApiProblem('invalid', done.kind === 'failed' ? done.problem : done.kind);
      const { count, notRevoked } = done;
      note(request, 'connections.change', {
        user: subject,
        ...(issuer === undefined ? {} : { issuer }),
        count,
        notRevoked,
      });
      return { count, notRevoked };
    },
  };
}
