/**
 * One run of a script: it is one open request of its client, and the calls that it makes start where calls of clients start, so gates, watchers and
 * transforms see each of them. The script is never run a second time.
 */
import { randomInt } from 'node:crypto';
import { coderNames } from '@omnibus/catalog';
import {
  fault,
  isJsonRpcId,
  isObject,
  parseJson,
  readOwnLimit,
  type GatewayFault,
  type JsonObject,
  type JsonRpcId,
  type ProgressEvent,
} from '@omnibus/protocol';
import type { CallStream } from '../../call/client-port.ts';
import { Forwarding } from '../../call/forward.ts';
import { OpenRequest, WaitingRequest } from '../../call/open-requests.ts';
import type { OuterCall } from '../../call/outer-call.ts';
import type { Note, Requested } from '../../call/watchers.ts';
import { textResult } from './find-api.ts';
import { InnerClient } from '../../call/inner-client.ts';
import { InnerStream, type RunStream } from './inner-stream.ts';
import { ScriptFunctions } from './names.ts';
import { ScriptHost } from './script-host.ts';
import type { FromScript, ScriptEnd, ScriptLimits, SettledCall } from './script-messages.ts';

interface RunBounds extends Omit<ScriptLimits, 'argumentLength' | 'openLength'> {
  /** Milliseconds without those that users are asked. */
  readonly timeoutMs: number;
  readonly callsAtOnce: number;
  readonly refusals: number;
}

interface RunEnd {
  readonly outcome: string;
  readonly durationMs: number;
  readonly calls: number;
}

type Called = Extract<FromScript, { kind: 'call' }>;

/** The time of a script is counted in steps of so many milliseconds. */
const tickMs = 250;
const maxProgressLength = 300;
/** Reasons with which the gateway itself refuses a call, as opposed to servers that fail. */
const refusals = /^(policy|guardrail|approval|limit|call|auth|definition|tool|params)\./;

export class Run<Stream extends CallStream> extends OpenRequest {
  readonly #outer: OuterCall<Stream>;
  readonly #bounds: RunBounds;
  readonly #left: (end: RunEnd) => void;
  readonly #functions: ScriptFunctions;
  readonly #client: InnerClient<Stream>;
  readonly #forwarding: Forwarding<CallStream>;
  readonly #host: ScriptHost;
  readonly #stream: RunStream;
  readonly #token: JsonRpcId | undefined;
  readonly #began = performance.now();
  readonly #seed = randomInt(2 ** 32);
  /** Calls that wait for others of the same script. */
  readonly #queue: Called[] = [];
  #running = 0;
  #calls = 0;
  #refusals = 0;
  #progress = 0;
  #leftMs: number;
  #limit = 'code.timeout';
  #isOver = false;

  /** @param left called once, when it has ended. */
  constructor(outer: OuterCall<Stream>, code: string, bounds: RunBounds, left: (end: RunEnd) => void) {
    super({ id: outer.id, stream: outer.stream }, undefined, undefined);
    const { carrier, stream, params, view } = outer;
    const { host } = carrier;
    this.#outer = outer;
    this.#bounds = bounds;
    this.#left = left;
    this.#functions = ScriptFunctions.of(view);
    this.#client = new InnerClient(outer, (event) => this.#progressed(event));
    this.#forwarding = new Forwarding(
      host,
      this.#client,
      { idle: () => undefined, doubt: () => carrier.open.doubt() },
      carrier.kept,
    );
    this.#stream = { id: String(host.nextExchangeId()), outer: stream, trace: stream.trace };
    const token = isObject(params['_meta']) ? params['_meta']['progressToken'] : undefined;
    this.#token = isJsonRpcId(token) ? token : undefined;
    this.#leftMs = bounds.timeoutMs;
    const own = readOwnLimit(params);
    if (typeof own === 'number' && own < this.#leftMs) {
      this.#leftMs = own;
      this.#limit = 'the time limit of the request';
    }
    this.#host = new ScriptHost(
      {
        code,
        names: this.#functions.json,
        now: Date.now(),
        seed: this.#seed,
        limits: { ...bounds, argumentLength: host.limits.maxBodyBytes / 8, openLength: host.limits.maxBodyBytes },
      },
      { begun: () => this.#tick(), called: (call) => this.#called(call), ended: (end) => this.#ended(end) },
    );
  }

  /** It is open from now on. */
  begin(): void {
    this.#outer.carrier.open.add(this);
  }

  override get within(): Forwarding<CallStream> {
    return this.#forwarding;
  }

  /** The client cancels it, or no client waits for it any more. */
  cancel(reason: string): void {
    if (!this.#stop(reason)) return;
    this.#tell({ outcome: 'cancelled' });
    this.#outer.stream.leaveUnanswered();
  }

  /** The gateway gives it up. */
  fail(gatewayFault: GatewayFault): void {
    if (!this.#stop(gatewayFault.message)) return;
    this.#tell({ outcome: 'fault', more: { reason: gatewayFault.reason } });
    const { carrier, stream, id } = this.#outer;
    carrier.messages.answerFault(stream, id, gatewayFault);
  }

  // --- time --------------------------------------------------------------------------------------------------------------------

  /** Time passes, except while a call waits for a user, or for a check before it is sent. */
  #tick(): void {
    const { wheel } = this.#outer.carrier.host;
    const stepMs = Math.min(tickMs, this.#leftMs);
    wheel.schedule(stepMs, () => {
      if (this.#isOver) return;
      if (!this.#isHeld) this.#leftMs -= stepMs;
      if (this.#leftMs > 0) this.#tick();
      else this.#ended({ isOk: false, text: `the script ran for too long (${this.#limit})`, printed: '' });
    });
  }

  /** Whether a call waits for a user, or for a check before it is sent. */
  get #isHeld(): boolean {
    const { open } = this.#forwarding;
    return this.#client.isAsked || open.find((each) => each instanceof WaitingRequest) !== undefined;
  }

  // --- calls -------------------------------------------------------------------------------------------------------------------

  #called(call: Called): void {
    this.#calls += 1;
    if (this.#running < this.#bounds.callsAtOnce) this.#send(call);
    else this.#queue.push(call);
  }

  #send({ id, server, tool, args }: Called): void {
    this.#running += 1;
    const offered = this.#functions.get(server, tool);
    const name = `${server}.${tool}`;
    const stream = new InnerStream(this.#stream, id, (settled, refused) => this.#settled(name, settled, refused));
    const given = argumentsOf(args);
    if (offered === undefined) stream.refuse(id, fault('tool.unknown', `there is no function servers.${name}`));
    else if (given === undefined)
      stream.refuse(id, fault('params.invalid', `servers.${name} takes one object with its arguments`));
    else {
      const view = this.#client.view() ?? this.#outer.view;
      const meta = this.#token === undefined ? {} : { _meta: { progressToken: id } };
      this.#forwarding.forward(stream, id, 'tools/call', { name: offered.publicName, arguments: given, ...meta }, view);
    }
  }

  #settled(name: string, settled: SettledCall, refused: string | undefined): void {
    if (this.#isOver) return;
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
    this.#host.settle([settled]);
    this.#report(`servers.${name} ${settled.isOk ? 'has answered' : 'has failed'}`);
    const next = this.#queue.shift();
    if (next !== undefined) this.#send(next);
  }

  #progressed({ message, progress, total }: ProgressEvent): void {
    const share = JSON.stringify(progress) + (total === undefined ? '' : ` of ${JSON.stringify(total)}`);
    this.#report(message ?? share);
  }

  /** Progress of one request must increase (basic/utilities/progress), so it counts reports of all calls. */
  #report(message: string): void {
    if (this.#token === undefined || this.#isOver) return;
    this.#progress += 1;
    const { carrier, stream } = this.#outer;
    carrier.messages.tellProgress(
      this.#token,
      { kind: 'progress', progress: this.#progress, message: message.slice(0, maxProgressLength) },
      stream,
    );
  }

  // --- the end -----------------------------------------------------------------------------------------------------------------

  #ended({ isOk, text, printed }: ScriptEnd): void {
    if (!this.#stop('the script has ended')) return;
    const { carrier, stream, id } = this.#outer;
    const said = [printed, text].filter((each) => each !== '').join('\n');
    const result = textResult(said === '' ? 'The script has returned nothing.' : said, !isOk);
    const { port, messages, open } = carrier;
    const length = messages.write(stream, id, port.dialect.answerOf('tools/call', { kind: 'result', result }, false));
    this.#tell({ outcome: isOk ? 'ok' : 'tool_error', more: { length } });
    open.lookIdle();
  }

  /** @returns false if it has ended before. */
  #stop(reason: string): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#outer.carrier.open.remove(this);
    this.#host.kill();
    this.#queue.length = 0;
    this.#forwarding.cancelAll(reason);
    return true;
  }

  #tell({ outcome, more }: Pick<Note, 'outcome' | 'more'>): void {
    const { carrier, id, params, stream } = this.#outer;
    const { port, host } = carrier;
    const durationMs = performance.now() - this.#began;
    const facts = { run: this.#stream.id, seed: this.#seed, calls: this.#calls, refusals: this.#refusals };
    const requested: Requested = { id, method: 'tools/call', params, trace: stream.trace };
    host.watchers.noted(port, requested, {
      name: 'mcp.call',
      target: coderNames.run,
      args: params['arguments'],
      outcome,
      more: { ...facts, ms: Math.round(durationMs), ...more },
    });
    this.#left({ outcome: outcome ?? 'ok', durationMs, calls: this.#calls });
  }
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
