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

  until(count: number): Promise<Value[]> {
    if (this.values.length >= count) return Promise.resolve(this.values);
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }
}
