import { afterAll, expect, it } from 'vitest';
import { busContract, Heard } from '../testing/contract.ts';
import { startNatsServer } from '../testing/nats-server.ts';
import { openNatsBus } from './bus.ts';

const server = await startNatsServer();
afterAll(() => server[Symbol.asyncDispose]());

busContract('the NATS bus', async (onFault) => {
  const options = { servers: server.url, connectTimeoutMs: 5_000 };
  const near = await openNatsBus({ ...options, clientName: 'near' }, onFault);
  const far = await openNatsBus({ ...options, clientName: 'far' }, onFault);
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      await near.drain();
      await far.drain();
    },
  };
});

it('a NATS bus closes in order when its server is gone', async () => {
  const gone = await startNatsServer();
  const faults = new Heard<string>();
  const bus = await openNatsBus({ servers: gone.url, clientName: 'left', connectTimeoutMs: 5_000 }, (what) => faults.add(what));
  await gone[Symbol.asyncDispose]();
  await faults.until(1);
  expect(bus.connected).toBe(false);
  await bus.drain();
  expect(faults.values).toEqual(['the connection to NATS is lost; reconnecting']);
});
