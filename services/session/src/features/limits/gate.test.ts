/** A call that waits until a part of a quota is leased, at a session worker on a bus in memory. */
import { expect, it, onTestFinished } from 'vitest';
import { MemoryBus, quotaBuckets, type Bucket, type KeyValue } from '@omnibus/bus';
import { latestLegacyRevision, latestModernRevision, noLists } from '@omnibus/protocol';
import { callerOf, WorkerUnderTest } from '../../worker-under-test.ts';

/** Delays reads of quotas until the test releases them. */
class SlowQuotas extends MemoryBus {
  held: (() => void)[] | undefined;

  override async keyValue<Value>(bucket: Bucket<Value>): Promise<KeyValue<Value>> {
    const store = await super.keyValue(bucket);
    if (bucket.name !== quotaBuckets.day.name) return store;
    const get = store.get.bind(store);
    store.get = async (key) => {
      if (this.held !== undefined) await new Promise<void>((resolve) => this.held?.push(resolve));
      return get(key);
    };
    return store;
  }
}

const tools = [{ name: 'pay', inputSchema: { type: 'object' } }];

it.each([latestModernRevision, latestLegacyRevision])(
  '%s: a call whose name leads to another server after the wait for its quota counts there, and not where it led before',
  async (revision) => {
    let bus: SlowQuotas | undefined;
    const worker = await WorkerUnderTest.start(
      ['bank', 'other'],
      {
        prefix: 'never',
        auth: { keys: { file: 'keys.yaml' } },
        limits: {
          rules: [
            { id: 'bank', what: ['bank'], quota: '1/day' },
            { id: 'other', what: ['other'], quota: '1/day' },
          ],
        },
      },
      undefined,
      (onFault) => (bus = new SlowQuotas(onFault)),
    );
    onTestFinished(() => worker.stop());
    const put = async (at: string, elsewhere: string): Promise<void> => {
      await worker.put(elsewhere, { capabilities: { tools: {} } });
      await worker.put(at, { capabilities: { tools: {} }, lists: { ...noLists, tools } });
    };
    await put('bank', 'other');
    const client = await worker.open(revision, {}, callerOf('ann'));
    const quotas = bus as SlowQuotas;
    quotas.held = [];
    const paid = client.ask('tools/call', { name: 'pay' });
    await expect.poll(() => quotas.held?.length).toBe(1);
    await put('other', 'bank');
    const { held } = quotas;
    quotas.held = undefined;
    for (const go of held) go();
    expect((await paid).error).toBeUndefined();
    const reasonOf = async (): Promise<unknown> => (await client.ask('tools/call', { name: 'pay' })).error?.data;
    expect(await reasonOf()).toMatchObject({ reason: 'limit.quota' });
    // The lease of the first server's quota was returned.
    await put('bank', 'other');
    expect(await reasonOf()).toBeUndefined();
    expect(await reasonOf()).toMatchObject({ reason: 'limit.quota' });
    expect(worker.reached).toEqual(['other', 'bank']);
    expect(worker.faults).toEqual([]);
  },
);
