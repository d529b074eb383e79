/** The clock of the machine: tests turn the one of their globals. */
const { setTimeout, clearTimeout } = globalThis;
/** As long as a look of a test (`vitest.config.ts`). */
const limitMs = 120_000;

/** Collects the values that an observer or a watcher receives, and lets a test wait for the n-th. */
export class Heard<Value> {
  readonly values: Value[] = [];
  #waiting: { readonly count: number; readonly resolve: (values: Value[]) => void }[] = [];

  readonly add = (value: Value): void => {
    this.values.push(value);
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (this.values.length < count) return true;
      resolve(this.values);
      return false;
    });
  };

  /** The first value, past or future, that fits. */
  async untilSome(fits: (value: Value) => boolean): Promise<Value> {
    for (let count = 1; ; count += 1) {
      const value = (await this.until(count))[count - 1] as Value;
      if (fits(value)) return value;
    }
  }

  /** @throws {Error} with the values that came if fewer come in two minutes. */
  until(count: number): Promise<Value[]> {
    if (this.values.length >= count) return Promise.resolve(this.values);
    const waited = new Promise<Value[]>((resolve, reject) => {
      const limit = setTimeout(() => {
        reject(new Error(`waited for ${count} values, and heard ${JSON.stringify(this.values)}`));
      }, limitMs);
      this.#waiting.push({
        count,
        resolve: (values) => {
          clearTimeout(limit);
          resolve(values);
        },
      });
    });
    // A test may stop waiting.
    waited.catch(() => undefined);
    return waited;
  }
}
