/** The owner of a session: the caller that the edge has proven, and no other. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AuditEvent } from '@omnibus/audit';
import { MemoryBus, subjects, type Subject } from '@omnibus/bus';
import { firstReply } from '@omnibus/bus/testing';
import { Proofs } from '@omnibus/identity';
import {
  anonymous,
  rootEndpoint,
  sessionKey,
  type Caller,
  type OpenReply,
  type SessionCommand,
  type StreamId,
} from '@omnibus/protocol';
import { auditIn } from './answers-under-test.ts';
import { factsOf } from './worker-under-test.ts';
import type { SessionWorker } from './worker.ts';
import { initialize, startedWorker } from './started-worker-under-test.ts';

const edge = new Proofs([randomBytes(32)]);
const stranger = new Proofs([randomBytes(32)]);

let bus: MemoryBus;
let worker: SessionWorker;
/** Audit records. */
let events: AuditEvent[];

beforeEach(async () => {
  bus = new MemoryBus(({ error }) => expect.fail(String(error)));
  events = [];
  worker = await startedWorker(bus, 'auth: { keys: { file: keys.yaml } }\nlimits: { maxSessionsPerPrincipal: 2 }', {
    proofs: edge,
    audit: auditIn(events),
  });
});

afterEach(() => worker.stop());

function callerOf(subject: string, signer = edge): Caller & { readonly proof: string } {
  const facts = factsOf(subject);
  return { principal: facts.principal, endpoint: rootEndpoint, proof: signer.of(facts) };
}

const ask = <Request, Reply>(to: Subject<Request, Reply>, request: Request): Promise<Reply> =>
  firstReply(bus, to, request);
const open = (caller: Caller): Promise<OpenReply> =>
  ask(subjects.sessionOpen(undefined), { kind: 'open', caller, request: initialize });

async function reasonOf(answer: Promise<unknown>): Promise<string> {
  const reply = (await answer) as { readonly kind: string; readonly fault?: { readonly reason: string } };
  return reply.fault?.reason ?? reply.kind;
}

it('opens for whom an edge has proven, and for nobody who says so himself', async () => {
  const [ann, bob] = [callerOf('ann'), callerOf('bob')];
  for (const forged of [
    { principal: anonymous, endpoint: rootEndpoint },
    { principal: ann.principal, endpoint: rootEndpoint },
    { ...ann, proof: bob.proof },
    { ...ann, proof: '' },
    callerOf('ann', stranger),
  ])
    expect(await reasonOf(open(forged))).toBe('caller.unproven');
  expect(await reasonOf(open(ann))).toBe('opened');
});

it('is unknown to all others, by any command', async () => {
  const [ann, bob] = [callerOf('ann'), callerOf('bob')];
  const opened = await open(ann);
  if (opened.kind !== 'opened') throw new Error(opened.kind);
  const key = sessionKey(opened.session);
  const stream = 'edge-1' as StreamId;
  const ping = { kind: 'request', message: { jsonrpc: '2.0', id: 2, method: 'ping' } } as const;
  const commands = (caller: Caller): SessionCommand[] => [
    { kind: 'post', caller, stream, message: ping },
    { kind: 'batch', caller, stream, messages: [ping] },
    { kind: 'attach', caller, stream, after: undefined },
    { kind: 'attach', caller, stream, after: { stream, sequence: 1 } },
    { kind: 'delete', caller },
  ];
  const reasons = (caller: Caller): Promise<string[]> =>
    Promise.all(commands(caller).map((command) => reasonOf(ask(subjects.session(opened.worker), { key, command }))));
  expect(new Set(await reasons(bob))).toEqual(new Set(['session.unknown']));
  expect(new Set(await reasons({ ...ann, endpoint: 'other' as never }))).toEqual(new Set(['session.unknown']));
  expect(new Set(await reasons({ principal: ann.principal, endpoint: rootEndpoint }))).toEqual(
    new Set(['caller.unproven']),
  );
  expect(
    await reasonOf(
      ask(subjects.session(opened.worker), { key, command: { kind: 'post', caller: ann, stream, message: ping } }),
    ),
  ).toBe('message');
});

it('is put on record with who has tried to use it, and in whose name without proof', async () => {
  const [ann, bob] = [callerOf('ann'), callerOf('bob')];
  const opened = await open(ann);
  if (opened.kind !== 'opened') throw new Error(opened.kind);
  const key = sessionKey(opened.session);
  const stream = 'edge-1' as StreamId;
  const call = {
    kind: 'request',
    message: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'pay' } },
  } as const;
  const send = (command: SessionCommand): Promise<string> =>
    reasonOf(ask(subjects.session(opened.worker), { key, command }));
  await send({ kind: 'post', caller: bob, stream, message: call });
  await send({ kind: 'attach', caller: bob, stream, after: undefined });
  await send({ kind: 'delete', caller: { ...ann, proof: bob.proof } });
  await open({ ...ann, proof: bob.proof });
  expect(events).toMatchObject([
    {
      name: 'mcp.refused',
      weight: 'refusal',
      who: { principal: bob.principal, subject: 'bob' },
      session: key,
      method: 'tools/call',
      id: 2,
      publicName: 'pay',
      outcome: 'denied',
      reason: 'session.unknown',
    },
    { name: 'mcp.refused', who: { subject: 'bob' }, session: key, method: undefined, reason: 'session.unknown' },
    {
      name: 'mcp.refused',
      who: { principal: ann.principal, subject: undefined },
      session: key,
      reason: 'caller.unproven',
    },
    {
      name: 'mcp.refused',
      who: { principal: ann.principal, subject: undefined },
      session: undefined,
      method: 'initialize',
      reason: 'caller.unproven',
    },
  ]);
});

it('has a share of the worker: one caller does not use up what another needs', async () => {
  const [ann, bob] = [callerOf('ann'), callerOf('bob')];
  const answers = [
    await reasonOf(open(ann)),
    await reasonOf(open(ann)),
    await reasonOf(open(ann)),
    await reasonOf(open(bob)),
  ];
  expect(answers).toEqual(['opened', 'opened', 'session.limit', 'opened']);
});
