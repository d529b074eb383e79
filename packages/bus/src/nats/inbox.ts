/**
 * The replies to the requests of this process. All replies come in over one subscription and a token distinguishes them, which costs half as much as a
 * subscription for each request. A request without a receiver comes back as NATS' own 503.
 */
import { SlotTable } from '@omnibus/collections';
import { isObject } from '@omnibus/protocol';
import { createInbox, type Msg } from '@nats-io/transport-node';
import type { OnFault, PendingRequest, ReplyObserver } from '../bus.ts';
import { decodeReply } from '../codec.ts';
import { BusError } from '../errors.ts';
import { failObserver, tellFailure } from '../observers.ts';
import type { Subject } from '../subject.ts';
import { AwayReply } from './away.ts';
import { awayIn, orderOf } from './blobs.ts';
import type { Fetches } from './claims.ts';
import { notFitting } from '../failure.ts';
import { failureOf } from './failure.ts';
import { Lane } from './lanes.ts';

const noResponders = 503;

/**
 * Ends the subjects for replies of a process that reads a text beside the other members (`codec.ts`). Version 0.3.0 has no such mark.
 * It is no digit of a handle, so a handle ends there.
 */
const textMark = '~';

/** Whether the process with this subject for replies reads the text of a reply beside its other members. */
export function takesTextBeside(replyTo: string | undefined): boolean {
  return replyTo?.endsWith(textMark) === true;
}

/** The stream that has stored a message, where its answer came in place of a reply (NATS, JetStream's acknowledgement of a message). */
function capturingStream(payload: unknown): string | undefined {
  if (!isObject(payload)) return undefined;
  const { stream, seq } = payload;
  return typeof stream === 'string' && typeof seq === 'number' ? JSON.stringify(stream.slice(0, 100)) : undefined;
}

/** A request that receives replies. */
interface Waiting {
  readonly observer: ReplyObserver<unknown>;
  readonly to: Subject<never, unknown>;
  /** Set while a large reply is fetched; the request's later replies wait for it. */
  lane: Lane | undefined;
}

/** A request that is to be sent, with the subject for its replies. */
export interface OpenedRequest extends PendingRequest {
  readonly replyTo: string;
}

/**
 * A class: V8 gives each object literal with a getter a shape of its own, in the old generation.
 * The shape holds the getter and all that the getter refers to, so requests and calls would become old before they are garbage.
 */
class Opened implements OpenedRequest {
  readonly replyTo: string;
  readonly #all: SlotTable<Waiting>;
  readonly #handle: number;
  readonly #waiting: Waiting;

  constructor(replyTo: string, all: SlotTable<Waiting>, handle: number, waiting: Waiting) {
    this.replyTo = replyTo;
    this.#all = all;
    this.#handle = handle;
    this.#waiting = waiting;
  }

  get isArriving(): boolean {
    return this.#waiting.lane?.tail !== undefined;
  }

  close(): void {
    this.#all.take(this.#handle);
  }
}

export class Inbox {
  readonly #prefix: string;
  readonly #fetches: Fetches;
  readonly #onFault: OnFault;
  readonly #waiting = new SlotTable<Waiting>();

  /** @param prefix of its subjects, as NATS sees it; undefined for the default of NATS clients. */
  constructor(prefix: string | undefined, fetches: Fetches, onFault: OnFault) {
    this.#prefix = `${createInbox(prefix)}.`;
    this.#fetches = fetches;
    this.#onFault = onFault;
  }

  /** The subject pattern of all replies. */
  get subject(): string {
    return `${this.#prefix}*`;
  }

  /** Prepares to receive the replies to a request. */
  open<Request, Reply>(to: Subject<Request, Reply>, observer: ReplyObserver<Reply>): OpenedRequest {
    const waiting: Waiting = {
      observer: observer as ReplyObserver<unknown>,
      to: to as Subject<never, unknown>,
      lane: undefined,
    };
    const handle = this.#waiting.add(waiting);
    return new Opened(this.#prefix + handle.toString(36) + textMark, this.#waiting, handle, waiting);
  }

  /** Ends the request whose replies come there: it could not be sent. */
  refuse(replyTo: string, failure: BusError): void {
    const waiting = this.#waiting.take(this.#handleOf(replyTo));
    if (waiting !== undefined) tellFailure(waiting.observer, failure, this.#onFault);
  }

  #handleOf(subject: string): number {
    return Number.parseInt(subject.slice(this.#prefix.length), 36);
  }

  /** Ends requests that will get no answer. @param why the error for a subject; undefined for requests that continue. */
  fail(why: (to: Subject<never, unknown>) => BusError | undefined): void {
    for (const [handle, { to, observer }] of this.#waiting.toArray()) {
      const failure = why(to);
      if (failure === undefined) continue;
      this.#waiting.take(handle);
      tellFailure(observer, failure, this.#onFault);
    }
  }

  hear(error: Error | null, message: Msg): void {
    if (error) {
      this.#onFault({ kind: 'connection', what: 'the inbox failed', error });
      return;
    }
    const handle = this.#handleOf(message.subject);
    const waiting = this.#waiting.get(handle);
    if (waiting === undefined) return;
    const fail = (failure: BusError): void => {
      if (this.#waiting.get(handle) !== waiting) return; // B5
      this.#waiting.take(handle);
      tellFailure(waiting.observer, failure, this.#onFault);
    };
    if (message.data.length === 0 && message.headers?.code === noResponders) {
      fail(new BusError('no-responders', 'no process listens on that subject')); // B4
      return;
    }
    const hear = (bytes: Uint8Array): void => {
      if (this.#waiting.get(handle) !== waiting) return; // B5
      const failure = failureOf(message);
      if (failure !== undefined) {
        fail(failure);
        return;
      }
      const payload = decodeReply(bytes);
      if (this.#isReply(waiting, payload)) this.#tell(handle, waiting, payload);
    };
    const unread = (problem: unknown): void => {
      const { family } = waiting.to;
      this.#onFault({ kind: 'message', what: `a reply from ${family} could not be read`, family, error: problem });
      fail(problem instanceof BusError ? problem : new BusError('lost', 'a reply could not be read', problem));
    };
    const order = orderOf(message);
    const away = awayIn(message);
    try {
      if (away !== undefined) {
        this.#hearAway(handle, waiting, away, message.data, unread);
      } else if (order?.kind === 'claim') {
        const claim = this.#fetches.claimOf(order.claim);
        waiting.lane ??= new Lane();
        void waiting.lane.after(async () => hear(await this.#fetches.fetch(claim)), unread);
      } else if (waiting.lane?.tail !== undefined) {
        void waiting.lane.after(() => hear(message.data), unread);
      } else {
        hear(message.data);
      }
    } catch (problem) {
      unread(problem);
    }
  }

  /** Whether a payload is a reply. One of a kind that only a newer version knows is passed over by the observer, since more replies may follow. */
  #isReply({ to }: Waiting, payload: unknown): boolean {
    if (to.shapes?.reply?.(payload) !== 'junk') return true;
    const stream = capturingStream(payload);
    if (stream === undefined) throw notFitting('junk');
    // The reply of the receiver still comes.
    this.#onFault({
      kind: 'connection',
      what: `the stream ${stream} at NATS stores our messages and answers them: take ${to.name} out of its subjects`,
    });
    return false;
  }

  /** A reply without its bytes: they are fetched, unless its observer passes it on without. */
  #hearAway(
    handle: number,
    waiting: Waiting,
    claimed: string,
    bytes: Uint8Array,
    failed: (problem: unknown) => void,
  ): void {
    const claim = this.#fetches.claimOf(claimed);
    const reply = new AwayReply(bytes, {
      claim: claimed,
      length: claim.bytes,
      fetch: () => this.#fetches.fetch(claim),
    });
    if (!this.#isReply(waiting, reply.members)) return;
    const tell = (payload: unknown): void => {
      if (this.#waiting.get(handle) === waiting) this.#tell(handle, waiting, payload); // B5
    };
    const isLeft = waiting.observer.takesAway === true;
    if (isLeft && waiting.lane?.tail === undefined) {
      tell(reply.away);
      return;
    }
    waiting.lane ??= new Lane();
    void waiting.lane.after(isLeft ? () => tell(reply.away) : async () => tell(await reply.here()), failed);
  }

  #tell(handle: number, waiting: Waiting, payload: unknown): void {
    try {
      waiting.observer.reply(payload);
    } catch (error) {
      this.#waiting.take(handle);
      failObserver(waiting.observer, error, this.#onFault); // B6
    }
  }
}
