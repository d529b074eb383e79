/** Requests of one client that are for servers: they are checked, routed (`route.ts`), and executed as the plan says. */
import type { View } from '@omnibus/catalog';
import {
  fault,
  isJsonRpcId,
  isObject,
  laterLabels,
  paramsProblem,
  readOwnLimit,
  type CustomMethod,
  type ErrorReason,
  type ExchangeMethod,
  type GatewayFault,
  type JsonObject,
  type JsonRpcId,
  type Labels,
  type ServerName,
  type ServerNotice,
} from '@omnibus/protocol';
import { TaskIds } from '../public-ids/task-ids.ts';
import type { Access } from './access.ts';
import type { Barrier } from './barrier.ts';
import type { CallHost } from './call-host.ts';
import { Carrier } from './carry.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import { SequentialRequests } from './sequential-requests.ts';
import type { ForwardingHooks } from './forwarding-hooks.ts';
import type { Gate, GateRun } from './gates.ts';
import type { KeptAtServers } from './kept-at-servers.ts';
import type { Planned } from './planned-again.ts';
import { PublicMessages, type PublicIds } from './public-messages.ts';
import { withoutNullArguments, withoutOwnMeta } from './request-params.ts';
import { WaitingRequest, type OpenRequests } from './open-requests.ts';
import type { Plan } from './plan.ts';
import { route, type RoutedClient } from './route.ts';
import { customRoute } from './routes/custom-route.ts';
import { CallTasks } from './tasks.ts';

const methodNotFound = -32_601;

export class Forwarding<Stream extends CallStream> implements GateRun<Stream>, RoutedClient, PublicIds {
  readonly #host: CallHost;
  readonly messages: PublicMessages<Stream>;
  readonly carrier: Carrier<Stream>;
  #taskIds: TaskIds | undefined;
  #made: SequentialRequests<Stream> | undefined;
  #following: CallTasks<Stream> | undefined;
  readonly watchers: GateRun<Stream>['watchers'];
  readonly timeLimits: GateRun<Stream>['timeLimits'];
  readonly port: ClientPort<Stream>;
  readonly open: OpenRequests;
  /** Number of notifications that no adapter has accepted yet. */
  #notified = 0;

  /** @param kept state at servers for the client; undefined for one that has no session. */
  constructor(host: CallHost, port: ClientPort<Stream>, hooks: ForwardingHooks, kept?: KeptAtServers) {
    this.#host = host;
    this.messages = new PublicMessages(host, port, this);
    this.carrier = new Carrier(host, port, this.messages, hooks, kept);
    this.watchers = host.watchers;
    this.timeLimits = host.timeLimits;
    this.port = port;
    this.open = this.carrier.open;
  }

  /** Made by the first request that needs it: most clients without sessions make one call. */
  get #sequential(): SequentialRequests<Stream> {
    this.#made ??= new SequentialRequests(
      { timeLimits: this.timeLimits, access: this.#host.access, isBarred: (server) => this.#isBarred(server) },
      this.carrier,
      this.messages,
      this.tasks,
      this.port,
    );
    return this.#made;
  }

  get tasks(): TaskIds {
    this.#taskIds ??= new TaskIds(this.#host.sealer, this.port.caller.principal, {
      owner: this.port.key,
      place: undefined,
      tool: undefined,
    });
    return this.#taskIds;
  }

  get #tasks(): CallTasks<Stream> {
    this.#following ??= new CallTasks(this.carrier, this.messages, this.port);
    return this.#following;
  }

  /** Holds a request until something is known, and then runs `go`. Meanwhile it is open, and may be cancelled. */
  hold(call: { readonly id: JsonRpcId; readonly stream: Stream }, until: Promise<void>, go: () => void): void {
    const { stream, id } = call;
    const waiting = new WaitingRequest(
      call,
      () => stream.leaveUnanswered(),
      (gatewayFault) => stream.refuse(id, gatewayFault),
    );
    this.open.add(waiting);
    this.open.after(waiting, until, () => this.open.resume(waiting, go));
  }

  /** Answers the open requests of one stream with a fault of the gateway. */
  failStream(stream: object, gatewayFault: GatewayFault): void {
    this.open.failSome((request) => (request.stream === stream ? gatewayFault : undefined));
  }

  /** Ends open requests to servers that the client may not reach now. @returns whether the client itself is refused. */
  endBarred(barrier: Barrier): boolean {
    const { facts } = this.port;
    const problem = barrier.callerProblem(facts);
    this.open.failSome(
      ({ server, tool }) =>
        problem ?? (server === undefined ? undefined : barrier.problemOf(facts, server, tool, true)),
    );
    for (const { within } of this.open.toArray()) within?.endBarred(barrier);
    return problem !== undefined;
  }

  /** Progress of a task after the answer to its call. */
  taskProgressed(notice: Extract<ServerNotice, { kind: 'task-progress' }>): void {
    this.#following?.progressed(notice);
    for (const { within } of this.open.toArray()) within?.taskProgressed(notice);
  }

  forward(stream: Stream, id: JsonRpcId, method: ExchangeMethod, params: JsonObject | undefined, view: View): void {
    const given = params?.['arguments'] === null ? withoutNullArguments(params) : (params ?? {});
    const refuse = (reason: ErrorReason, message?: string): void =>
      this.messages.deny({ stream, id, method, given: params ?? {} }, fault(reason, message));
    const problem = paramsProblem(method, params);
    if (problem !== undefined) {
      refuse('params.invalid', problem);
      return;
    }
    if (this.open.size >= this.#host.limits.maxInFlightPerSession) {
      refuse('session.busy');
      return;
    }
    const meta = given['_meta'];
    const limitMs = meta === undefined ? undefined : readOwnLimit(given);
    if (typeof limitMs === 'object') {
      refuse('params.invalid', limitMs.problem);
      return;
    }
    const progressToken = isObject(meta) ? meta['progressToken'] : undefined;
    const plan = this.#plan(method, view, given, laterLabels);
    const call: ForwardedCall<Stream> = {
      stream,
      id,
      method,
      view,
      given,
      progressToken: progressToken !== undefined && isJsonRpcId(progressToken) ? progressToken : undefined,
      own: limitMs === undefined ? undefined : { limitMs, beganAt: performance.now() },
      permission: plan.permission,
      screen: plan.screen,
    };
    this.#pass({ call, plan }, this.#host.gates.all);
  }

  /** A plan with the decision about it. @param labels those of the conversation, or `laterLabels` before a gate has read them. */
  #plan(method: ExchangeMethod, view: View, given: JsonObject, labels: Labels): Plan {
    const plan = route({ method, view }, given, this);
    const access = this.#host.access.on?.of(this.port.asking);
    return access === undefined ? plan : access.permitted(plan, { method, view, labels }, given);
  }

  /** Why a request that was permitted earlier would be refused now; undefined if it would not. @param access of the caller that continues it. */
  refusal(method: ExchangeMethod, params: JsonObject, view: View, access: Access): GatewayFault | undefined {
    const given = withoutNullArguments(params);
    // Its answers are decided by the labels of now (`CallTransform.asker`).
    const plan = access.permitted(route({ method, view }, given, this), { method, view, labels: laterLabels }, given);
    return plan.kind === 'refuse' ? plan.fault : undefined;
  }

  again(call: ForwardedCall<Stream>): Planned<Stream> {
    const view = this.port.view();
    const plan: Plan =
      view === undefined
        ? { kind: 'refuse', fault: fault('http.path_unknown', 'this endpoint has left the configuration') }
        : this.#plan(call.method, view, call.given, call.labels ?? laterLabels);
    plan.screen?.goesOnFrom(call.screen);
    return { call: { ...call, view: view ?? call.view, permission: plan.permission, screen: plan.screen }, plan };
  }

  #isBarred(server: ServerName): boolean {
    return this.#host.barrier.problemOf(this.port.facts, server, undefined) !== undefined;
  }

  next(gate: Gate, planned: Planned<Stream>): void {
    this.#pass(planned, this.#host.gates.after(gate));
  }

  from(gate: Gate, planned: Planned<Stream>): void {
    this.#pass(planned, this.#host.gates.since(gate));
  }

  restart(planned: Planned<Stream>): void {
    this.#pass(planned, this.#host.gates.all);
  }

  /** Asks these gates, and sends the call if all let it pass. */
  #pass(planned: Planned<Stream>, gates: readonly Gate[]): void {
    try {
      for (const gate of gates) if (gate.takes(planned, this)) return;
    } catch (error) {
      this.#host.log.error({ err: error }, 'a gate could not decide about a request, which is refused');
      this.messages.deny(planned.call, fault('internal.error'));
      return;
    }
    this.carry(planned);
  }

  carry({ call, plan }: Planned<Stream>): void {
    switch (plan.kind) {
      case 'send':
        this.carrier.carry(call, plan, (outcome) =>
          this.messages.answer(
            call,
            plan,
            plan.orElse !== undefined && outcome.kind === 'error' && outcome.error.code === methodNotFound
              ? { kind: 'result', result: plan.orElse }
              : outcome,
          ),
        );
        return;
      case 'start-task':
        this.#tasks.start(call, plan);
        return;
      case 'await-task':
        this.#tasks.awaitResult(call, plan);
        return;
      case 'search':
        this.#sequential.search(call, plan);
        return;
      case 'list':
        this.#sequential.list(call, plan);
        return;
      case 'refuse':
        this.messages.deny(call, plan.fault);
    }
  }

  /** Sends a server a notification that no revision defines; whether it arrives is only counted. */
  notify(method: CustomMethod, params: JsonObject | undefined, view: View | undefined): void {
    const to =
      view === undefined ? { refused: fault('method.unknown') } : customRoute(view, method, params, 'method.unknown');
    if ('refused' in to || this.#isBarred(to.server) || this.#notified >= this.#host.limits.maxInFlightPerSession) {
      this.#host.metrics.dropped('notification_unknown');
      return;
    }
    this.#notified += 1;
    const { server } = to;
    const ended = (isHeard: boolean): void => {
      this.#notified -= 1;
      if (!isHeard) this.#host.metrics.dropped('notification_unknown');
    };
    const send = (passed: JsonObject): void =>
      void this.carrier.sendOwn(
        { method, server, params: passed, subject: ['notification', method], isNotification: true },
        ({ kind }) => ended(kind === 'result'),
      );
    const screen = this.#host.access.on
      ?.of(this.port.asking)
      ?.screen({ kind: 'server', server, name: method, method }, false);
    if (screen?.looksAt('requests') !== true) send(withoutOwnMeta(params ?? {}));
    else screen.request(withoutOwnMeta(params ?? {}), (made) => ('fault' in made ? ended(false) : send(made.payload)));
  }
}
