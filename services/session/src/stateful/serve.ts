/** Answers the requests of a session that are for the gateway itself, and passes those for servers to `call/forward.ts`. */
import type { View } from '@omnibus/catalog';
import {
  fault,
  isCustomMethod,
  isSessionTaskMethod,
  listKindOf,
  methodRow,
  resultText,
  type ErrorReason,
  type ExchangeMethod,
  type GatewayFault,
  type JsonRpcRequest,
  type ListKind,
  type ListMethod,
  type SessionTaskMethod,
} from '@omnibus/protocol';
import { listPage, ownLimitOf } from '../call/routes/list-page.ts';
import { isUnrouted } from '../call/routes/unrouted.ts';
import type { Meant, OwnRun } from '../call/own-tools.ts';
import { missingCapability } from '../call/routes/needed-capability.ts';
import type { OfferRequest } from '../views/offers.ts';
import type { PostStream } from '../streams/post-stream.ts';
import { ownTaskAnswer } from './own-task-answer.ts';
import type { SessionParts } from './session-parts.ts';

export class Serving {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  serve(request: JsonRpcRequest, stream: PostStream): void {
    const { method } = request;
    const { client, sight, host } = this.#parts;
    const undecided = host.listFilter.on === undefined ? undefined : host.undecided(sight.asking, client.declared);
    if (undecided !== undefined) {
      this.#holdUntil(request, stream, undecided);
      return;
    }
    const { view } = sight;
    if (view === undefined) {
      this.#refuse(stream, request, 'session.unknown', 'this endpoint has left the configuration');
      return;
    }
    const row = methodRow(method);
    const lacking = row?.needs === undefined ? undefined : missingCapability(request, view, client.offered);
    if (lacking !== undefined) {
      this.#refuse(stream, request, 'method.unknown', lacking);
      return;
    }
    if (row?.isCarried === true && row.about !== 'task') this.#serveCarried(request, stream, view);
    else this.#serveOwn(request, stream, view);
  }

  /** Serves a request that is for a server, and not about a task. */
  #serveCarried(request: JsonRpcRequest, stream: PostStream, view: View): void {
    const { id, method, params } = request;
    const { client, forwarding, host } = this.#parts;
    const meant =
      method === 'tools/call' && view.hasOwnTools ? host.ownTools.meant(view, params ?? {}, false) : undefined;
    if (meant !== undefined) {
      this.#serveMeant(request, stream, view, meant);
      return;
    }
    // A client with a cached list may name an entry that is found only now.
    if (
      isUnrouted(method, params ?? {}, view, () => client.linkedResources) &&
      this.#isHeld(request, stream, { isNamed: true })
    )
      return;
    if (method === 'resources/subscribe') this.#subscribe(request, stream, view);
    else if (method === 'logging/setLevel')
      client.level.set(params ?? {}, view.definition.servers, {
        answerMember: (member) => stream.answerMember(id, member),
        refuse: ({ reason, message }) => this.#refuse(stream, request, reason, message),
      });
    else forwarding.forward(stream, id, method as ExchangeMethod, params, view);
  }

  /** Serves a call of one of the gateway's own tools. */
  #serveMeant(request: JsonRpcRequest, stream: PostStream, view: View, meant: Meant): void {
    const { id, method, params = {} } = request;
    if (meant.kind === 'call') {
      this.#serveCarried({ ...request, params: meant.params }, stream, view);
      return;
    }
    if (meant.kind === 'run') {
      this.#run(request, stream, view, meant);
      return;
    }
    // The answer has the contents of a list, so it waits for the same.
    if (this.#isHeld(request, stream, { ownMs: ownLimitOf(params) })) return;
    const ready = meant.ready();
    if (ready !== undefined) {
      this.#holdUntil(request, stream, ready);
      return;
    }
    const { host, client } = this.#parts;
    const text = JSON.stringify(meant.result());
    stream.answer(resultText(id, text));
    host.watchers.listed(client, { id, method, params, trace: stream.trace }, text.length);
  }

  /** Begins a call that itself makes calls. It needs the lists, like `find_api`. */
  #run(request: JsonRpcRequest, stream: PostStream, view: View, run: OwnRun): void {
    const { id, params = {} } = request;
    if (this.#isHeld(request, stream, { ownMs: ownLimitOf(params) })) return;
    const { forwarding, host } = this.#parts;
    if (forwarding.open.size >= host.limits.maxInFlightPerSession) this.#refuse(stream, request, 'session.busy');
    // Another worker may have run a part of it, which must not happen twice.
    else if (stream.begun !== undefined) this.#refuse(stream, request, 'code.lost');
    else run.begin({ carrier: forwarding.carrier, stream, id, params, view });
  }

  /** Serves a request that the gateway answers itself, one about a task, or one with a method that no revision defines. */
  #serveOwn(request: JsonRpcRequest, stream: PostStream, view: View): void {
    const { id, method, params } = request;
    const kind = listKindOf(method);
    if (kind !== undefined) this.#list(request, stream, view, kind);
    else if (method === 'ping') stream.answer(resultText(id, '{}'));
    else if (method === 'initialize') this.#refuse(stream, request, 'session.initialized');
    else if (isSessionTaskMethod(method)) this.#serveTask(request, method, stream, view);
    else if (isCustomMethod(method)) this.#parts.forwarding.forward(stream, id, method, params, view);
    else this.#refuse(stream, request, 'method.unknown', `unknown method ${JSON.stringify(method.slice(0, 100))}`);
  }

  #list(request: JsonRpcRequest, stream: PostStream, view: View, kind: ListKind): void {
    const { id, method, params } = request;
    const { host, client, forwarding, offerWait } = this.#parts;
    if (this.#isHeld(request, stream, { ownMs: ownLimitOf(params) })) return;
    if (view.isUnreadHere(kind)) {
      forwarding.forward(stream, id, method as ListMethod, params, view);
      return;
    }
    const json = listPage(view, kind, params, offerWait.reading());
    if (json === undefined) this.#refuse(stream, request, 'cursor.invalid');
    else {
      stream.answer(resultText(id, json));
      host.watchers.listed(client, { id, method, params: params ?? {}, trace: stream.trace }, json.length);
    }
  }

  #subscribe(request: JsonRpcRequest, stream: PostStream, view: View): void {
    const { id, params } = request;
    const { host, forwarding } = this.#parts;
    if (this.#hasRoomFor(params?.['uri'])) forwarding.forward(stream, id, 'resources/subscribe', params, view);
    else
      this.#refuse(
        stream,
        request,
        'params.invalid',
        `a session is kept ${host.limits.maxSessionBytesPerSession} bytes of capabilities and subscriptions (limits.maxSessionBytesPerSession); params.uri is too much`,
      );
  }

  #serveTask(request: JsonRpcRequest, method: SessionTaskMethod, stream: PostStream, view: View): void {
    const { id, params } = request;
    const { client, forwarding } = this.#parts;
    if (client.taskMode() === 'requested' && view.runsTasks) {
      const own = ownTaskAnswer(this.#parts, method, request, { stream, view });
      if (own === undefined) forwarding.forward(stream, id, method, params, view);
      else if ('until' in own) this.#holdUntil(request, stream, own.until);
      else if ('fault' in own) this.#refuseFor(stream, request, own.fault);
      else if ('outcome' in own) stream.refuse(id, own.outcome);
      else if ('result' in own) stream.answer(resultText(id, JSON.stringify(own.result)));
    } else this.#refuse(stream, request, 'method.unknown', `${method}: no server behind this endpoint runs tasks`);
  }

  /** Bytes of the client's declarations and subscriptions; its other state has separate bounds. */
  get keptBytes(): number {
    const { client, kept } = this.#parts;
    return (
      client.declaredBytes + kept.subscriptions.reduce((bytes, [server, uri]) => bytes + server.length + uri.length, 0)
    );
  }

  #isHeld(request: JsonRpcRequest, stream: PostStream, how: Pick<OfferRequest, 'isNamed' | 'ownMs'>): boolean {
    const settling = this.#parts.offerWait.begin(how);
    if (settling === undefined) return false;
    this.#holdUntil(request, stream, settling);
    return true;
  }

  /** Serves a request again once something is known. */
  #holdUntil(request: JsonRpcRequest, stream: PostStream, settling: Promise<void>): void {
    const { sight, forwarding, host } = this.#parts;
    const { asking } = sight;
    if (forwarding.open.size >= host.limits.maxInFlightPerSession) this.#refuse(stream, request, 'session.busy');
    else
      forwarding.hold({ id: request.id, stream }, settling, () => sight.as(asking, () => this.serve(request, stream)));
  }

  #hasRoomFor(uri: unknown): boolean {
    if (typeof uri !== 'string') return true; // The check of parameters refuses it.
    const { host } = this.#parts;
    return this.keptBytes + uri.length <= host.limits.maxSessionBytesPerSession && host.hasRoomFor(uri.length);
  }

  #refuse(stream: PostStream, request: JsonRpcRequest, reason: ErrorReason, message?: string): void {
    this.#refuseFor(stream, request, fault(reason, message));
  }

  #refuseFor(stream: PostStream, { id, method, params = {} }: JsonRpcRequest, gatewayFault: GatewayFault): void {
    const {
      host: { metrics, watchers },
      client,
    } = this.#parts;
    metrics.refused(gatewayFault.reason);
    stream.refuse(id, gatewayFault);
    watchers.refused(client, { id, method, params, trace: stream.trace }, gatewayFault);
  }
}
