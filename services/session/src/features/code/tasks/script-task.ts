/**
 * One script that runs as a task: its states, and its result until the task is forgotten. The script makes its calls as every script does; this is the
 * stream on which it answers.
 *
 *   working <--------> input_required     while a call of the script asks its user
 *      |                     |
 *      v                     v
 *   completed, failed, cancelled
 */
import { randomUUID } from 'node:crypto';
import { coderNames } from '@omnibus/catalog';
import {
  fault,
  isObject,
  notificationText,
  ownServer,
  toErrorObject,
  type EndpointName,
  type GatewayFault,
  type JsonObject,
  type JsonRpcId,
  type ProgressEvent,
  type SessionKey,
  type SourceTool,
  type WorkerId,
} from '@omnibus/protocol';
import type { Deadline } from '@omnibus/lifecycle';
import type { Barrier } from '../../../call/barrier.ts';
import { shareOf } from '../../../call/client-of.ts';
import type { CallStream } from '../../../call/client-port.ts';
import { Forwarding } from '../../../call/forward.ts';
import type { ServerAnswer } from '../../../call/inner-stream.ts';
import type { AwaitingStream, OwnTaskRequest, TaskProgress } from '../../../call/own-tasks.ts';
import type { OuterCall } from '../../../call/outer-call.ts';
import { TaskIds } from '../../../public-ids/task-ids.ts';
import { TaskClient, type HeardTask } from './task-client.ts';

/** How a script has ended. */
export type TaskOutcome =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'fault'; readonly fault: GatewayFault }
  | { readonly kind: 'cancelled' };

/** Milliseconds that a task is kept after its creation, if its client does not say; and the most that it may ask for. */
const usualTtl = 60 * 60_000;
const maxTtl = 24 * 60 * 60_000;
const pollInterval = 500;

/** The members of a task of 2025-11-25, but for its id. */
export interface TaskTimes {
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttl: number;
}

/** A new id; it contains the time of its creation. */
export const newTaskId = (): string => `${Date.now().toString(36)}-${randomUUID()}`;

/** The times of a task of which only the id is known. */
export function timesOf(id: string): TaskTimes {
  const createdAt = new Date(Number.parseInt(id, 36)).toISOString();
  return { createdAt, lastUpdatedAt: createdAt, ttl: usualTtl };
}

export class ScriptTask<Stream extends CallStream = CallStream> implements CallStream, HeardTask {
  // No other worker continues a script.
  readonly origin = undefined;
  readonly begun = undefined;
  readonly trace: string | undefined;
  readonly tap: string | undefined;
  readonly id = newTaskId();
  readonly publicId: string;
  readonly session: SessionKey | undefined;
  /** Whose share of the tasks that are kept it counts in. */
  readonly share: string;
  readonly endpoint: EndpointName;
  readonly createdAt = Date.now();
  readonly ttl: number;
  /** The call that the script answers. */
  readonly outer: OuterCall<CallStream>;
  readonly ended: Promise<void>;
  /** When it is forgotten; set by its keeper at its end. */
  expiry: Deadline | undefined;
  readonly #client: TaskClient<Stream>;
  readonly #forwarding: Forwarding<CallStream>;
  readonly #begunBy: OuterCall<Stream>;
  readonly #end: () => void;
  /** The tools that it has called. */
  readonly #sources: SourceTool[] = [];
  #isAwaited = true;
  #outcome: TaskOutcome | undefined;
  #answer: ServerAnswer | undefined;
  #message: string | undefined;
  #updatedAt = this.createdAt;
  #status = 'working';

  constructor(begunBy: OuterCall<Stream>, worker: WorkerId) {
    const { carrier, stream, params, id, view } = begunBy;
    const { host, port, open, kept } = carrier;
    this.#begunBy = begunBy;
    this.trace = stream.trace;
    this.tap = stream.tap;
    this.session = port.session;
    this.endpoint = port.caller.endpoint;
    this.share = shareOf(port.caller, port.facts);
    this.publicId = new TaskIds(host.sealer, port.caller.principal, {
      owner: port.key,
      place: { worker, connection: '', isProgram: false },
      tool: coderNames.run,
    }).publish(ownServer, this.id);
    const wanted = isObject(params['task']) ? params['task']['ttl'] : undefined;
    this.ttl = typeof wanted === 'number' && wanted >= 0 ? Math.min(wanted, maxTtl) : usualTtl;
    this.#client = new TaskClient(begunBy, this);
    const doubt = this.session === undefined ? () => undefined : () => open.doubt();
    this.#forwarding = new Forwarding(host, this.#client, { doubt }, kept);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
    const meta = isObject(params['_meta']) ? params['_meta'] : {};
    // Without a token, a script reports no progress.
    const heard = { ...params, _meta: { progressToken: this.id, ...meta } };
    this.outer = { carrier: this.#forwarding.carrier, stream: this, id, params: heard, view };
  }

  get outcome(): TaskOutcome | undefined {
    return this.#outcome;
  }

  /** Whether the request with which it began is not answered yet, with the task or with its outcome. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  get isHeard(): boolean {
    return this.#isAwaited || this.session !== undefined;
  }

  /** The request with which it began was answered with the task. */
  answered(): void {
    this.#isAwaited = false;
  }

  /** The client awaits its result on a stream of its session. */
  awaitedOn(stream: AwaitingStream): void {
    this.#client.awaitedOn(stream);
  }

  cancel(reason: string): void {
    this.#forwarding.open.cancelAll(reason);
  }

  /** It ends, since its worker stops or its session is at another one. */
  lose(): void {
    this.#forwarding.open.failAll(fault('code.lost'));
  }

  /** A task of a server that the script awaits has progressed. */
  taskProgressed(notice: TaskProgress): void {
    this.#forwarding.taskProgressed(notice);
  }

  barred(barrier: Barrier): void {
    this.#forwarding.endBarred(barrier);
  }

  /** Passes answers of its client on. @returns the problem of one of them. */
  update(responses: unknown): string | undefined {
    const { questions } = this.#client;
    const answered = questions.match(responses);
    if ('problem' in answered) return answered.problem;
    questions.answer(answered);
    return undefined;
  }

  /** A request about it is one about all tools that it has called. */
  isFor({ endpoint, mayHave }: Pick<OwnTaskRequest, 'endpoint' | 'mayHave'>): boolean {
    return endpoint === this.endpoint && this.#sources.every(mayHave);
  }

  // --- what its client sees --------------------------------------------------------------------------------------------------

  /** As 2025-11-25 has it. */
  get task(): JsonObject {
    return {
      taskId: this.publicId,
      status: this.#statusOf(true),
      ...(this.#message === undefined ? {} : { statusMessage: this.#message }),
      createdAt: new Date(this.createdAt).toISOString(),
      lastUpdatedAt: new Date(this.#updatedAt).toISOString(),
      ttl: this.ttl,
      pollInterval,
    };
  }

  /** The same with the questions or the result, as the extension has them there. A tool that fails has a result. */
  get extended(): JsonObject {
    const outcome = this.#outcome;
    const { questions } = this.#client;
    return {
      ...this.task,
      status: this.#statusOf(false),
      ...(questions.size === 0 ? {} : { inputRequests: questions.requests }),
      ...(outcome?.kind === 'result' ? { result: outcome.result } : {}),
      ...(outcome?.kind === 'fault' ? { error: toErrorObject(outcome.fault) } : {}),
    };
  }

  #statusOf(failsWithTool: boolean): string {
    const outcome = this.#outcome;
    if (outcome === undefined) return this.#client.questions.size > 0 ? 'input_required' : 'working';
    if (outcome.kind === 'result') return failsWithTool && outcome.result['isError'] === true ? 'failed' : 'completed';
    return outcome.kind === 'fault' ? 'failed' : 'cancelled';
  }

  progressed({ message }: ProgressEvent): void {
    this.#updatedAt = Date.now();
    this.#message = message ?? this.#message;
  }

  asked(): void {
    this.#changed();
  }

  #changed(): void {
    const status = this.#statusOf(true);
    if (status === this.#status) return;
    this.#status = status;
    this.#updatedAt = Date.now();
    if (!this.#isAwaited) this.#begunBy.carrier.port.push(notificationText('notifications/tasks/status', this.task));
  }

  // --- what the script says --------------------------------------------------------------------------------------------------

  send(text: string): void {
    if (this.#isAwaited) this.#begunBy.stream.send(text);
    else this.#begunBy.carrier.port.push(text);
  }

  takesFrom(source: SourceTool): void {
    this.#sources.push(source);
  }

  completed(answer: ServerAnswer): ServerAnswer {
    this.#answer = answer;
    return answer;
  }

  answerMember(): void {
    if (this.#answer?.kind === 'result') this.#settle({ kind: 'result', result: this.#answer.result });
  }

  refuse(_id: JsonRpcId, gatewayFault: GatewayFault): void {
    this.#message = gatewayFault.message;
    this.#settle({ kind: 'fault', fault: gatewayFault });
  }

  leaveUnanswered(): void {
    this.#settle({ kind: 'cancelled' });
  }

  #settle(outcome: TaskOutcome): void {
    this.#outcome ??= outcome;
    this.#changed();
    this.#end();
  }
}
