/**
 * One call of an own tool that makes calls of tools: it is one open request of its client, and the calls that it makes start where calls of clients start, so
 * gates, watchers and transforms see each of them. It is never run a second time.
 */
import {
  isJsonRpcId,
  isObject,
  ownLimitKey,
  ownServer,
  type GatewayFault,
  type JsonObject,
  type JsonRpcId,
  type ProgressEvent,
  type ServerName,
  type SourceTool,
} from '@omnibus/protocol';
import type { View } from '@omnibus/catalog';
import type { CallFollower, CallStream } from './client-port.ts';
import { Forwarding } from './forward.ts';
import { InnerClient } from './inner-client.ts';
import { InnerStream, type RunStream, type Settled } from './inner-stream.ts';
import { OpenRequest } from './open-requests.ts';
import type { OuterCall } from './outer-call.ts';
import type { OwnRun } from './own-tools.ts';
import type { Note, Requested } from './watchers.ts';

const maxProgressLength = 300;
/** W3C trace context and baggage, which servers continue (SEP-414). */
const traceMembers = ['traceparent', 'tracestate', 'baggage'] as const;
/** The outcomes of a run as watchers of calls know them. */
const tapped: Readonly<Record<string, string>> = { ok: 'result', tool_error: 'toolError' };

/** How a run has ended. */
export interface RunEnd {
  readonly outcome: string;
  readonly durationMs: number;
  readonly calls: number;
}

export abstract class InnerRun<Stream extends CallStream> extends OpenRequest {
  protected readonly outer: OuterCall<Stream>;
  protected readonly client: InnerClient<Stream>;
  protected readonly forwarding: Forwarding<CallStream>;
  readonly #inner: RunStream;
  protected calls = 0;
  readonly #name: string;
  readonly #token: JsonRpcId | undefined;
  /** Members of the client's `_meta` for its calls. */
  readonly #traced: JsonObject;
  readonly #began = performance.now();
  /** The tools that it has called, by server and name. */
  readonly #called = new Map<string, SourceTool>();
  /** Hears how it ends, where limits count it. */
  #follower: CallFollower | undefined;
  #progress = 0;
  #isOver = false;
  #isAnswered = false;

  /** @param name of the own tool, for records. */
  constructor(outer: OuterCall<Stream>, name: string) {
    super({ id: outer.id, stream: outer.stream }, undefined, undefined);
    const { carrier, stream, params } = outer;
    const { host } = carrier;
    this.outer = outer;
    this.#name = name;
    this.client = new InnerClient(outer, (event) => this.#progressed(event));
    this.forwarding = new Forwarding(
      host,
      this.client,
      { idle: () => undefined, doubt: () => carrier.open.doubt() },
      carrier.kept,
    );
    this.#inner = { id: String(host.nextExchangeId()), outer: stream, trace: stream.trace };
    const meta = isObject(params['_meta']) ? params['_meta'] : {};
    const { progressToken: token } = meta;
    this.#token = isJsonRpcId(token) ? token : undefined;
    this.#traced = Object.fromEntries(traceMembers.flatMap((name) => (name in meta ? [[name, meta[name]]] : [])));
  }

  /** It is open from now on, and makes its calls once limits let it. */
  begin(): void {
    const { carrier } = this.outer;
    carrier.open.add(this);
    this.#report('run', { name: this.#name });
    const counted = carrier.host.runGate?.begin(carrier.port.asking, ownServer, this.#name);
    if (counted instanceof Promise) void counted.then((found) => this.#counted(found));
    else this.#counted(counted);
  }

  #counted(counted: CallFollower | GatewayFault | undefined): void {
    if (counted !== undefined && 'reason' in counted) {
      this.fail(counted);
      return;
    }
    // Its client may have cancelled it meanwhile.
    if (this.#isOver) counted?.cancelled();
    else {
      this.#follower = counted;
      this.start();
    }
  }

  /** Begins its work. */
  protected abstract start(): void;

  override get within(): Forwarding<CallStream> {
    return this.forwarding;
  }

  override cancel(reason: string): void {
    if (this.#endedBy(reason)) this.outer.stream.leaveUnanswered();
  }

  /** No other worker can continue it: its calls are cancelled, and the next worker tells the client. */
  override leave(reason: string): void {
    this.#endedBy(reason);
  }

  #endedBy(reason: string): boolean {
    if (!this.stop(reason)) return false;
    this.#follower?.cancelled();
    this.#tell({ outcome: 'cancelled' });
    return true;
  }

  override fail(gatewayFault: GatewayFault): void {
    if (!this.stop(gatewayFault.message)) return;
    this.#follower?.cancelled();
    this.#tell({ outcome: 'fault', more: { reason: gatewayFault.reason } });
    const { carrier, stream, id } = this.outer;
    carrier.messages.answerFault(stream, id, gatewayFault);
  }

  protected get isOver(): boolean {
    return this.#isOver || this.#isAnswered;
  }

  /** The view of its client now. */
  protected get view(): View {
    return this.client.view() ?? this.outer.view;
  }

  protected streamOf(id: number, settled: Settled): InnerStream {
    return new InnerStream(this.#inner, id, settled);
  }

  /** Milliseconds since it began. */
  protected get ageMs(): number {
    return performance.now() - this.#began;
  }

  /**
   * Calls a tool by its public name.
   * @param limitMs time limit of the client for this call.
   * @param run set if the tool is one of the gateway's own.
   */
  protected forward(
    stream: InnerStream,
    id: number,
    name: string,
    given: JsonObject,
    { limitMs, run }: { readonly limitMs?: number | undefined; readonly run?: OwnRun } = {},
  ): void {
    const _meta = {
      ...this.#traced,
      ...(this.#token === undefined ? {} : { progressToken: id }),
      ...(limitMs === undefined ? {} : { [ownLimitKey]: limitMs }),
    };
    const params = { name, arguments: given, ...(Object.keys(_meta).length === 0 ? {} : { _meta }) };
    const route = this.view.toolRoute(name);
    if (route !== undefined) this.uses(route.server, route.original);
    if (run === undefined) this.forwarding.forward(stream, id, 'tools/call', params, this.view);
    else run.begin({ carrier: this.forwarding.carrier, stream, id, params, view: this.view });
  }

  /** Its answer may contain the result of a tool. @param tool the server's own name of it. */
  protected uses(server: ServerName, tool: string): void {
    const key = `${server}/${tool}`;
    if (this.#called.has(key)) return;
    const source = { server, tool };
    this.#called.set(key, source);
    this.outer.stream.takesFrom?.(source);
  }

  /** Progress of one request must increase (basic/utilities/progress), so it counts reports of all calls. */
  protected report(message: string): void {
    if (this.#token === undefined || this.#isOver) return;
    this.#progress += 1;
    const { carrier, stream } = this.outer;
    carrier.messages.tellProgress(
      this.#token,
      { kind: 'progress', progress: this.#progress, message: message.slice(0, maxProgressLength) },
      stream,
    );
  }

  #progressed({ message, progress, total }: ProgressEvent): void {
    const share = JSON.stringify(progress) + (total === undefined ? '' : ` of ${JSON.stringify(total)}`);
    this.report(message ?? share);
  }

  /** Answers its client, within the bound on results. */
  protected answer(result: JsonObject): void {
    if (this.#isOver || this.#isAnswered) return;
    this.#isAnswered = true;
    const { host, port } = this.outer.carrier;
    const bounded = host.ownResults?.bounded(port, this.#name, [...this.#called.values()], result);
    if (bounded === undefined) {
      this.#answer(result);
      return;
    }
    // It stays open while the whole is stored, and does no more.
    this.stopped();
    this.forwarding.open.cancelAll('it has ended');
    void bounded.then((made) => this.#answer(made));
  }

  #answer(result: JsonObject): void {
    if (!this.stop('it has ended')) return;
    const { carrier, stream, id } = this.outer;
    const { port, messages, open } = carrier;
    const answer = port.dialect.answerOf('tools/call', { kind: 'result', result }, false);
    const length = messages.write(stream, id, stream.completed?.(answer) ?? answer);
    this.#follower?.answered({ kind: 'result', result }, length);
    this.#tell({ outcome: result['isError'] === true ? 'tool_error' : 'ok', more: { length } });
    open.lookIdle();
  }

  /** @returns false if it has ended before. */
  protected stop(reason: string): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.outer.carrier.open.remove(this);
    this.stopped();
    this.forwarding.open.cancelAll(reason);
    return true;
  }

  /** Frees what it holds. */
  protected abstract stopped(): void;
  /** Facts for its record. */
  protected abstract facts(): Readonly<Record<string, string | number>>;
  /** Called once, when it has ended. */
  protected abstract left(end: RunEnd): void;

  /** Tells watchers of the request, under whose tag those of its calls begin. */
  #report(event: string, more: JsonObject): void {
    const { stream, carrier } = this.outer;
    if (stream.tap !== undefined) carrier.host.watchers.continued(stream.tap, event, more);
  }

  #tell({ outcome, more }: Pick<Note, 'outcome' | 'more'>): void {
    const { carrier, id, params, stream } = this.outer;
    const { port, host } = carrier;
    const durationMs = this.ageMs;
    const requested: Requested = { id, method: 'tools/call', params, trace: stream.trace };
    host.watchers.noted(port, requested, {
      name: 'mcp.call',
      target: this.#name,
      args: params['arguments'],
      outcome,
      more: {
        run: this.#inner.id,
        ...(stream.run === undefined ? {} : { within: stream.run }),
        calls: this.calls,
        ...this.facts(),
        ms: Math.round(durationMs),
        ...more,
      },
    });
    this.#report('settled', {
      outcome: tapped[outcome ?? 'ok'] ?? outcome,
      calls: this.calls,
      ms: Math.round(durationMs * 10) / 10,
      ...(typeof more?.['length'] === 'number' ? { bytes: more['length'] } : {}),
      ...(typeof more?.['reason'] === 'string' ? { reason: more['reason'] } : {}),
    });
    this.left({ outcome: outcome ?? 'ok', durationMs, calls: this.calls });
  }
}
