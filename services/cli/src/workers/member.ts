/** One process of a gateway with several workers, as the supervisor sees it. */
import cluster, { type Worker } from 'node:cluster';
import type { Socket } from 'node:net';
import type { LocalHub } from '@omnibus/bus';
import {
  format,
  pipeDescriptor,
  type Answers,
  type FromWorker,
  type QuestionKind,
  type ToWorker,
  type WorkerStart,
} from './messages.ts';

/** Milliseconds beyond its own limit after which a process that does not stop is killed. */
const stopSlackMs = 5_000;
/** Milliseconds for that until the process has said how long it may take. */
const defaultStopMs = 30_000;
/** Milliseconds in which a process must answer a question. */
const answerMs = 10_000;

export interface Ended {
  /** The exit status, or the signal that ended it. */
  readonly status: number | string;
  readonly ranMs: number;
}

export class Member {
  readonly #worker: Worker;
  readonly #startedAt = performance.now();
  readonly #asked = new Map<number, (body: Answers[QuestionKind] | undefined) => void>();
  readonly #listening = Promise.withResolvers<string | undefined>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<Ended>();
  #lastAsked = 0;
  #stopMs = defaultStopMs;
  #isListening = false;
  isReady = false;

  constructor(hub: LocalHub, start: Omit<WorkerStart, 'kind' | 'format'>) {
    // Workers get no input; the channel of messages and the pipe to the hub come after the standard streams.
    cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] });
    this.#worker = cluster.fork();
    this.#ready.promise.catch(() => undefined);
    this.#listening.promise.catch(() => undefined);
    this.#worker.on('message', (message: FromWorker) => this.#hear(message));
    this.#worker.on('exit', (code, signal) => this.#end(signal === null || signal === '' ? code : signal));
    // A process that cannot be started, or to which a message cannot be sent, ends.
    this.#worker.on('error', () => undefined);
    hub.attach(this.#worker.process.stdio[pipeDescriptor] as Socket);
    this.#tell({ kind: 'start', format, ...start });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Resolves with the endpoint when clients can connect. @throws {Error} in words for the operator if the process ends before. */
  get listening(): Promise<string | undefined> {
    return this.#listening.promise;
  }

  /** Resolves when all its servers are settled. @throws {Error} in words for the operator if the process ends before. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get ended(): Promise<Ended> {
    return this.#ended.promise;
  }

  /** @returns undefined if the process does not listen yet, does not answer in time, or has ended. */
  async ask<Kind extends QuestionKind>(question: Kind): Promise<Answers[Kind] | undefined> {
    if (!this.#isListening) return undefined;
    this.#lastAsked += 1;
    const number = this.#lastAsked;
    const { promise, resolve } = Promise.withResolvers<Answers[QuestionKind] | undefined>();
    this.#asked.set(number, resolve);
    const limit = setTimeout(() => resolve(undefined), answerMs);
    this.#tell({ kind: 'ask', question, number });
    const body = await promise;
    clearTimeout(limit);
    this.#asked.delete(number);
    return body as Answers[Kind] | undefined;
  }

  /** Lets running calls end, and resolves when the process has ended. @param leaveMs how long clients have to connect to another one. */
  async stop(leaveMs: number): Promise<void> {
    this.#tell({ kind: 'stop', leaveMs });
    const limit = setTimeout(() => this.#worker.process.kill('SIGKILL'), leaveMs + this.#stopMs + stopSlackMs);
    await this.ended;
    clearTimeout(limit);
  }

  #tell(message: ToWorker): void {
    if (this.#worker.isConnected()) this.#worker.send(message);
  }

  #hear(message: FromWorker): void {
    switch (message.kind) {
      case 'listening':
        this.#stopMs = message.stopMs;
        this.#isListening = true;
        this.#listening.resolve(message.endpoint);
        return;
      case 'ready':
        this.isReady = true;
        this.#ready.resolve();
        return;
      case 'answer':
        this.#asked.get(message.number)?.(message.body);
    }
  }

  #end(status: number | string): void {
    const problem = new Error(`a worker ended (${status}) before it served; its lines above say why`);
    this.isReady = false;
    this.#isListening = false;
    this.#listening.reject(problem);
    this.#ready.reject(problem);
    for (const resolve of this.#asked.values()) resolve(undefined);
    this.#ended.resolve({ status, ranMs: performance.now() - this.#startedAt });
  }
}
