import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';

/** Everything that is in the buckets of a NATS, by bucket, as text: what anybody who reaches it can read. */
export async function bucketsOf(url: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const connection = await connect({ servers: url });
  const manager = new Kvm(connection);
  const stored = new Map<string, string[]>();
  for await (const { bucket } of manager.list()) {
    const values: string[] = [];
    const store = await manager.open(bucket);
    const keys: string[] = [];
    for await (const key of await store.keys()) keys.push(key);
    for (const key of keys) values.push((await store.get(key))?.string() ?? '');
    stored.set(bucket, values);
  }
  await connection.close();
  return stored;
}
