/** The acts of the admin port that show and decide calls that wait for approvers, for commands of 0.2.0 and where the API is off (`api/approval-board.ts`). */
import type { Audit } from '@omnibus/audit';
import { ApprovalBoard, type Bus } from '@omnibus/bus';
import { printable } from '@omnibus/protocol';
import { json, type AdminAnswer, type AdminRoute, type Logger, type Metrics } from '@omnibus/telemetry';
import { z } from 'zod';
import type { AdminAccess } from './access.ts';
import { recordAct } from './act-records.ts';
import { actsCounted, read } from './acts.ts';
import { asItIs, mayLook, refusalOf } from './approval-rules.ts';

export interface ApprovalsRoutesOptions {
  readonly access: AdminAccess;
  /** Undefined while the process is starting. */
  readonly bus: () => Bus | undefined;
  /** Whether calls are held here; elsewhere nobody may look at them. */
  readonly holdsCalls: () => boolean;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly audit: () => Audit | undefined;
}

const decision = z.strictObject({
  id: z.string().min(1).max(64),
  digest: z.string().max(64),
  approve: z.boolean(),
  reason: z.string().max(500).optional(),
});
const noCalls: AdminAnswer = { status: 409, text: 'this process holds no calls: ask one of the role session\n' };

export function approvalsRoutes({
  access,
  bus,
  holdsCalls,
  log,
  metrics,
  audit,
}: ApprovalsRoutesOptions): readonly AdminRoute[] {
  const act = actsCounted(metrics);
  const open = async (): Promise<ApprovalBoard> => {
    const found = bus();
    if (found === undefined) throw new Error('the process is starting, and has no bus yet');
    return ApprovalBoard.open(found);
  };
  return [
    act({ name: 'approvals', method: 'GET', act: 'approvals.list' }, async ({ request }) => {
      if (!holdsCalls()) return noCalls;
      const by = access.of(request);
      return json(
        200,
        (await (await open()).all()).filter((record) => mayLook(by, record)).map((record) => asItIs(record)),
      );
    }),
    act({ name: 'approvals', method: 'GET', act: 'approvals.list', hasRest: true }, async ({ request, rest = '' }) => {
      if (!holdsCalls()) return noCalls;
      const record = await (await open()).get(rest);
      return record === undefined || !mayLook(access.of(request), record)
        ? { status: 404, text: `no call ${JSON.stringify(printable(rest, 64))} waits that you may see\n` }
        : json(200, asItIs(record));
    }),
    act({ name: 'approvals', method: 'POST', act: 'approvals.decide' }, async ({ request, body }) => {
      if (!holdsCalls()) return noCalls;
      const { id, digest, approve, reason } = read(decision, body);
      const by = access.of(request);
      const named = approve ? 'approvals.approve' : 'approvals.refuse';
      const decided = await (
        await open()
      )
        .decide(id, { state: approve ? 'approved' : 'refused', by: by.name, reason }, (record) =>
          refusalOf(by, record, digest),
        )
        .catch((error: unknown) => {
          // One that comes too late is on record too.
          recordAct(audit(), by, request, named, {
            outcome: 'denied',
            details: { approval: id, problem: printable((error as Error).message, 500) },
          });
          throw error;
        });
      const { server, tool, rule } = decided;
      log.info(
        { act: named, by: by.name, address: request.socket.remoteAddress, approval: id, server, tool, rule, reason },
        'an act at the admin port',
      );
      recordAct(audit(), by, request, named, {
        outcome: 'ok',
        details: { approval: id, approval_digest: digest, server, tool, rule },
      });
      return { status: 200, text: `${id} is ${approve ? 'approved' : 'refused'}\n` };
    }),
  ];
}
