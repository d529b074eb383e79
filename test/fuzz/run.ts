/** What every run of this suite has: a seed, a time, an innocent client beside it, and what must be true of the processes afterwards. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { GatewayUnderTest, Shape } from '../support/gateway.ts';
import { root } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { answered } from './judge.ts';
import { Upstream } from '../support/upstream.ts';

/** Printed with the run, and enough to have it again; the time is what all four runs take together. */
export const seed = Number(process.env['OMNIBUS_FUZZ_SEED'] ?? 20_261_121);
const seconds = Number(process.env['OMNIBUS_FUZZ_SECONDS'] ?? 40);
/** Messages of clients, and as many requests to hostile servers, after which a run ends instead of after a time; a half in each shape. */
const count = process.env['OMNIBUS_FUZZ_COUNT'];
/** One iteration of one carrier only, to have a failure again. */
export const only = process.env['OMNIBUS_FUZZ_ONLY'];
const runMs = (seconds * 1_000) / 4;
const perShape = count === undefined ? Infinity : Number(count) / 2;
/** Slower than that, no message is answered on any machine. */
const slowestMs = 50;
/** For what comes before and after: starting, settling, looking at memory. */
const aroundMs = 240_000;
export const testMs = (count === undefined ? runMs : perShape * slowestMs) + aroundMs;
/** Far beyond every time limit of the configuration: what is not answered by then hangs. */
export const hangMs = 60_000;
/** Of the gateways here: short, so that what is not answered by a server is answered by the gateway. */
export const timeouts = { call: '300ms', max: '1s', human: '300ms', task: '500ms', idleSession: '10s' };
const grownBytes = 400 * 1024 * 1024;
const settledMs = 60_000;
/** An innocent call takes milliseconds where there is room. */
const momentMs = 250;

/** Whether a run goes on to an iteration. Says every minute how far it is: a run of a million takes an hour. */
export function goesOn(failures: Failures): (iteration: number) => boolean {
  const endsAt = count === undefined ? Date.now() + runMs : Infinity;
  let saysAt = failures.startedAt + progressMs;
  return (iteration) => {
    const now = Date.now();
    if (now >= saysAt) {
      saysAt = now + progressMs;
      process.stdout.write(`fuzz: ${((now - failures.startedAt) / 60_000).toFixed(0)} min, ${iteration} ${count === undefined ? 'so far' : `of ${perShape}`}, ${failures.list.length} failures\n`);
    }
    return iteration < perShape && now < endsAt && failures.list.length < maxShown;
  };
}

const progressMs = 60_000;

/** So many failures say enough. */
const maxShown = 20;

export interface Failure {
  readonly iteration: number;
  readonly carrier: string;
  readonly input: string;
  readonly problem: string;
}

/** Failures of a run. Each is written to a file of its own: `node_modules/.fuzz/<run>-<seed>-<carrier>-<iteration>.txt`. */
export class Failures {
  readonly list: string[] = [];
  /** Of the run: they are made right before it. */
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
    if (this.list.length < maxShown) this.list.push(`seed ${seed}, ${carrier}, iteration ${iteration}: ${problem}\n${input.slice(0, 600)}\n(whole: ${file})`);
  }
}

/** Somebody who does nothing wrong, with a server that does nothing wrong, at the same endpoint. */
export class Innocent implements AsyncDisposable {
  calls = 0;
  readonly wrong: string[] = [];
  readonly upstream: Upstream;
  #isOver = false;
  #running: Promise<void> | undefined;
  /** The call that is on its way. */
  #call: { readonly startedAt: number; readonly ended: Promise<unknown> } | undefined;

  private constructor(upstream: Upstream) {
    this.upstream = upstream;
  }

  static async start(): Promise<Innocent> {
    // On a machine that is loaded a connection that is closed after seconds is closed under the next call, which is nobody's fault here.
    return new Innocent(await Upstream.start({ keepAliveMs: hangMs }));
  }

  /** How the gateway is told of it: its calls are not given up as quickly as those of the others. */
  get server(): object {
    return { url: this.upstream.url, timeout: '30s', maxTime: '60s' };
  }

  /** Calls, one after the other, and compares each answer with what was said, until `stop`. */
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
        const answer = client.post({ jsonrpc: '2.0', id: this.calls, method: 'tools/call', params: { name: 'innocent__echo', arguments: { tag } } }, {}, AbortSignal.timeout(hangMs));
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
   * To be awaited before each message: resolves at once, or when the innocent client has its answer, should that take longer than a
   * moment. So there is never more to do than the machine can, and what is seen of the innocent client is the gateway's doing: when it
   * is kept waiting for ever, so is everybody, and it says so.
   */
  async served(): Promise<void> {
    while (!this.#isOver && this.#call !== undefined && performance.now() - this.#call.startedAt > momentMs) await this.#call.ended;
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

function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes ?? 0) * 1024;
}

/** What a process holds before the run; the gateway has served somebody by then. */
export function memoryOf(gateway: GatewayUnderTest): readonly number[] {
  return gateway.processes.map(({ pid }) => residentBytes(pid));
}

/** No process ended, none met a bug of its own, and none keeps what the run brought. */
export async function expectSound(gateway: GatewayUnderTest, before: readonly number[]): Promise<void> {
  for (const [index, running] of gateway.processes.entries()) {
    expect([running.child.exitCode, running.child.signalCode], running.output().slice(-2_000)).toEqual([null, null]);
    const bugs = running.output().split('\n').filter((line) => /unhandled|uncaught|"level":60|heap out of memory/i.test(line));
    expect(bugs).toEqual([]);
    const metrics = await (await fetch(`http://${await gateway.admin(running)}/metrics`)).text();
    const faults = metrics.split('\n').filter((line) => line.startsWith('omnibus_faults_total{') && !line.endsWith(' 0'));
    expect(faults, running.output().split('\n').filter((line) => line.includes('"incident"') || line.includes('"level":50') || line.includes('"stack"')).slice(-10).join('\n').slice(0, 10_000)).toEqual([]);
    await expect.poll(() => residentBytes(running.pid), { timeout: settledMs, interval: 1_000 }).toBeLessThan((before[index] as number) + grownBytes);
  }
}

export function say(run: string, shape: Shape, counts: Readonly<Record<string, number>>, innocent: Innocent, failures: Failures): void {
  const took = (Date.now() - failures.startedAt) / 1_000;
  const figures = Object.entries(counts).map(([what, count]) => `${count} ${what}`).join(', ');
  process.stdout.write(`\nfuzz ${run}, ${shape}, seed ${seed}, ${took.toFixed(1)} s: ${figures}; ${innocent.calls} calls of an innocent client, ${innocent.wrong.length} wrong; ${failures.list.length} failures\n`
    + `answers: ${[...answered].toSorted(([, a], [, b]) => b - a).slice(0, 40).map(([kind, count]) => `${kind} ${count}`).join(', ')}\n`);
  answered.clear();
}
