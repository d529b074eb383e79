/** The acts of the admin port that show and approve the definitions of servers. */
import type { Audit } from '@omnibus/audit';
import type { ServerDefinitions } from '@omnibus/backend';
import { json, type AdminAnswer, type AdminRoute, type Logger, type Metrics } from '@omnibus/telemetry';
import { z } from 'zod';
import type { AdminAccess } from './access.ts';
import { recordAct } from './act-records.ts';
import { actsCounted, read } from './acts.ts';

/** Definitions of servers that differ from the approved ones. */
export interface DefinitionsOfProcess {
  readonly definitions: readonly ServerDefinitions[];
  /** @throws {Error} in words for the operator. */
  approve(server: string, digests: ReadonlySet<string>): Promise<void>;
}

export interface DefinitionsRoutesOptions {
  readonly access: AdminAccess;
  /** Undefined in a process without servers. */
  readonly definitions: () => DefinitionsOfProcess | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined as long as the process is starting, and where nothing is recorded. */
  readonly audit: () => Audit | undefined;
}

const approval = z.strictObject({
  server: z.string().min(1).max(255),
  approve: z.array(z.string().max(64)).min(1).max(500),
});
/** Bound on the definitions that one audit record names; a request to the admin port hardly holds more. */
const maxRecorded = 500;
const noServers: AdminAnswer = { status: 409, text: 'this process talks to no servers: ask one of the role backend\n' };

export function definitionsRoutes({
  access,
  definitions,
  log,
  metrics,
  audit,
}: DefinitionsRoutesOptions): readonly AdminRoute[] {
  const act = actsCounted(metrics);
  return [
    act({ name: 'definitions', method: 'GET', act: 'definitions.list' }, () => {
      const found = definitions();
      return found === undefined ? noServers : json(200, found.definitions);
    }),
    act({ name: 'definitions', method: 'POST', act: 'definitions.approve' }, async ({ request, body }) => {
      const found = definitions();
      if (found === undefined) return noServers;
      const { server, approve } = read(approval, body);
      const chosen =
        found.definitions
          .find((each) => each.server === server)
          ?.deviations.filter(({ digest }) => approve.includes(digest)) ?? [];
      await found.approve(server, new Set(approve));
      const approved = chosen.map(({ kind, name, digest }) => ({ kind, name, digest }));
      log.info(
        {
          act: 'definitions.approve',
          by: access.of(request).name,
          address: request.socket.remoteAddress,
          server,
          approved,
        },
        'an act at the admin port',
      );
      recordAct(audit(), access.of(request), request, 'definitions.approve', {
        outcome: 'ok',
        details: {
          server,
          approved: approved.map(({ kind, name, digest }) => `${kind} ${name} ${digest}`).slice(0, maxRecorded),
          count: approved.length,
        },
      });
      return json(200, { approved: approve.length });
    }),
  ];
}
