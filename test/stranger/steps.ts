/** Steps of a stranger, each timed as it is done. A step that fails ends the path. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface Step {
  readonly path: string;
  readonly what: string;
  readonly seconds: number;
  /** Megabytes that the step has downloaded or written, where it does. */
  readonly megabytes: number | undefined;
}

export class Steps {
  readonly all: Step[] = [];
  readonly #path: string;
  readonly #tell: (step: Step) => void;

  constructor(path: string, tell: (step: Step) => void) {
    this.#path = path;
    this.#tell = tell;
  }

  /** @param folders that the step fills; their size counts when it is done. @throws {Error} that names the step. */
  async do<Result>(what: string, work: () => Promise<Result>, folders: readonly string[] = []): Promise<Result> {
    const began = performance.now();
    let result: Result;
    try {
      result = await work();
    } catch (error) {
      throw new Error(`${this.#path}: ${what}: ${(error as Error).message}`, { cause: error });
    }
    const seconds = (performance.now() - began) / 1_000;
    const sizes = await Promise.all(folders.map(sizeOf));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const step = { path: this.#path, what, seconds, megabytes: folders.length === 0 ? undefined : bytes / 1e6 };
    this.all.push(step);
    this.#tell(step);
    return result;
  }
}

/** Bytes of the files in a folder; 0 where there is none. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
