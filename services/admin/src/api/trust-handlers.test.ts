/** Decisions about calls that have no effect are on record. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { Audit, AuditEvent } from '@omnibus/audit';
import { recordAct } from '../act-records.ts';
import { ApiProblem } from './api-problem.ts';
import { trustHandlers } from './trust-handlers.ts';

it.each([
  ['conflict', 1],
  ['forbidden', 1],
  ['unknown', 1],
  ['starting', 0],
] as const)(
  'a decision that is answered %s is on record %i times, as refused, with its maker',
  async (reason, count) => {
    const problem = 'it does not wait any more';
    const recorded: AuditEvent[] = [];
    const audit: Audit = {
      isStrict: false,
      wantsResults: true,
      wants: () => true,
      record: (event) => void recorded.push(event),
      confirm: () => Promise.resolve(true),
    };
    const approver = { name: 'test|fin', roles: ['approver'], facts: undefined } as const;
    const { decide } = trustHandlers({
      access: { of: () => approver },
      approvals: () => ({
        list: () => expect.fail(),
        one: () => expect.fail(),
        shown: () => expect.fail(),
        decide: () => Promise.reject(new ApiProblem(reason, problem)),
      }),
      definitions: () => expect.fail(),
      note: () => expect.fail(),
      denied: (request, act, details) => recordAct(audit, approver, request, act, { outcome: 'denied', details }),
    });
    const asked = {
      request: { socket: new Socket(), headers: {} } as IncomingMessage,
      response: {} as ServerResponse,
      given: 'one',
      query: {},
    };
    for (const approve of [true, false])
      await expect(decide({ ...asked, body: { digest: 'd', approve } })).rejects.toMatchObject({ message: problem });
    const more = { by: 'test|fin', approval: 'one', problem };
    expect(recorded.map(({ name, outcome, more: about }) => ({ name, outcome, more: about }))).toEqual(
      ['admin.approvals.approve', 'admin.approvals.refuse'].flatMap((name) =>
        Array.from({ length: count }, () => ({ name, outcome: 'denied', more })),
      ),
    );
  },
);
