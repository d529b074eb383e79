/** Answers the requests of a session that are for the gateway itself, and passes those for servers to `call/forward.ts`. */
import type { View } from '@omnibus/catalog';
import {
  fault,
  isCarriedMethod,
  isCustomMethod,
  isExtensionTaskMethod,
  isSessionTaskMethod,
  listKindOf,
  resultText,
  type ErrorReason,
  type JsonRpcRequest,
  type ListMethod,
  type SessionTaskMethod,
} from '@omnibus/protocol';
import { listPage, ownLimitOf } from '../call/routes/list-page.ts';
import { isUnrouted } from '../call/routes/unrouted.ts';
import { missingCapability } from '../call/routes/needed-capability.ts';
import type { OfferRequest } from '../views/offers.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { SessionParts } from './session-parts.ts';

export class Serving {
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  serve(request: JsonRpcRequest, stream: PostStream): void {
    const { id, method, params } = request;
    const { host, client, sight, forwarding } = this.#parts;
    const { view } = sight;
    if (view === undefined) {
      this.#refuse(stream, request, 'session.unknown', 'this endpoint has left the configuration');
      return;
    }
    const lacking = missingCapability(request, view, client.offered);
    if (lacking !== undefined) {
      this.#refuse(stream, request, 'method.unknown', lacking);
      return;
    }
    const kind = listKindOf(method);
    if (kind !== undefined) {
      if (this.#isHeld(request, stream, { ownMs: ownLimitOf(params) })) return;
      if (view.isUnreadHere(kind)) {
        forwarding.forward(stream, id, method as ListMethod, params, view);
        return;
      }
      const json = listPage(view, kind, params, this.#parts.offerWait.reading());
      if (json === undefined) this.#refuse(stream, request, 'cursor.invalid');
      else {
        stream.answer(resultText(id, json));
        host.watchers.listed(client, { id, method, params: params ?? {}, trace: stream.trace }, json.length);
      }
      return;
    }
    // A client that has kept a list, and asks for none, may name what is found only now.
    if (
      isUnrouted(method, params ?? {}, view, () => client.linkedResources) &&
      this.#isHeld(request, stream, { isNamed: true })
    )
      return;
    switch (method) {
      case 'resources/subscribe':
        this.#subscribe(request, stream, view);
        return;
      case 'ping':
        stream.answer(resultText(id, '{}'));
        return;
      case 'logging/setLevel':
        client.level.set(params ?? {}, view.definition.servers, {
          answerMember: (member) => stream.answerMember(id, member),
          refuse: ({ reason, message }) => this.#refuse(stream, request, reason, message),
        });
        return;
      case 'initialize':
        this.#refuse(stream, request, 'session.initialized');
        return;
      default:
        if (isSessionTaskMethod(method)) this.#serveTask(request, method, stream, view);
        else if ((isCarriedMethod(method) && !isExtensionTaskMethod(method)) || isCustomMethod(method))
          forwarding.forward(stream, id, method, params, view);
        else this.#refuse(stream, request, 'method.unknown', `unknown method ${JSON.stringify(method.slice(0, 100))}`);
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
    if (client.taskMode() === 'requested' && view.taskServers().length > 0)
      forwarding.forward(stream, id, method, params, view);
    else this.#refuse(stream, request, 'method.unknown', `${method}: no server behind this endpoint runs tasks`);
  }

  /** Bytes kept of what the client declared and subscribed to; everything else that is kept for it has bounds of its own. */
  get keptBytes(): number {
    const {
      client,
      forwarding: { kept },
    } = this.#parts;
    return (
      client.declaredBytes + kept.subscriptions.reduce((bytes, [server, uri]) => bytes + server.length + uri.length, 0)
    );
  }

  #isHeld(request: JsonRpcRequest, stream: PostStream, how: Pick<OfferRequest, 'isNamed' | 'ownMs'>): boolean {
    const { offerWait, sight, forwarding, host } = this.#parts;
    const settling = offerWait.begin(how);
    if (settling === undefined) return false;
    const { asking } = sight;
    if (forwarding.size >= host.limits.maxInFlightPerSession) this.#refuse(stream, request, 'session.busy');
    else
      forwarding.hold({ id: request.id, stream }, settling, () => sight.as(asking, () => this.serve(request, stream)));
    return true;
  }

  #hasRoomFor(uri: unknown): boolean {
    if (typeof uri !== 'string') return true; // The check of parameters refuses it.
    const { host } = this.#parts;
    return this.keptBytes + uri.length <= host.limits.maxSessionBytesPerSession && host.hasRoomFor(uri.length);
  }

  #refuse(
    stream: PostStream,
    { id, method, params = {} }: JsonRpcRequest,
    reason: ErrorReason,
    message?: string,
  ): void {
    const {
      host: { metrics, watchers },
      client,
    } = this.#parts;
    const gatewayFault = fault(reason, message);
    metrics.refused(reason);
    stream.refuse(id, gatewayFault);
    watchers.refused(client, { id, method, params, trace: stream.trace }, gatewayFault);
  }
}
