/** An embedding model of a folder, on a thread of this process, so that its work does not delay calls. */
import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { packed, type PackedVector } from '../meaning.ts';
import { manifestOf } from './folder.ts';
import type { EmbeddingModel } from './embedding-model.ts';
import type { ThreadAnswer, ThreadRequest } from './model-thread.ts';

/** Small, since a question waits for the batch before it. */
const batch = 4;

interface Waiting {
  readonly done: (vectors: readonly PackedVector[]) => void;
  readonly failed: (error: Error) => void;
}

/** Opens a folder; the model is loaded at the first request. @throws {Error} if the folder is not prepared. */
export function openFolder(folder: string): EmbeddingModel {
  const manifest = manifestOf(folder);
  return new LocalModel(folder, createHash('sha256').update(JSON.stringify(manifest.files)).digest('base64url'));
}

class LocalModel implements EmbeddingModel {
  readonly id: string;
  readonly batch = batch;
  readonly #folder: string;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #requests = 0;

  constructor(folder: string, id: string) {
    this.#folder = folder;
    this.id = id;
  }

  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly PackedVector[]> {
    signal.throwIfAborted();
    this.#requests += 1;
    const id = this.#requests;
    const thread = this.#thread ?? this.#start();
    return new Promise((done, failed) => {
      const stop = (): void => {
        this.#waiting.delete(id);
        failed(signal.reason as Error);
      };
      signal.addEventListener('abort', stop, { once: true });
      this.#waiting.set(id, {
        done: (vectors) => {
          signal.removeEventListener('abort', stop);
          done(vectors);
        },
        failed: (error) => {
          signal.removeEventListener('abort', stop);
          failed(error);
        },
      });
      thread.postMessage({ id, texts } satisfies ThreadRequest);
    });
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#fail(new Error('the model is closed'));
    await thread?.terminate();
  }

  #start(): Worker {
    const thread = new Worker(new URL(`./model-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: this.#folder,
    });
    // The process may end while the model is loaded.
    thread.unref();
    thread.on('message', (answer: ThreadAnswer) => this.#answered(answer));
    // After an error comes the exit, when a next thread may run already.
    const ended = (error: Error): void => {
      if (this.#thread === thread) this.#fail(error);
    };
    thread.on('error', (error) => ended(error as Error));
    thread.on('exit', () => ended(new Error('the thread of the model has ended')));
    this.#thread = thread;
    return thread;
  }

  #answered(answer: ThreadAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.id);
    if (answer.problem !== undefined) {
      waiting.failed(new Error(answer.problem));
      return;
    }
    const { numbers, count } = answer;
    const size = numbers.length / count;
    const vectors = Array.from({ length: count }, (_none, at) => packed(numbers.subarray(at * size, (at + 1) * size)));
    if (vectors.every((vector) => vector !== undefined)) waiting.done(vectors);
    else waiting.failed(new Error('the model gave a vector without a direction'));
  }

  /** The thread is gone; the next request starts another one. */
  #fail(error: Error): void {
    this.#thread = undefined;
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { failed } of all) failed(error);
  }
}
