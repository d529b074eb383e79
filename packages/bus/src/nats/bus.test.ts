import { afterAll } from 'vitest';
import { busContract } from '../testing/contract.ts';
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
