/** Decisions about calls that do not wait any more have no effect, and are on record. */
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Audit, AuditEvent } from '@omnibus/audit';
import { ApprovalBoard, MemoryBus } from '@omnibus/bus';
import type { ApprovalRecord } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { expect, it } from 'vitest';
import type { AdminAccess } from './access.ts';
import { ApiProblem } from './api/api-problem.ts';
import type { ApprovalsOfAll } from './api/approval-board.ts';
import { trustHandlers } from './api/trust-handlers.ts';
import { approvalsRoutes } from './approvals.ts';

const request = { socket: new Socket(), headers: {} } as IncomingMessage;
const access = { of: () => ({ name: 'test|fin', roles: ['approver'] }) } as unknown as AdminAccess;

it('at the admin port', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const [recorded, now] = [[] as AuditEvent[], Date.now()];
  const board = await ApprovalBoard.open(bus);
  await board.post({
    id: 'one',
    state: 'waiting',
    worker: 'w',
    at: now - 2_000,
    until: now - 1_000,
    rule: 'large',
    server: 'bank',
    tool: 'refund',
    arguments: '{}',
    digest: 'd',
    principal: 'p',
    who: [],
  } as unknown as ApprovalRecord);
  const audit: Audit = {
    isStrict: false,
    wantsResults: true,
    wants: () => true,
    record: (event) => void recorded.push(event),
    confirm: () => Promise.resolve(true),
  };
  const route = approvalsRoutes({
    access,
    bus: () => bus,
    holdsCalls: () => true,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    audit: () => audit,
  }).find(({ method }) => method === 'POST');
  expect(
    await route?.run({ request, rest: undefined, body: JSON.stringify({ id: 'one', digest: 'd', approve: true }) }),
  ).toMatchObject({ status: 422, text: expect.stringContaining('does not wait any more') as string });
  expect(recorded).toMatchObject([
    {
      name: 'admin.approvals.approve',
      outcome: 'denied',
      more: { approval: 'one', problem: expect.stringContaining('does not wait any more') as string },
    },
  ]);
  await bus.drain();
});

it('a list has not all of long arguments, one call has, and what was cut by an older version is only refused', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const board = await ApprovalBoard.open(bus);
  const now = Date.now();
  const waiting = (id: string, more: object): ApprovalRecord =>
    ({
      id,
      state: 'waiting',
      worker: 'w',
      at: now,
      until: now + 60_000,
      rule: 'large',
      server: 'bank',
      tool: 'refund',
      arguments: JSON.stringify({ note: 'x'.repeat(50_000), path: '/prod' }),
      digest: 'd',
      principal: 'p',
      who: [],
      ...more,
    }) as unknown as ApprovalRecord;
  await board.post(waiting('whole', {}));
  await board.post(waiting('cut', { arguments: '{"note":"x', hidden: 50_000 }));
  const routes = approvalsRoutes({
    access,
    bus: () => bus,
    holdsCalls: () => true,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    audit: () => undefined,
  });
  const run = async (method: string, rest: string | undefined, body = ''): Promise<{ status: number; text: string }> =>
    (await routes
      .find((each) => each.method === method && (each.hasRest ?? false) === (rest !== undefined))
      ?.run({ request, rest, body })) as { status: number; text: string };
  const listed = JSON.parse((await run('GET', undefined)).text) as ApprovalRecord[];
  expect(listed.find(({ id }) => id === 'whole')).toMatchObject({
    hidden: waiting('whole', {}).arguments.length - 3_000,
  });
  expect(JSON.parse((await run('GET', 'whole')).text)).toEqual(waiting('whole', {}));
  expect((await run('GET', 'none')).status).toBe(404);
  expect(await run('POST', undefined, JSON.stringify({ id: 'cut', digest: 'd', approve: true }))).toMatchObject({
    status: 422,
    text: expect.stringContaining('nobody has seen all of them: refuse it') as string,
  });
  expect(await run('POST', undefined, JSON.stringify({ id: 'cut', digest: 'd', approve: false }))).toMatchObject({
    status: 200,
  });
  await bus.drain();
});

it.each([
  ['conflict', 1],
  ['forbidden', 1],
  ['starting', 0],
] as const)('over the API, which answers %s', async (reason, count) => {
  const denied: object[] = [];
  const approvals = {
    decide: () => Promise.reject(new ApiProblem(reason, 'it does not wait any more')),
  } as unknown as ApprovalsOfAll;
  const { decide } = trustHandlers({
    access,
    approvals: () => approvals,
    definitions: () => expect.fail(),
    note: () => expect.fail(),
    denied: (_request, act, details) => void denied.push({ act, ...details }),
  });
  await expect(
    decide({ request, given: 'one', body: { digest: 'd', approve: false } } as unknown as Parameters<typeof decide>[0]),
  ).rejects.toThrow('does not wait any more');
  expect(denied).toEqual(
    Array.from({ length: count }, () => ({
      act: 'approvals.refuse',
      approval: 'one',
      problem: 'it does not wait any more',
    })),
  );
});
