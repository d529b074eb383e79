/** Handles the messages that a session's client posts: requests, notifications, and answers to questions of servers. */
import {
  fault,
  isCustomNotification,
  isJsonRpcId,
  type JsonObject,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type LateReply,
  type PostedMessage,
  type WorkerId,
} from '@omnibus/protocol';
import type { OpenRequests } from '../call/open-requests.ts';
import { PostStream, type PostCommand } from '../streams/post-stream.ts';
import { repeated } from '../streams/repeated.ts';
import type { Reply, ResumableStream } from '../streams/resumable-stream.ts';
import type { Serving } from './serve.ts';
import type { SessionParts } from './session-parts.ts';

type Outcome = LateReply['outcome'] | 'silence';

export class Posted {
  readonly #parts: SessionParts;
  readonly #serving: Serving;
  /** Called when the client has sent `notifications/initialized`. */
  readonly #initialized: () => void;

  constructor(parts: SessionParts, serving: Serving, initialized: () => void) {
    this.#parts = parts;
    this.#serving = serving;
    this.#initialized = initialized;
  }

  /** Handles the messages of one POST. @returns whether there is a request among them. */
  receive(command: PostCommand, messages: readonly PostedMessage[], reply: Reply, edge: WorkerId | undefined): boolean {
    const { streams, questions } = this.#parts;
    const refusals = (command.kind === 'batch' ? command.refusals : undefined) ?? [];
    let requests = 0;
    for (const { kind } of messages) if (kind === 'request') requests += 1;
    if (command.begun !== undefined) {
      if (this.#goesOn(command, reply, edge)) return requests > 0;
    } else if (streams.posts.again?.has(command.stream) === true) return requests > 0;
    const toAnswer = requests + refusals.length;
    const earlier = streams.posts.mayBeLeft(edge) ? repeated(command, streams.posts.all, edge) : undefined;
    const stream = new PostStream(command, reply, toAnswer, streams.posts, edge);
    for (const refusal of refusals) stream.answer(refusal);
    const late: Promise<Outcome>[] = [];
    for (const posted of messages) {
      switch (posted.kind) {
        case 'request':
          if (earlier === undefined) this.#serving.serve(posted.message, stream);
          else this.#join(earlier, posted.message, stream, edge);
          break;
        case 'notification':
          this.#hear(posted);
          break;
        case 'response':
          if (!questions.takeAnswer(posted.message)) late.push(questions.passOn(posted, posted.message.id));
      }
    }
    if (toAnswer === 0) this.#accept(late, reply);
    return requests > 0;
  }

  /** A POST that came before after all, though its edge did not know that: its requests are open here, and go on for the edge. */
  #goesOn({ stream, sentUpTo = 0 }: PostCommand, reply: Reply, edge: WorkerId | undefined): boolean {
    const { posts } = this.#parts.streams;
    posts.cameAgain(stream);
    return posts.find(stream)?.resume(sentUpTo, stream, reply, edge) === true;
  }

  /** A request that came before, on a stream that may have lost its reader: if so, its client goes on there, else this is another request. */
  #join(earlier: ResumableStream, message: JsonRpcRequest, stream: PostStream, edge: WorkerId | undefined): void {
    const { forwarding, host } = this.#parts;
    earlier.awaitReader();
    const { lastEdge, reader } = earlier;
    let isLeft = true;
    const known =
      lastEdge === undefined
        ? Promise.resolve()
        : host.readingAt(lastEdge, reader).then((reading) => {
            // An edge that is there has sent the last message of a stream to its client, or reports that it could not.
            isLeft = reading === 'gone' || (reading === 'unread' && !earlier.isComplete);
          });
    forwarding.hold({ id: message.id, stream }, known, () => {
      // Another repetition may have come before this one.
      if (!isLeft || earlier.reader !== reader) this.#serving.serve(message, stream);
      else if (earlier.isWhole) {
        host.metrics.streamsResumed.inc();
        stream.continueAs(earlier, edge);
      } else stream.refuse(message.id, fault('gateway.interrupted'));
    });
  }

  /** Accepts a POST without requests. @param late the outcomes of answers that were passed to other workers. */
  #accept(late: readonly Promise<Outcome>[], reply: Reply): void {
    if (late.length === 0) {
      reply({ kind: 'accepted' });
      return;
    }
    // A user must learn that an answer was not used (2025-11-25 transports: an HTTP error for a rejected message).
    void Promise.all(late).then((outcomes) => {
      const reason = outcomes.includes('gone')
        ? 'question.lost'
        : outcomes.includes('silence')
          ? 'gateway.unavailable'
          : undefined;
      reply(reason === undefined ? { kind: 'accepted' } : { kind: 'refused', fault: fault(reason) });
    });
  }

  #hear(posted: Extract<PostedMessage, { kind: 'notification' }>): void {
    const { method, params } = posted.message;
    const { host, client, sight, forwarding, questions } = this.#parts;
    switch (method) {
      case 'notifications/initialized':
        this.#initialized();
        return;
      case 'notifications/cancelled': {
        const outcome = this.#cancel(params);
        if (outcome === 'unknown' && questions.heldBefore !== undefined)
          void questions.passTo(questions.heldBefore, posted);
        else if (outcome !== 'cancelled')
          host.metrics.dropped(outcome === 'unknown' ? 'cancel_unknown' : 'cancel_ambiguous');
        return;
      }
      case 'notifications/roots/list_changed':
        forwarding.carrier.tellServers({ kind: 'roots-changed', session: client.key });
        return;
      case 'notifications/progress':
        if (!questions.takeProgress(params)) void questions.passOn(posted, params?.['progressToken']);
        return;
      default:
        if (isCustomNotification(method)) forwarding.notify(method, params, sight.view);
        else host.metrics.dropped('notification_unknown');
    }
  }

  /** Handles a message of the client about something that is still open here, passed on by the worker that holds the session now. */
  hearLate(posted: PostedMessage): LateReply['outcome'] {
    const isTaken =
      posted.kind === 'response'
        ? this.#parts.questions.takeAnswer(posted.message)
        : posted.kind === 'notification' && this.#concernsOpen(posted.message);
    return isTaken ? 'taken' : 'closed';
  }

  /** Handles a notification about something open here. @returns false when it is about nothing that is. */
  #concernsOpen({ method, params }: JsonRpcNotification): boolean {
    if (method === 'notifications/progress') return this.#parts.questions.takeProgress(params);
    return method === 'notifications/cancelled' && this.#cancel(params) === 'cancelled';
  }

  #cancel(params: JsonObject | undefined): ReturnType<OpenRequests['cancel']> {
    const id = params?.['requestId'];
    const reason = params?.['reason'];
    return isJsonRpcId(id)
      ? this.#parts.forwarding.open.cancel(id, typeof reason === 'string' ? reason : 'the client cancelled the request')
      : 'unknown';
  }
}
