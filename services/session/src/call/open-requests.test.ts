import { expect, it } from 'vitest';
import { fault } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { OpenRequests, WaitingRequest } from './open-requests.ts';

/** @returns the requests of one client, how often they were all ended, and one that waits. */
function start(): {
  readonly open: OpenRequests;
  readonly idle: () => number;
  readonly wait: (id: number) => WaitingRequest;
} {
  let idle = 0;
  const open = new OpenRequests(
    { doubt: () => undefined, idle: () => void (idle += 1) },
    createLogger({ level: 'silent', format: 'json' }),
  );
  const wait = (id: number): WaitingRequest => {
    const waiting = new WaitingRequest(
      { id, stream: {} },
      () => undefined,
      () => undefined,
    );
    open.add(waiting);
    return waiting;
  };
  return { open, idle: () => idle, wait };
}

it('the owner hears that no request is open any more, whichever way the last one ended', () => {
  const { open, idle, wait } = start();
  wait(1);
  open.cancel(1, 'never mind');
  expect(idle()).toBe(1);
  wait(2);
  open.failAll(fault('internal.error'));
  expect(idle()).toBe(2);
  // A guardrail has refused it: it is answered, and not sent.
  open.resume(wait(3), () => undefined);
  expect(idle()).toBe(3);
});

it('a request that goes on with another one leaves its client busy', () => {
  const { open, idle, wait } = start();
  open.resume(wait(1), () => void wait(2));
  expect(idle()).toBe(0);
  wait(2);
  expect([open.cancel(2, 'which?'), open.cancel(3, 'none'), open.size]).toEqual(['ambiguous', 'unknown', 2]);
});

it('what throws when a request goes on after its wait ends that request alone', () => {
  const { open, idle, wait } = start();
  const failed: unknown[] = [];
  const broken = new WaitingRequest(
    { id: 7, stream: {} },
    () => undefined,
    (gatewayFault) => failed.push(gatewayFault.reason),
  );
  open.add(broken);
  const other = wait(8);
  open.resume(broken, () => {
    throw new Error('by a test, on purpose');
  });
  expect([failed, open.size, idle()]).toEqual([['internal.error'], 1, 0]);
  let isMade = false;
  open.resume(other, () => (isMade = true));
  expect(isMade).toBe(true);
});

it('a wait that fails ends its request alone, and the owner hears that none is open', async () => {
  const { open, idle, wait } = start();
  const failed = Promise.withResolvers<string>();
  const waiting = new WaitingRequest(
    { id: 7, stream: {} },
    () => undefined,
    (gatewayFault) => failed.resolve(gatewayFault.reason),
  );
  open.add(waiting);
  open.after(waiting, Promise.reject(new Error('by a test, on purpose')), () => expect.fail('it goes on'));
  expect(await failed.promise).toBe('internal.error');
  await expect.poll(() => [open.size, idle()]).toEqual([0, 1]);
  const other = wait(8);
  open.after(other, Promise.resolve(), () => open.resume(other, () => undefined));
  await expect.poll(() => [open.size, idle()]).toEqual([0, 2]);
});
