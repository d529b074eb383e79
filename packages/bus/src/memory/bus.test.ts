import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { busContract } from '../testing/contract.ts';
import { FolderStore } from '../folder/store.ts';
import { MemoryBus } from './bus.ts';

busContract('the memory bus', async (onFault) => {
  const bus = new MemoryBus(onFault);
  return { near: bus, far: bus, [Symbol.asyncDispose]: () => bus.drain() };
});

busContract('the memory bus with a store', async (onFault) => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-store-'));
  const bus = new MemoryBus(onFault, await FolderStore.open(folder, onFault));
  return {
    near: bus,
    far: bus,
    async [Symbol.asyncDispose]() {
      await bus.drain();
      await rm(folder, { recursive: true });
    },
  };
});
