/** The common parts of every run of this suite: a seed, a time, an innocent client in parallel, and the checks of the processes afterwards. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { GatewayUnderTest, Shape } from '../support/gateway.ts';
import { byLane } from '../support/lane.ts';
import { collectedMemoryOf } from '../support/metrics.ts';
import { root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { answered } from './judge.ts';
import { Upstream } from '../support/upstream.ts';

/** Printed with the run, and sufficient to repeat it; the time is the sum of all six runs. */
export const seed = Number(process.env['OMNIBUS_FUZZ_SEED'] ?? 20_261_121);
const seconds = byLane('OMNIBUS_FUZZ_SECONDS', 15, 60);
/** Number of messages of clients, and of requests to hostile servers, that a run consists of instead of a time; half of them in each shape. */
const count = process.env['OMNIBUS_FUZZ_COUNT'];
/** One iteration of one carrier only, for repeating a failure. */
export const only = process.env['OMNIBUS_FUZZ_ONLY'];
const runMs = (seconds * 1_000) / 6;
const perShape = count === undefined ? Infinity : Number(count) / 2;
/** An upper bound for the time of one message on any machine. */
const slowestMs = 50;
/** Time for the work before and after: starting, settling, measuring memory. */
const aroundMs = 240_000;
export const testMs = (count === undefined ? runMs : perShape * slowestMs) + aroundMs;
/** Far beyond every time limit of the configuration: a message without an answer by then hangs. */
export const hangMs = 60_000;
/** Time limits of the gateways here: short, so that the gateway answers soon when a server does not. */
export const timeouts = { call: '300ms', max: '1s', human: '300ms', task: '500ms', idleSession: '10s' };
/** After 800,000 messages of clients a gateway held about 40 MB more than before. */
const grownBytes = 100 * 1024 * 1024;
const settledMs = 60_000;
/** The longest time of an innocent call on a machine with free capacity. */
const momentMs = 250;

/** Whether a run continues with an iteration. Prints its progress every minute, since a run of a million takes an hour. */
export function goesOn(failures: Failures): (iteration: number) => boolean {
  const endsAt = count === undefined ? Date.now() + runMs : Infinity;
  let saysAt = failures.startedAt + progressMs;
  return (iteration) => {
    const now = Date.now();
    if (now >= saysAt) {
      saysAt = now + progressMs;
      process.stdout.write(
        `fuzz: ${((now - failures.startedAt) / 60_000).toFixed(0)} min, ${iteration} ${count === undefined ? 'so far' : `of ${perShape}`}, ${failures.list.length} failures\n`,
      );
    }
    return iteration < perShape && now < endsAt && failures.list.length < maxShown;
  };
}

const progressMs = 60_000;

/** Bound on displayed failures. */
const maxShown = 20;

export interface Failure {
  readonly iteration: number;
  readonly carrier: string;
  readonly input: string;
  readonly problem: string;
}

/** The failures of a run. Each is written to a file of its own: `node_modules/.fuzz/<run>-<seed>-<carrier>-<iteration>.txt`. */
export class Failures {
  readonly list: string[] = [];
  /** Start of the run, since the object is created right before it. */
  readonly startedAt = Date.now();
  readonly #run: string;

  constructor(run: string) {
    this.#run = run;
  }

  add({ iteration, carrier, input, problem }: Failure): void {
    const folder = join(root, 'node_modules', '.fuzz');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${this.#run}-${seed}-${carrier}-${iteration}.txt`);
    writeFileSync(file, `${problem}\n\n${input}\n`);
    if (this.list.length < maxShown)
      this.list.push(
        `seed ${seed}, ${carrier}, iteration ${iteration}: ${problem}\n${input.slice(0, 600)}\n(whole: ${file})`,
      );
  }
}

/** A correct client with a correct server, at the same endpoint. */
export class Innocent implements AsyncDisposable {
  calls = 0;
  readonly wrong: string[] = [];
  readonly upstream: Upstream;
  #isOver = false;
  #running: Promise<void> | undefined;
  /** The open call. */
  #call: { readonly startedAt: number; readonly ended: Promise<unknown> } | undefined;

  private constructor(upstream: Upstream) {
    this.upstream = upstream;
  }

  static async start(): Promise<Innocent> {
    // On a busy machine, a keep-alive of seconds could close a connection just when the next call begins, which would not be a fault of the gateway.
    return new Innocent(await Upstream.start({ keepAliveMs: hangMs }));
  }

  /** Its configuration: its calls have longer time limits than those of the other servers. */
  get server(): object {
    return { url: this.upstream.url, timeout: '30s', maxTime: '60s' };
  }

  /** Makes calls, one after the other, until `stop`, and checks that each answer contains the tag of its call. */
  async begin(url: string): Promise<void> {
    const client = await RawClient.open(url);
    await client.untilTools((names) => names.includes('innocent__echo'));
    this.#running = this.#work(client);
  }

  async #work(client: RawClient): Promise<void> {
    while (!this.#isOver) {
      this.calls += 1;
      const tag = `innocent ${this.calls}`;
      try {
        const answer = client.post(
          {
            jsonrpc: '2.0',
            id: this.calls,
            method: 'tools/call',
            params: { name: 'innocent__echo', arguments: { tag } },
          },
          {},
          AbortSignal.timeout(hangMs),
        );
        this.#call = { startedAt: performance.now(), ended: answer.catch(() => undefined) };
        const { status, body } = await answer;
        if (status !== 200 || !body.includes(tag)) this.wrong.push(`${tag}: ${status} ${body.slice(0, 300)}`);
      } catch (error) {
        this.wrong.push(`${tag}: ${String(error)}`);
      }
    }
    client[Symbol.dispose]();
  }

  /**
   * To be awaited before each message: resolves at once, or when the open call of the innocent client is answered, if that takes longer than a moment. So
   * there is never more load than the machine can handle, and delays of the innocent client are caused by the gateway. If its call is never answered, the
   * run stops here and reports it.
   */
  async served(): Promise<void> {
    while (!this.#isOver && this.#call !== undefined && performance.now() - this.#call.startedAt > momentMs)
      await this.#call.ended;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.upstream[Symbol.asyncDispose]();
  }
}

/** The memory of each process before the run, after the gateway has served a first client. */
export function memoryOf(gateway: GatewayUnderTest): Promise<readonly number[]> {
  return Promise.all(gateway.processes.map(collectedMemoryOf));
}

/** Checks that no process ended, none had an internal error, and none keeps memory of the run. */
export async function expectSound(gateway: GatewayUnderTest, before: readonly number[]): Promise<void> {
  for (const [index, running] of gateway.processes.entries()) {
    expect([running.child.exitCode, running.child.signalCode], running.output().slice(-2_000)).toEqual([null, null]);
    const bugs = running
      .output()
      .split('\n')
      .filter((line) => /unhandled|uncaught|"level":60|heap out of memory/i.test(line));
    expect(bugs).toEqual([]);
    const metrics = await (await fetch(`http://${await gateway.admin(running)}/metrics`)).text();
    const faults = metrics
      .split('\n')
      .filter((line) => line.startsWith('omnibus_faults_total{') && !line.endsWith(' 0'));
    expect(
      faults,
      running
        .output()
        .split('\n')
        .filter((line) => line.includes('"incident"') || line.includes('"level":50') || line.includes('"stack"'))
        .slice(-10)
        .join('\n')
        .slice(0, 10_000),
    ).toEqual([]);
    await expect
      .poll(() => collectedMemoryOf(running), { timeout: settledMs, interval: 1_000 })
      .toBeLessThan((before[index] as number) + grownBytes);
  }
}

export function say(
  run: string,
  shape: Shape,
  counts: Readonly<Record<string, number>>,
  innocent: Innocent,
  failures: Failures,
): void {
  const took = (Date.now() - failures.startedAt) / 1_000;
  const figures = Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');
  process.stdout.write(
    `\nfuzz ${run}, ${shape}, seed ${seed}, ${took.toFixed(1)} s: ${figures}; ${innocent.calls} calls of an innocent client, ${innocent.wrong.length} wrong; ${failures.list.length} failures\n` +
      `answers: ${[...answered]
        .toSorted(([, a], [, b]) => b - a)
        .slice(0, 40)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ')}\n`,
  );
  answered.clear();
}
