/** Changes of values that several processes may change at once. */
import type { KeyValue } from './bus.ts';
import { isConflict } from './errors.ts';

/** Each try begins with the latest value, so one of the writers succeeds each time. */
const maxTries = 16;

/**
 * Changes a value, starting from its latest state, and starts again if another process has changed it meanwhile.
 * @param change returns the next value: undefined deletes the key, the same value leaves it. It may be called several times.
 * @returns the next value.
 * @throws {BusError} as the bus does; `revision-conflict` if other processes change the value all the time.
 * Errors of `change` pass unchanged.
 */
export async function changeValue<Value, Next extends Value | undefined>(
  bucket: Pick<KeyValue<Value>, 'get' | 'create' | 'update' | 'delete'>,
  key: string,
  change: (value: Value | undefined) => Next,
): Promise<Next> {
  for (let tries = 1; ; tries += 1) {
    const entry = await bucket.get(key);
    const next = change(entry?.value);
    try {
      if (next !== entry?.value) await write(bucket, key, next, entry?.revision);
      return next;
    } catch (error) {
      if (!isConflict(error) || tries >= maxTries) throw error;
    }
  }
}

/** @param revision of the present value; undefined if there is none. */
async function write<Value>(
  bucket: Pick<KeyValue<Value>, 'create' | 'update' | 'delete'>,
  key: string,
  next: Value | undefined,
  revision: number | undefined,
): Promise<void> {
  if (revision === undefined) await bucket.create(key, next as Value);
  else if (next === undefined) await bucket.delete(key, revision);
  else await bucket.update(key, next, revision);
}
