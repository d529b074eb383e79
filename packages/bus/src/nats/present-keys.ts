/**
 * Finds out when a watcher has received every key that is present. Counting would be wrong, since deleted keys are delivered too, and others expire
 * meanwhile.
 */
const lookMs = 1_000;

export class PresentKeys {
  readonly #list: () => Promise<readonly string[]>;
  readonly #heard = new Set<string>();
  #missing: Set<string> | undefined;
  #isDone = false;
  #done: () => void = () => undefined;

  /** @param list gives the keys that are present now; called once the watch has begun. */
  constructor(list: () => Promise<readonly string[]>) {
    this.#list = list;
  }

  heard(key: string): void {
    if (this.#isDone) return;
    this.#heard.add(key);
    if (this.#missing?.delete(key) === true && this.#missing.size === 0) this.#finish();
  }

  /** Resolves when all present keys were received. @throws {Error} when the keys cannot be listed. */
  async allHeard(): Promise<void> {
    const all = new Promise<void>((resolve) => {
      this.#done = resolve;
    });
    while (!this.#isDone) {
      // The keys are listed again from time to time, since a key that expires without a message would be waited for.
      this.#missing = new Set((await this.#list()).filter((key) => !this.#heard.has(key)));
      if (this.#missing.size === 0) this.#finish();
      else await Promise.race([all, pause(lookMs)]);
    }
  }

  #finish(): void {
    this.#isDone = true;
    this.#heard.clear();
    this.#done();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
