/** The runs of scripts at one worker: how many there are, in all and for each caller, and the bounds of each. */
import type { Config } from '@omnibus/config';
import { fault, type GatewayFault } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { shareOf } from '../../call/client-of.ts';
import type { CallStream } from '../../call/client-port.ts';
import type { OuterCall } from '../../call/outer-call.ts';
import type { OwnTools } from '../../call/own-tools.ts';
import { Run } from './run.ts';
import type { ScriptTasks } from './tasks/script-tasks.ts';

export class Runs {
  readonly #metrics: Pick<Metrics, 'code'>;
  #code: Config['code'];
  readonly #byCaller = new Map<string, number>();
  #size = 0;

  readonly #own: OwnTools;
  readonly #tasks: ScriptTasks;

  /** @param own tools of the gateway that scripts call. */
  constructor({ code }: Config, metrics: Pick<Metrics, 'code'>, own: OwnTools, tasks: ScriptTasks) {
    this.#own = own;
    this.#tasks = tasks;
    this.#code = code;
    this.#metrics = metrics;
  }

  /** Runs that run keep their bounds. */
  apply({ code }: Config): void {
    this.#code = code;
  }

  begin<Stream extends CallStream>(outer: OuterCall<Stream>, code: string): void {
    if (this.#tasks.takes(outer)) this.#tasks.begin(outer, (inner) => this.#begin(inner, code));
    else this.#begin(outer, code);
  }

  #begin<Stream extends CallStream>(outer: OuterCall<Stream>, code: string): void {
    const { port } = outer.carrier;
    const share = shareOf(port.caller, port.facts);
    const full = this.#take(share);
    if (full !== undefined) {
      this.#metrics.code.ended('busy');
      outer.carrier.messages.deny({ ...outer, method: 'tools/call', given: outer.params }, full);
      return;
    }
    const { timeout, cpu, memory, calls, callsAtOnce, refusals, outputLength } = this.#code;
    const bounds = { timeoutMs: timeout, cpuMs: cpu, memoryBytes: memory, calls, callsAtOnce, refusals, outputLength };
    const run = new Run(outer, code, { bounds, tools: this.#own }, ({ outcome, durationMs, calls: made }) => {
      this.#give(share);
      this.#metrics.code.ended(outcome);
      this.#metrics.code.took(durationMs, made);
    });
    run.begin();
  }

  #take(share: string): GatewayFault | undefined {
    const { runs, runsPerCaller } = this.#code;
    const own = this.#byCaller.get(share) ?? 0;
    if (own >= runsPerCaller) return fault('code.busy', `this caller runs ${own} scripts already (code.runsPerCaller)`);
    if (this.#size >= runs) return fault('code.busy', `${this.#size} scripts run already (code.runs)`);
    this.#byCaller.set(share, own + 1);
    this.#size += 1;
    this.#metrics.code.running.set(this.#size);
    return undefined;
  }

  #give(share: string): void {
    const own = this.#byCaller.get(share) ?? 1;
    if (own > 1) this.#byCaller.set(share, own - 1);
    else this.#byCaller.delete(share);
    this.#size -= 1;
    this.#metrics.code.running.set(this.#size);
  }
}
