/** Requests of one client that are for servers: checked, routed (`route.ts`), and carried out as the plan says. */
import { subjects, type Blocks } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import { fault, isJsonRpcId, isObject, paramsProblem, readOwnLimit, type CustomMethod, type ErrorReason, type ExchangeMethod, type GatewayFault, type JsonObject, type JsonRpcId, type ServerName, type ServerNotice } from '@omnibus/protocol';
import { TaskIds } from '../public-ids/task-ids.ts';
import type { Access } from './access.ts';
import type { CallHost } from './call-host.ts';
import { Carrier } from './carry.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import { InTurn } from './in-turn.ts';
import { KeptAtServers } from './kept-at-servers.ts';
import { PublicWords } from './public-words.ts';
import { withoutNullArguments, withoutOwnMeta } from './request-params.ts';
import { AskFirst } from './approvals/ask-first.ts';
import { askedBy } from './asked.ts';
import type { Tab } from './limits/call-gate.ts';
import type { Asked } from './limits/rules.ts';
import { OpenRequest } from './open-requests.ts';
import { route, type Plan, type RoutedClient } from './route.ts';
import { customRoute } from './routes/custom-route.ts';
import type { LinkedResources } from './routes/linked-resources.ts';
import { CallTasks } from './tasks.ts';
import { unblocked } from './unblocked.ts';

export interface ForwardingHooks {
  /** Nothing is on its way any more. */
  readonly idle: () => void;
  /** What servers keep for the client is not what it was. */
  readonly keptChanged: () => void;
}

export class Forwarding<Stream extends CallStream> {
  readonly #host: CallHost;
  readonly #client: RoutedClient & { readonly port: ClientPort<Stream> };
  readonly #idle: () => void;
  readonly kept: KeptAtServers;
  readonly words: PublicWords<Stream>;
  readonly carrier: Carrier<Stream>;
  readonly #inTurn: InTurn<Stream>;
  readonly #tasks: CallTasks<Stream>;
  readonly #askFirst: AskFirst<Stream>;
  /** Notifications that no adapter has taken yet. */
  #notified = 0;

  constructor(host: CallHost, port: ClientPort<Stream>, linkedResources: LinkedResources, hooks: ForwardingHooks) {
    const tasks = new TaskIds(host.sealer, port.caller.principal, { owner: port.key, place: undefined, tool: undefined });
    this.#host = host;
    this.#client = { tasks, linkedResources, port };
    this.#idle = hooks.idle;
    this.kept = new KeptAtServers(hooks.keptChanged, (server, uri) => host.bus.publish(subjects.backendControl(server), { kind: 'unsubscribed', session: port.key, uri }));
    this.words = new PublicWords(host, port, tasks, linkedResources);
    this.carrier = new Carrier(host, port, this.kept, this.words, hooks.idle);
    this.#inTurn = new InTurn({ timeLimits: host.timeLimits, isBlocked: (server) => this.#blockOf(server) !== undefined }, this.carrier, this.words, tasks, port);
    this.#tasks = new CallTasks(this.carrier, this.words, port);
    this.#askFirst = new AskFirst({ host, port, open: this.carrier.open, words: this.words, idle: () => this.#idleWhenDone(), planOf: (call) => route(call, call.given, this.#client), goOn: (call, plan) => this.#charge(call, plan) });
  }

  /** How many requests are on their way. */
  get size(): number {
    return this.carrier.open.size;
  }

  cancel(clientId: JsonRpcId, reason: string): 'cancelled' | 'unknown' | 'ambiguous' {
    return this.carrier.open.cancel(clientId, reason);
  }

  /** Ends everything that is on its way with an answer of the gateway's own. */
  failAll(gatewayFault: GatewayFault): void {
    this.carrier.open.failAll(gatewayFault);
  }

  /** Ends what is blocked from now on. @returns whether the client itself is. */
  endBlocked(blocks: Blocks): boolean {
    const { facts } = this.#client.port;
    const problem = blocks.callerProblem(facts);
    this.carrier.open.failSome(({ server, tool }) => problem ?? (server === undefined ? undefined : blocks.problemOf(facts, server, tool)));
    return problem !== undefined;
  }

  cancelAll(reason: string): void {
    this.carrier.open.cancelAll(reason);
  }

  /** Progress of a task whose call was answered already. */
  taskProgressed(notice: Extract<ServerNotice, { kind: 'task-progress' }>): void {
    this.#tasks.progressed(notice);
  }

  forward(stream: Stream, id: JsonRpcId, method: ExchangeMethod, params: JsonObject | undefined, view: View): void {
    const given = withoutNullArguments(params ?? {});
    const refuse = (reason: ErrorReason, message?: string): void => this.words.deny({ stream, id, method, given: params ?? {} }, fault(reason, message));
    const problem = paramsProblem(method, params);
    if (problem !== undefined) {
      refuse('params.invalid', problem);
      return;
    }
    if (this.size >= this.#host.limits.maxInFlightPerSession) {
      refuse('session.busy');
      return;
    }
    const limitMs = readOwnLimit(given);
    if (typeof limitMs === 'object') {
      refuse('params.invalid', limitMs.problem);
      return;
    }
    const progressToken = isObject(given['_meta']) ? given['_meta']['progressToken'] : undefined;
    const plan = route({ method, view }, given, this.#client);
    this.#carryOut({
      stream, id, method, view, given,
      progressToken: isJsonRpcId(progressToken) ? progressToken : undefined,
      own: limitMs === undefined ? undefined : { limitMs, beganAt: performance.now() },
      permission: plan.permission,
    }, plan);
  }

  /** Why a request that was let through once would not be now. @param access of whoever comes back for it. */
  refusal(method: ExchangeMethod, params: JsonObject, view: View, access: Access): GatewayFault | undefined {
    const plan = route({ method, view }, withoutNullArguments(params), this.#client, access);
    return plan.kind === 'refuse' ? plan.fault : undefined;
  }

  #blockOf(server: ServerName, tool?: string): GatewayFault | undefined {
    return this.#host.callGate?.problemOf(this.#client.port.facts, server, tool);
  }

  #carryOut(call: ForwardedCall<Stream>, planned: Plan): void {
    const { callGate } = this.#host;
    const plan = callGate === undefined ? planned : unblocked(planned, (server, tool) => this.#blockOf(server, tool));
    if (AskFirst.isFor(call, plan)) this.#askFirst.ask(call, plan);
    else this.#charge(call, plan);
  }

  #idleWhenDone(): void {
    if (this.size === 0) this.#idle();
  }

  #charge(call: ForwardedCall<Stream>, plan: Plan): void {
    const { callGate } = this.#host;
    const asked = callGate?.isFor(this.#client.port.facts) !== true ? undefined : askedBy(call.method, plan, this.#client.port);
    const tab = asked === undefined ? undefined : callGate?.begin(asked);
    if (tab instanceof Promise) this.#whenLeased(call, plan, tab, asked);
    else if (tab === undefined) this.#carryAsPlanned(call, plan);
    else if ('reason' in tab) this.words.deny(call, tab);
    else this.#carryAsPlanned({ ...call, tab }, plan);
  }

  /** A part of a quota has to be leased first: until then the call is open, and may be cancelled. */
  #whenLeased(call: ForwardedCall<Stream>, plan: Plan, leasing: Promise<Tab | GatewayFault>, asked: Asked | undefined): void {
    let isOver = false;
    const waiting = new OpenRequest(call.id, () => {
      isOver = true;
      call.stream.leaveUnanswered();
    }, (gatewayFault) => {
      isOver = true;
      this.words.answerFault(call.stream, call.id, gatewayFault);
    }, asked?.server, asked?.kind === 'tool' ? asked.name : undefined);
    this.carrier.open.add(waiting);
    void leasing.then((tab) => {
      if (isOver) {
        if (!('reason' in tab)) tab.takenBack();
        return;
      }
      this.carrier.open.remove(waiting);
      if (!('reason' in tab)) this.#carryAsPlanned({ ...call, tab }, plan);
      else this.words.deny(call, tab);
      this.#idleWhenDone();
    });
  }

  #carryAsPlanned(call: ForwardedCall<Stream>, plan: Plan): void {
    switch (plan.kind) {
      case 'send':
        this.carrier.carry(call, plan, (outcome) => this.words.answer(call, plan, outcome));
        return;
      case 'start-task':
        this.#tasks.start(call, plan);
        return;
      case 'await-task':
        this.#tasks.awaitResult(call, plan);
        return;
      case 'search':
        this.#inTurn.search(call, plan);
        return;
      case 'list':
        this.#inTurn.list(call, plan);
        return;
      case 'answer':
        this.words.answer(call, plan, { kind: 'result', result: plan.result });
        this.#host.records?.answered(this.#client.port, { id: call.id, method: call.method, params: call.given, trace: call.stream.trace }, plan.server);
        return;
      case 'refuse':
        this.words.deny(call, plan.fault);
    }
  }

  /** Tells a server what no revision knows; whether it hears it concerns nobody. */
  notify(method: CustomMethod, params: JsonObject | undefined, view: View | undefined): void {
    const to = view === undefined ? { refused: fault('method.unknown') } : customRoute(view, method, params, 'method.unknown');
    if ('refused' in to || this.#blockOf(to.server) !== undefined || this.#notified >= this.#host.limits.maxInFlightPerSession) {
      this.#host.metrics.dropped('notification_unknown');
      return;
    }
    this.#notified += 1;
    this.carrier.sendOwn({ method, server: to.server, params: withoutOwnMeta(params ?? {}), subject: ['notification', method], isNotification: true }, (outcome) => {
      this.#notified -= 1;
      if (outcome.kind !== 'result') this.#host.metrics.dropped('notification_unknown');
    });
  }
}
