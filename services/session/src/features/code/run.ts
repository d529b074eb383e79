/** One run of a script. */
import { randomInt } from 'node:crypto';
import { coderNames } from '@omnibus/catalog';
import {
  errorResult,
  fault,
  isObject,
  parseJson,
  readOwnLimit,
  textResult,
  type JsonObject,
  type ServerName,
} from '@omnibus/protocol';
import type { CallStream } from '../../call/client-port.ts';
import { InnerRun, type RunEnd } from '../../call/inner-run.ts';
import type { InnerStream, SettledCall } from '../../call/inner-stream.ts';
import { WaitingRequest, type RequestsWithin } from '../../call/open-requests.ts';
import type { OuterCall } from '../../call/outer-call.ts';
import type { OwnTools } from '../../call/own-tools.ts';
import { ScriptFunctions } from './names.ts';
import { ScriptHost } from './script-host.ts';
import type { FromScript, Script, ScriptEnd, ScriptLimits } from './script-messages.ts';

interface RunBounds extends Omit<ScriptLimits, 'argumentLength' | 'openLength'> {
  /** Milliseconds without those that users are asked. */
  readonly timeoutMs: number;
  readonly callsAtOnce: number;
  readonly refusals: number;
}

type Called = Extract<FromScript, { kind: 'call' }>;

/** The time of a script is counted in steps of so many milliseconds. */
const tickMs = 250;
/** Reasons with which the gateway itself refuses a call, as opposed to servers that fail. */
const refusals = /^(policy|guardrail|approval|limit|call|auth|definition|tool|params)\./;

export class Run<Stream extends CallStream> extends InnerRun<Stream> {
  readonly #bounds: RunBounds;
  readonly #left: (end: RunEnd) => void;
  readonly #functions: ScriptFunctions;
  readonly #script: Script;
  #host: ScriptHost | undefined;
  readonly #tools: OwnTools;
  readonly #seed = randomInt(2 ** 32);
  /** Calls that wait for others of the same script. */
  readonly #queue: Called[] = [];
  #running = 0;
  #refusals = 0;
  #leftMs: number;
  #limit = 'code.timeout';

  /**
   * @param tools of the gateway that scripts call.
   * @param left called once, when it has ended.
   */
  constructor(
    outer: OuterCall<Stream>,
    code: string,
    { bounds, tools }: { readonly bounds: RunBounds; readonly tools: OwnTools },
    left: (end: RunEnd) => void,
  ) {
    super(outer, coderNames.run);
    const { carrier, params, view } = outer;
    const { host } = carrier;
    this.#bounds = bounds;
    this.#tools = tools;
    this.#left = left;
    this.#functions = ScriptFunctions.of(view);
    this.#leftMs = bounds.timeoutMs;
    const own = readOwnLimit(params);
    if (typeof own === 'number' && own < this.#leftMs) {
      this.#leftMs = own;
      this.#limit = 'the time limit of the request';
    }
    this.#script = {
      code,
      names: this.#functions.json,
      now: Date.now(),
      seed: this.#seed,
      limits: { ...bounds, argumentLength: host.limits.maxBodyBytes / 8, openLength: host.limits.maxBodyBytes },
    };
  }

  protected override start(): void {
    this.#host = new ScriptHost(this.#script, {
      begun: () => this.#tick(),
      called: (call) => this.#called(call),
      ended: (end) => this.#ended(end),
    });
  }

  // --- time --------------------------------------------------------------------------------------------------------------------

  /** Time passes, except while a call waits for a user, or for a check before it is sent. */
  #tick(): void {
    const { wheel } = this.outer.carrier.host;
    const stepMs = Math.min(tickMs, this.#leftMs);
    wheel.schedule(stepMs, () => {
      if (this.isOver) return;
      if (!this.#isHeld) this.#leftMs -= stepMs;
      if (this.#leftMs > 0) this.#tick();
      else this.#ended({ isOk: false, text: `the script ran for too long (${this.#limit})`, printed: '' });
    });
  }

  /** Whether a call waits for a user, or for a check before it is sent. */
  get #isHeld(): boolean {
    return this.client.isAsked || holdsWaiting(this.forwarding);
  }

  // --- calls -------------------------------------------------------------------------------------------------------------------

  #called(call: Called): void {
    this.calls += 1;
    if (this.#running < this.#bounds.callsAtOnce) this.#send(call);
    else this.#queue.push(call);
  }

  #send({ id, server, tool, args }: Called): void {
    this.#running += 1;
    const offered = this.#functions.get(server, tool);
    const name = `${server}.${tool}`;
    const stream = this.streamOf(id, (settled, refused) => this.#settled(name, settled, refused));
    const given = argumentsOf(args);
    if (offered === undefined) stream.refuse(id, fault('tool.unknown', `there is no function servers.${name}`));
    else if (given === undefined)
      stream.refuse(id, fault('params.invalid', `servers.${name} takes one object with its arguments`));
    else this.#make(stream, id, offered.publicName, given);
  }

  #make(stream: InnerStream, id: number, name: string, given: JsonObject): void {
    const meant = this.view.hasComposite(name)
      ? this.#tools.meant(this.view, { name, arguments: given }, true)
      : undefined;
    if (meant?.kind !== 'run') {
      this.forward(stream, id, name, given);
      return;
    }
    for (const { name: composite, needs } of this.view.definition.composites ?? [])
      if (composite === name)
        for (const key of needs)
          this.uses(key.slice(0, key.indexOf('/')) as ServerName, key.slice(key.indexOf('/') + 1));
    this.forward(stream, id, name, given, { run: meant });
  }

  #settled(name: string, settled: SettledCall, refused: string | undefined): void {
    if (this.isOver) return;
    this.#running -= 1;
    if (refused !== undefined && refusals.test(refused)) this.#refusals += 1;
    if (this.#refusals >= this.#bounds.refusals) {
      const { message } = JSON.parse(settled.text) as { readonly message: string };
      this.#ended({
        isOk: false,
        text: `the gateway has refused ${this.#refusals} calls, so the script was ended (code.refusals). The last one: servers.${name}: ${message}`,
        printed: '',
      });
      return;
    }
    this.#host?.settle([settled]);
    this.report(`servers.${name} ${settled.isOk ? 'has answered' : 'has failed'}`);
    const next = this.#queue.shift();
    if (next !== undefined) this.#send(next);
  }

  // --- the end -----------------------------------------------------------------------------------------------------------------

  #ended({ isOk, text, printed }: ScriptEnd): void {
    const said = [printed, text].filter((each) => each !== '').join('\n') || 'The script has returned nothing.';
    this.answer(isOk ? textResult(said) : errorResult(said));
  }

  protected override stopped(): void {
    this.#host?.kill();
    this.#queue.length = 0;
  }

  protected override facts(): Readonly<Record<string, number>> {
    return { seed: this.#seed, refusals: this.#refusals };
  }

  protected override left(end: RunEnd): void {
    this.#left(end);
  }
}

/** Whether a call waits for a check, here or inside a call of an own tool. */
function holdsWaiting({ open }: RequestsWithin): boolean {
  return (
    open.find((each) => each instanceof WaitingRequest || (each.within !== undefined && holdsWaiting(each.within))) !==
    undefined
  );
}

/** @param json of the script. @returns undefined if it is no object. */
function argumentsOf(json: string): JsonObject | undefined {
  try {
    const given = parseJson(json);
    return isObject(given) ? given : undefined;
  } catch {
    return undefined;
  }
}
