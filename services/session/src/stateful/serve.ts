/** Answers the requests of a session that are for the gateway itself, and gives those to `call/forward.ts` that are for servers. */
import type { View } from '@omnibus/catalog';
import {
  fault, isCarriedMethod, isCustomMethod, isExtensionTaskMethod, isSessionTaskMethod, listKindOf, resultText,
  type ErrorReason, type JsonRpcId, type JsonRpcRequest, type SessionTaskMethod,
} from '@omnibus/protocol';
import { listPage } from '../call/routes/list-page.ts';
import { missingCapability } from '../call/routes/needed-capability.ts';
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
      this.#refuse(stream, id, 'session.unknown', 'this endpoint has left the configuration');
      return;
    }
    const lacking = missingCapability(request, view, client.offered);
    if (lacking !== undefined) {
      this.#refuse(stream, id, 'method.unknown', lacking);
      return;
    }
    const kind = listKindOf(method);
    if (kind !== undefined) {
      if (this.#isHeld(request, stream)) return;
      const json = listPage(view, kind, params);
      if (json === undefined) this.#refuse(stream, id, 'cursor.invalid');
      else stream.answer(resultText(id, json));
      return;
    }
    switch (method) {
      case 'resources/subscribe':
        if (this.#hasRoomFor(params?.['uri'])) forwarding.forward(stream, id, method, params, view);
        else this.#refuse(stream, id, 'params.invalid', `a session is kept ${host.limits.maxSessionBytesPerSession} bytes of capabilities and subscriptions (limits.maxSessionBytesPerSession); params.uri is too much`);
        return;
      case 'tools/call':
        // A client that has kept a list, and asks for none, may name a tool that is found only now.
        if (typeof params?.['name'] === 'string' && view.toolRoute(params['name']) === undefined && this.#isHeld(request, stream)) return;
        forwarding.forward(stream, id, method, params, view);
        return;
      case 'ping':
        stream.answer(resultText(id, '{}'));
        return;
      case 'logging/setLevel':
        client.level.set(params ?? {}, view.definition.servers, {
          answerMember: (member) => stream.answerMember(id, member),
          refuse: ({ reason, message }) => this.#refuse(stream, id, reason, message),
        });
        return;
      case 'initialize':
        this.#refuse(stream, id, 'session.initialized');
        return;
      default:
        if (isSessionTaskMethod(method)) this.#serveTask(request, method, stream, view);
        else if ((isCarriedMethod(method) && !isExtensionTaskMethod(method)) || isCustomMethod(method)) forwarding.forward(stream, id, method, params, view);
        else this.#refuse(stream, id, 'method.unknown', `unknown method ${JSON.stringify(method.slice(0, 100))}`);
    }
  }

  #serveTask({ id, params }: JsonRpcRequest, method: SessionTaskMethod, stream: PostStream, view: View): void {
    const { client, forwarding } = this.#parts;
    if (client.taskMode() === 'requested' && view.taskServers().length > 0) forwarding.forward(stream, id, method, params, view);
    else this.#refuse(stream, id, 'method.unknown', `${method}: no server behind this endpoint runs tasks`);
  }

  /** Bytes kept of what the client declared and subscribed to; the rest of what is kept of it has a bound of its own. */
  get keptBytes(): number {
    const { client, forwarding: { kept } } = this.#parts;
    return client.declaredBytes + kept.subscriptions.reduce((bytes, [server, uri]) => bytes + server.length + uri.length, 0);
  }

  #isHeld(request: JsonRpcRequest, stream: PostStream): boolean {
    return this.#parts.offerWait.holds(request.id, () => this.serve(request, stream), () => stream.leaveUnanswered()); // S2
  }

  #hasRoomFor(uri: unknown): boolean {
    if (typeof uri !== 'string') return true; // Which is refused for that.
    const { host } = this.#parts;
    return this.keptBytes + uri.length <= host.limits.maxSessionBytesPerSession && host.hasRoomFor(uri.length);
  }

  #refuse(stream: PostStream, id: JsonRpcId, reason: ErrorReason, message?: string): void {
    this.#parts.host.metrics.refused(reason);
    stream.refuse(id, fault(reason, message));
  }
}
