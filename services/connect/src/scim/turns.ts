/** Acts on one name that come one after the other. */
export class Turns {
  /** The last act of each name that has some. */
  readonly #last = new Map<string, Promise<void>>();

  /** Runs an act when all earlier ones of this name have ended, however they did. */
  async take<Result>(name: string, act: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(name);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(name, ended);
    await before;
    try {
      return await act();
    } finally {
      if (this.#last.get(name) === ended) this.#last.delete(name);
      end();
    }
  }
}
