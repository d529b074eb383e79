import { busContract } from '../testing/contract.ts';
import { MemoryBus } from './bus.ts';

busContract('the memory bus', async (onFault) => {
  const bus = new MemoryBus(onFault);
  return { near: bus, far: bus, [Symbol.asyncDispose]: () => bus.drain() };
});
