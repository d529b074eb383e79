/** One pod of the stand-in for a node: its container as a process, its probes, and its status at the API server. */
import { setTimeout as pause } from 'node:timers/promises';
import { type RunningProcess, startProcess } from '../processes.ts';
import { commandOf, type Placed } from './container-files.ts';
import type { Image, Metadata, Probe } from './pod-types.ts';

const longestPauseMs = 10_000;

export class Pod implements AsyncDisposable {
  readonly placed: Placed;
  readonly metadata: Metadata;
  readonly #image: Image;
  readonly #stopping = new AbortController();
  readonly #ready = Promise.withResolvers<void>();
  #process: RunningProcess | undefined;
  #life: Promise<void> = Promise.resolve();
  /** Whether its Services may send connections to it. */
  isReady = false;
  /** How often its container was started. */
  starts = 0;

  constructor(placed: Placed, metadata: Metadata, image: Image) {
    this.placed = placed;
    this.metadata = metadata;
    this.#image = image;
    this.#ready.promise.catch(() => undefined);
  }

  /** Resolves when it has been ready once; for the pod of a Job, when that has succeeded. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** The output of its last container. */
  get output(): string {
    return this.#process?.output() ?? '';
  }

  start(): void {
    this.#life = this.#live().catch((error: unknown) => this.#ready.reject(error as Error));
  }

  /** The number of a port of its container. */
  portOf(port: number | string): number {
    const [{ ports = [] }] = this.placed.spec.containers;
    const found = typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort;
    if (found === undefined) throw new Error(`${this.placed.name} has no port "${port}"`);
    return found;
  }

  /** Runs the container, and again when it ends, after a pause that grows. */
  async #live(): Promise<void> {
    const { spec } = this.placed;
    const [container] = spec.containers;
    const [command, ...args] = (await commandOf(this.placed, container, this.#image)) as [string, ...string[]];
    for (let pauseMs = 500; !this.#stopping.signal.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const running = startProcess(command, args);
      this.#process = running;
      this.starts += 1;
      const ended = new AbortController();
      const exited = new Promise<void>((resolve) => running.child.once('exit', () => resolve()));
      const probes = this.#probe(AbortSignal.any([ended.signal, this.#stopping.signal])).catch(() => undefined);
      await exited;
      ended.abort();
      await probes;
      this.isReady = false;
      if (this.#stopping.signal.aborted) return;
      if (running.child.exitCode === 0 && spec.restartPolicy === 'OnFailure') {
        await this.#say('Succeeded', false);
        this.#ready.resolve();
        return;
      }
      await this.#say('Running', false);
      await pause(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** Asks until the container has begun, and then whether it is ready and alive. */
  async #probe(signal: AbortSignal): Promise<void> {
    const [{ startupProbe, livenessProbe, readinessProbe }] = this.placed.spec.containers;
    if (startupProbe !== undefined && !(await this.#until(startupProbe, true, signal))) {
      this.#process?.kill('SIGKILL');
      return;
    }
    await Promise.all([
      readinessProbe === undefined ? undefined : this.#follow(readinessProbe, signal),
      livenessProbe === undefined
        ? undefined
        : this.#until(livenessProbe, false, signal).then((isDead) => {
            if (isDead) this.#process?.kill('SIGKILL');
          }),
    ]);
  }

  /** Asks until an answer is the wanted one: a good one at once, a bad one as often in a row as the probe says. @returns false when a good one does not come. */
  async #until(probe: Probe, isGood: boolean, signal: AbortSignal): Promise<boolean> {
    for (let bad = 0; bad < (probe.failureThreshold ?? 3);) {
      if (await this.#answers(probe, signal)) {
        if (isGood) return true;
        bad = 0;
      } else bad += 1;
      await pause(1_000 * (probe.periodSeconds ?? 10), undefined, { signal });
    }
    return !isGood;
  }

  async #follow(probe: Probe, signal: AbortSignal): Promise<void> {
    for (let bad = 0; !signal.aborted;) {
      const isGood = await this.#answers(probe, signal);
      bad = isGood ? 0 : bad + 1;
      if (isGood !== this.isReady && (isGood || bad >= (probe.failureThreshold ?? 3))) {
        this.isReady = isGood;
        await this.#say('Running', isGood);
        if (isGood) this.#ready.resolve();
      }
      await pause(1_000 * (this.isReady ? (probe.periodSeconds ?? 10) : 1), undefined, { signal });
    }
  }

  async #answers({ httpGet, timeoutSeconds = 1 }: Probe, signal: AbortSignal): Promise<boolean> {
    if (httpGet === undefined) throw new Error('the stand-in for a node knows probes by HTTP only');
    const { address } = this.placed;
    const url = `http://${address}:${this.portOf(httpGet.port)}${httpGet.path}`;
    try {
      const answer = await fetch(url, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(1_000 * timeoutSeconds)]),
      });
      await answer.body?.cancel();
      return answer.ok;
    } catch {
      return false;
    }
  }

  async #say(phase: 'Running' | 'Succeeded', isReady: boolean): Promise<void> {
    const { api, namespace, name, address } = this.placed;
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
    await api.mergeStatus({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace },
      status: { phase, podIP: address, podIPs: [{ ip: address }], conditions },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#process?.[Symbol.asyncDispose]();
    await this.#life;
  }
}
