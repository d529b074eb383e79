/** The acts of the admin port that show and end users' sign-ins at servers. */
import type { Audit } from '@omnibus/audit';
import { type Bus, askBackends } from '@omnibus/bus';
import { isToken, type Principal, type ServerName } from '@omnibus/protocol';
import { json, type AdminAnswer, type AdminRoute, type Logger, type Metrics } from '@omnibus/telemetry';
import { principalOf } from '@omnibus/identity';
import { z } from 'zod';
import type { AdminAccess } from './access.ts';
import { recordAct } from './act-records.ts';
import { actsCounted, read } from './acts.ts';

export interface ConnectionsRoutesOptions {
  readonly access: AdminAccess;
  /** Undefined as long as the process is starting, and in one that serves no clients: users sign in at those that do. */
  readonly bus: () => Bus | undefined;
  /** The id of a user who is in the file of this issuer now. */
  readonly userId: (issuer: string, subject: string) => string | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined as long as the process is starting, and where nothing is recorded. */
  readonly audit: () => Audit | undefined;
}

const gone = z.strictObject({ user: z.string().min(1).max(255), issuer: z.string().min(1).max(512).optional() });

const noEdge: AdminAnswer = { status: 409, text: 'this process serves no clients: ask one of the role edge\n' };

export function connectionsRoutes({
  access,
  bus,
  userId,
  log,
  metrics,
  audit,
}: ConnectionsRoutesOptions): readonly AdminRoute[] {
  const act = actsCounted(metrics);
  return [
    act({ name: 'connections', method: 'GET', act: 'connections.list' }, async () => {
      const found = bus();
      return found === undefined ? noEdge : json(200, await askBackends(found, { kind: 'list' }));
    }),
    act(
      { name: 'connections', method: 'DELETE', act: 'connections.change', hasRest: true },
      async ({ request, rest = '' }) => {
        const found = bus();
        if (found === undefined) return noEdge;
        const [server = '', principal = ''] = rest.split('|');
        if (!isToken(server) || !isToken(principal))
          throw new Error('expected SERVER|PRINCIPAL, as GET /connections lists them');
        const done = await askBackends(found, {
          kind: 'revoke',
          server: server as ServerName,
          principal: principal as Principal,
        });
        if (done.kind === 'failed') throw new Error(done.problem);
        log.warn(
          {
            act: 'connections.revoke',
            by: access.of(request).name,
            address: request.socket.remoteAddress,
            server,
            principal,
            done: done.kind,
          },
          'an act at the admin port',
        );
        recordAct(audit(), access.of(request), request, 'connections.change', {
          outcome: 'ok',
          details: { server, principal, done: done.kind },
        });
        return json(done.kind === 'gone' ? 404 : 200, done);
      },
    ),
    act({ name: 'connections', method: 'POST', act: 'connections.change' }, async ({ request, body }) => {
      const found = bus();
      if (found === undefined) return noEdge;
      const { user: subject, issuer } = read(gone, body);
      const done = await askBackends(found, {
        kind: 'forget',
        subject,
        ...(issuer === undefined
          ? {}
          : { issuer, principal: principalOf({ issuer, subject }, undefined, [], userId(issuer, subject)) }),
      });
      if (done.kind !== 'forgotten') throw new Error(done.kind === 'failed' ? done.problem : done.kind);
      const details = {
        user: subject,
        ...(issuer === undefined ? {} : { issuer }),
        count: done.count,
        notRevoked: done.notRevoked,
      };
      log.warn(
        { act: 'connections.remove', by: access.of(request).name, address: request.socket.remoteAddress, ...details },
        'an act at the admin port',
      );
      recordAct(audit(), access.of(request), request, 'connections.change', { outcome: 'ok', details });
      return json(200, done);
    }),
  ];
}
