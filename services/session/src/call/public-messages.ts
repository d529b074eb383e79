/** Translates ids and URIs between one client and the servers: in messages for the client into the public ones, in its answers into the server's own. */
import { pageScheme, type View } from '@omnibus/catalog';
import {
  AwayError,
  createdTask,
  fault,
  listKindOf,
  notificationText,
  wire,
  type ErrorReason,
  type ExchangeMethod,
  type ExchangeOutcome,
  type GatewayFault,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type MayHaveBytes,
  type ProgressEvent,
  type ServerName,
  type ServerNotice,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { ServerAnswer } from '../dialect/dialect.ts';
import { publicElicitation, publicElicitations } from '../public-ids/elicitation-ids.ts';
import { linkedUris, mapErrorUri, mapResultUris } from '../public-ids/resource-uris.ts';
import type { TaskAddress, TaskIds } from '../public-ids/task-ids.ts';
import type { CallFollower, CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { Destination } from './plan.ts';
import type { Requested, Watchers } from './watchers.ts';

/** The public ids of one client's tasks. They are created at the first use, which never comes for most clients. */
export interface PublicIds {
  readonly tasks: TaskIds;
}

/** The server of an answer, with all that makes it public. */
type AnsweredBy = Partial<Pick<Destination, 'server' | 'task' | 'tool' | 'wrapsOutput' | 'hasPage'>>;

export class PublicMessages<Stream extends CallStream> {
  readonly #metrics: Pick<Metrics, 'refused'>;
  readonly #port: ClientPort<Stream>;
  readonly #ids: PublicIds;
  readonly #watchers: Watchers;
  /** Bytes of the answer that was written last. */
  lastLength = 0;

  constructor(
    { metrics, watchers }: { readonly metrics: Pick<Metrics, 'refused'>; readonly watchers: Watchers },
    port: ClientPort<Stream>,
    ids: PublicIds,
  ) {
    this.#metrics = metrics;
    this.#watchers = watchers;
    this.#port = port;
    this.#ids = ids;
  }

  progress(server: ServerName, event: ProgressEvent, about: Partial<TaskAddress> | undefined): ProgressEvent {
    return event.more === undefined
      ? event
      : { ...event, more: this.#ids.tasks.of(about).publicMention(server, event.more) };
  }

  tellProgress(token: JsonRpcId, event: ProgressEvent, to: { send(text: string): void }): void {
    const told = this.#port.progressToken(token, event);
    if (told !== undefined) to.send(this.#port.dialect.progressText(told, event));
  }

  /** @param params of the log message, as the client may see them. */
  log(view: View, server: ServerName, params: JsonObject): string {
    return this.#port.dialect.logText(params, view.definition.servers.length > 1 ? server : undefined);
  }

  notification(
    server: ServerName,
    method: string,
    params: JsonObject | undefined,
    about?: Partial<TaskAddress>,
  ): string {
    return notificationText(method, params === undefined ? undefined : this.mention(server, params, about));
  }

  task({ server, task, place, tool }: Extract<ServerNotice, { kind: 'task-status' }>): JsonObject {
    return this.#ids.tasks.of({ place, tool }).publicTask(server, task);
  }

  /** Parameters with a task id in `_meta` replaced by the public one. @param about the known facts of that task. */
  mention(server: ServerName, params: JsonObject, about?: Partial<TaskAddress>): JsonObject {
    return this.#ids.tasks.of(about).publicMention(server, params);
  }

  question(server: ServerName, params: JsonObject, about?: Partial<TaskAddress>): JsonObject {
    return publicElicitation(server, this.mention(server, params, about));
  }

  /** A client's answer to a question, with a public task id in it replaced by the server's own. */
  original(value: JsonObject): JsonObject {
    return this.#ids.tasks.originalMention(value);
  }

  refuse(stream: Stream, id: JsonRpcId, reason: ErrorReason, message?: string): void {
    this.answerFault(stream, id, fault(reason, message));
  }

  /** Answers a request with a fault before any server gets it. */
  deny(
    call: Pick<ForwardedCall<Stream>, 'stream' | 'id' | 'method' | 'given' | 'followers'> &
      Partial<Pick<ForwardedCall<Stream>, 'permission' | 'screen'>>,
    gatewayFault: GatewayFault,
  ): void {
    this.answerFault(call.stream, call.id, gatewayFault);
    if (call.followers !== undefined) tellFollowers(call.followers, { kind: 'fault', fault: gatewayFault }, 0);
    this.#watchers.refused(this.#port, requestedBy(call), gatewayFault);
  }

  answerFault(stream: Stream, id: JsonRpcId, gatewayFault: GatewayFault): void {
    this.#metrics.refused(gatewayFault.reason);
    stream.refuse(id, gatewayFault);
  }

  /** Answers a request that was forwarded. @param more members of the result that the gateway adds. */
  answer(call: ForwardedCall<Stream>, to: AnsweredBy, outcome: ExchangeOutcome, more?: JsonObject): void {
    const { stream, id, method } = call;
    const { server, wrapsOutput = false } = to;
    let size = 0;
    if (outcome.kind === 'fault') this.answerFault(stream, id, outcome.fault);
    else if (server !== undefined) {
      const published = this.#published(call, to, server, outcome);
      const answer = this.#port.dialect.answerOf(method, published, wrapsOutput);
      size = this.write(stream, id, stream.completed?.(answer) ?? answer, outcome.kind === 'result' ? more : undefined);
    }
    if (call.followers !== undefined) tellFollowers(call.followers, outcome, size);
  }

  /** Whether a result can be passed on while its bytes are at another process: no code on its way to the client reads or copies a large value. */
  passesAway(
    call: ForwardedCall<Stream>,
    to: AnsweredBy,
    outcome: Extract<ExchangeOutcome, { kind: 'result' }>,
  ): boolean {
    const { server, wrapsOutput = false } = to;
    const { stream, method } = call;
    if (server === undefined || call.followers !== undefined || stream.takesAway !== true) return false;
    try {
      const { isError, inputRequests } = outcome.result;
      if (typeof isError === 'object' || inputRequests !== undefined) return false;
      // For a trial.
      const made = this.#port.dialect.answerOf(method, this.#published(call, to, server, outcome), wrapsOutput);
      const answer = stream.completed?.(made) ?? made;
      return answer.kind === 'result' && (answer.result as MayHaveBytes)[wire]?.bytes !== undefined;
    } catch (error) {
      if (error instanceof AwayError) return false;
      throw error;
    }
  }

  /** Answers a request with a result of the gateway. */
  answerOwn(call: ForwardedCall<Stream>, result: JsonObject): void {
    const { stream, id, method, followers = [] } = call;
    const answer = this.#port.dialect.answerOf(method, { kind: 'result', result }, false);
    tellFollowers(followers, { kind: 'result', result }, this.write(stream, id, stream.completed?.(answer) ?? answer));
  }

  /** A server's answer, with public ids and URIs. */
  #published(
    { method, view, given }: ForwardedCall<Stream>,
    { task, tool, hasPage = false }: AnsweredBy,
    server: ServerName,
    outcome: ServerAnswer,
  ): ServerAnswer {
    if (outcome.kind === 'error') return { kind: 'error', error: publicError(view, server, outcome.error) };
    const { result } = outcome;
    const isOfTool = method === 'tools/call' || method === 'tasks/result';
    const links = isOfTool ? linkedUris(result) : undefined;
    if (links !== undefined && links.length > 0) this.#port.linkedResources.remember(server, links);
    if (hasPage || (method === 'resources/read' && String(given['uri']).startsWith(pageScheme)))
      this.#port.linkedResources.showPage(server);
    let made = result;
    // A result may name a task if it is about tasks, or says so of itself.
    if ('_meta' in result || 'task' in result || result['resultType'] === 'task' || method.startsWith('tasks/')) {
      made = this.#withTaskIds(method, server, outcome, task ?? (isTask(result) ? tool : undefined));
    }
    if (made['cacheScope'] === 'public') made = forWhom({ view, server, method }, made);
    // A result of a tool names the URIs alone that it links to.
    const mapUri = links?.length === 0 ? undefined : uriMap(view, server);
    return { kind: 'result', result: mapUri === undefined ? made : mapResultUris(method, made, mapUri) };
  }

  /** @param about the task that the result is about, or the tool that runs as the task. */
  #withTaskIds(
    method: ExchangeMethod,
    server: ServerName,
    { result, place, tools }: Extract<ExchangeOutcome, { kind: 'result' }>,
    about: TaskAddress | string | undefined,
  ): JsonObject {
    const of = typeof about === 'object' ? about : about === undefined ? { place } : { place, tool: about };
    return this.#ids.tasks.of(of).publicResult(method, server, result, tools);
  }

  /** @returns how much it is, in bytes of JSON. */
  write(stream: Stream, id: JsonRpcId, answer: ServerAnswer, more?: JsonObject): number {
    const bytes =
      answer.kind === 'result' && more === undefined ? (answer.result as MayHaveBytes)[wire]?.bytes : undefined;
    const member =
      bytes !== undefined
        ? bytes.within('"result":', '')
        : answer.kind === 'result'
          ? `"result":${JSON.stringify(more === undefined ? answer.result : { ...answer.result, ...more })}`
          : `"error":${JSON.stringify(answer.error)}`;
    const length = typeof member === 'string' ? Buffer.byteLength(member) : member.length;
    this.lastLength = length;
    stream.answerMember(id, member);
    return length;
  }
}

/** @returns undefined where clients see the server's own URIs. */
function uriMap({ resources }: View, server: ServerName): ((uri: string) => string) | undefined {
  return resources.hasAliases(server) ? (uri) => resources.publicUri(server, uri) : undefined;
}

function publicError(view: View, server: ServerName, error: JsonRpcErrorObject): JsonRpcErrorObject {
  const mapUri = uriMap(view, server);
  return publicElicitations(server, mapUri === undefined ? error : mapErrorUri(error, mapUri));
}

function tellFollowers(followers: readonly CallFollower[], outcome: ExchangeOutcome, size: number): void {
  for (const follower of followers) follower.answered(outcome, size);
}

/** A call as watchers see it before it is sent. */
export function requestedBy(
  call: Pick<ForwardedCall<CallStream>, 'stream' | 'id' | 'method' | 'given'> &
    Partial<Pick<ForwardedCall<CallStream>, 'permission' | 'tap' | 'screen'>>,
): Requested {
  const { id, method, given, stream, permission } = call;
  return { id, method, params: given, trace: stream.trace, permission, call };
}

/**
 * The result of reading a resource that its server calls public. A server does not know the gateway's other callers: if callers must be authenticated, or have their own connections to
 * the server, a `public` cacheScope is downgraded to `private`.
 */
function forWhom(
  { view, server, method }: { readonly view: View; readonly server: ServerName; readonly method: ExchangeMethod },
  result: JsonObject,
): JsonObject {
  // Lists come here only where the only server answers them itself.
  if (method !== 'resources/read' && listKindOf(method) === undefined) return result;
  const isForAll = view.definition.isForKnown !== true && view.record(server)?.owners === undefined;
  return isForAll ? result : { ...result, cacheScope: 'private' };
}

/** Whether a call was answered with a task, in the form of either era. */
function isTask(result: JsonObject): boolean {
  return result['resultType'] === 'task' || createdTask(result) !== undefined;
}
