/**
 * The way to sessions. Each is held by one worker, which is asked by its name; a session whose worker is gone is taken over by
 * another when it is next asked for. What was open at the moment of loss is asked again where that can do no harm, and answered
 * with "outcome unknown" where it could.
 *
 * Invariants
 *  W1  A command is sent a second time only when nobody had it (no responders, or a worker that does not hold the session), or
 *      when it changes nothing by being repeated.
 *  W2  A command whose worker vanished is answered within a bounded time, whether or not NATS knows that it vanished.
 */
import { gatewayFaultOf, Heart, PresenceWatch, subjects, type Bus, type BusError, type PendingRequest, type ReplyObserver, type Subscription } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault, newWorkerId, repeatableMethods,
  type EdgePresence, type ModernCommand, type OpenCommand, type OpenReply, type PostedMessage, type Presence, type SessionCommand, type StreamFrame, type StreamId, type WorkerId,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { anyWorker } from './choose-worker.ts';
import { enter } from './enter.ts';
import { ModernDoor } from './modern-door.ts';
import { OwnerSearch, retryMs, searchMs } from './owner-search.ts';
import type { SessionAddress } from './session-addresses.ts';

class Passage extends Link {
  readonly address: SessionAddress;
  readonly command: SessionCommand;
  readonly observer: ReplyObserver<StreamFrame>;
  /** Undefined while nobody has it: before it is sent, and while its next owner is looked for. */
  pending: PendingRequest | undefined;
  /** The worker that has it. */
  sentTo: WorkerId | undefined;
  /** How often it was sent. */
  attempts = 0;
  /** How often in a row it was sent to a worker that did not hold the session. */
  misses = 0;
  /** How often its worker was asked after it and said nothing. */
  unanswered = 0;
  /** Since when its worker is not heard of. */
  waitsSince: number | undefined;
  /** The number of the last message that was heard; undefined before anything was. */
  heardUpTo: number | undefined;

  /** Of the last message the client has had of the stream, on this or an earlier connection. */
  get sequence(): number {
    const { command, heardUpTo = 0 } = this;
    return Math.max(heardUpTo, command.kind === 'attach' ? (command.after?.sequence ?? 0) : 0);
  }

  constructor(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>) {
    super();
    this.address = address;
    this.command = command;
    this.observer = observer;
  }
}

/** A worker that does not answer by then is asked again. */
const probeMs = 2_000;
/** One that is not heard of either and did not answer so often is not waited for. */
const maxUnanswered = 4;
const maxMisses = 12;
/** A worker that was asked to open a session and did not answer by then is asked no more. */
const openMs = 3_000;
const maxOpens = 4;
/** After the bus was gone, workers have this long to be back before their sessions are taken over. */
const returnMs = 1_500;

export class SessionDoor {
  readonly #bus: Bus;
  readonly #wheel: DeadlineWheel;
  readonly #log: Logger;
  readonly #open = new Ring<Passage>();
  readonly #modern: ModernDoor;
  readonly #workers: PresenceWatch<Presence>;
  readonly #owners: OwnerSearch;
  /** What session workers know this edge by: streams that it reads are read no more when it is gone. */
  readonly #self = newWorkerId('edge');
  readonly #heart: Heart<EdgePresence>;
  #readers: Subscription | undefined;
  #reconnects = 0;
  #reconnectedAt = -Infinity;

  constructor(bus: Bus, wheel: DeadlineWheel, log: Logger) {
    this.#bus = bus;
    this.#wheel = wheel;
    this.#log = log;
    this.#workers = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.presence,
      joined: () => undefined,
      gone: (signs, how) => {
        const workers = new Set(signs.map(({ worker }) => worker));
        if (how === 'lost') log.warn({ workers: [...workers] }, 'session workers are gone');
        this.#lookAfter(this.#open.toArray().filter(({ sentTo }) => sentTo !== undefined && workers.has(sentTo)));
        this.#modern.lookAfter(({ sentTo }) => sentTo === undefined || workers.has(sentTo));
      },
      disturbed: () => {
        if (bus.reconnects !== this.#reconnects) this.#reconnectedAt = performance.now();
        this.#reconnects = bus.reconnects;
        this.#lookAfter(this.#open.toArray(), true);
        this.#modern.lookAfter();
      },
    });
    this.#modern = new ModernDoor({ bus, wheel, log, workers: this.#workers });
    this.#heart = new Heart({ bus, clock: wheel, subject: subjects.edgePresence, sign: (isLeaving) => ({ worker: this.#self, isLeaving, reconnects: bus.reconnects }) });
    this.#owners = new OwnerSearch({ bus, wheel, log, workers: this.#workers });
  }

  async start(): Promise<void> {
    // In one process nobody dies alone.
    if (!this.#bus.isShared) return;
    this.#readers = await this.#bus.subscribe(subjects.edgeReaders(this.#self), ({ readers }, reply) => {
      const held = new Set(this.#open.toArray().flatMap(({ command }) => ('stream' in command ? [command.stream] : [])));
      reply({ readers: readers.filter((reader) => held.has(reader)) });
    });
    await this.#workers.start();
    await this.#heart.start();
  }

  stop(): void {
    this.#workers.stop();
    this.#heart.stop();
    this.#readers?.close();
  }

  /** Where a command comes from; in one process there is one edge. */
  get #from(): { readonly edge?: WorkerId } {
    return this.#bus.isShared ? { edge: this.#self } : {};
  }

  /** What waits for its answer here. */
  get waiting(): number {
    return this.#open.size + this.#modern.waiting;
  }

  /**
   * Sends a command to the worker that holds the session, whoever that is.
   * @throws {BusError} when the bus cannot carry it.
   */
  request(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    const passage = new Passage(address, command, observer);
    const entered = enter(this.#open, passage, (each) => this.#send(each));
    if (command.kind !== 'attach') return entered;
    return {
      close: () => {
        const wasOpen = this.#open.has(passage);
        entered.close();
        // Also where its reader is gone before it was said to be attached: nobody else knows of it.
        if (wasOpen) this.#tellDetached(passage, command);
      },
    };
  }

  /** Tells the worker that holds the session; lost when there is none. */
  tell({ key, owner }: SessionAddress, command: SessionCommand): void {
    if (this.#bus.connected && owner !== undefined) this.#bus.publish(subjects.session(owner), { key, command });
  }

  #tellDetached({ address: { key }, sentTo }: Passage, { stream, after }: Extract<SessionCommand, { kind: 'attach' }>): void {
    if (this.#bus.connected && sentTo !== undefined) this.#bus.publish(subjects.session(sentTo), { key, command: { kind: 'detach', stream: after?.stream ?? stream, reader: stream } });
  }

  /** Opens a session at any worker. Nothing is lost when one that did not answer opened one as well: nobody has its id. */
  open(command: OpenCommand, answer: (reply: OpenReply) => void): void {
    const asked = new Set<WorkerId>();
    const ask = (attempt: number): void => {
      const worker = anyWorker(this.#workers.there, asked);
      if (worker !== undefined) asked.add(worker);
      const fail = (): void => {
        if (attempt < maxOpens) ask(attempt + 1);
        else answer({ kind: 'refused', fault: fault('gateway.unavailable') });
      };
      try {
        const pending = this.#bus.request(subjects.sessionOpen(worker), command, {
          reply: (reply) => {
            limit.cancel();
            pending.close();
            // One that is leaving; another one takes it.
            if (reply.kind === 'refused' && reply.fault.reason === 'gateway.draining' && attempt < maxOpens) ask(attempt + 1);
            else answer(reply);
          },
          failed: (error) => {
            limit.cancel();
            const known = gatewayFaultOf(error);
            // Nobody at all, or one that has just left.
            if (worker === undefined || known !== undefined) answer({ kind: 'refused', fault: known ?? fault('gateway.unavailable') });
            else fail();
          },
        });
        const limit = this.#wheel.schedule(openMs, () => {
          pending.close();
          fail();
        });
      } catch (error) {
        this.#log.debug({ err: error }, 'no worker could be asked to open a session');
        answer({ kind: 'refused', fault: fault('gateway.unavailable') });
      }
    };
    ask(1);
  }

  #send(passage: Passage): void {
    const { address, command } = passage;
    const { key, owner } = address;
    const state = owner === undefined ? 'lost' : this.#workers.state(owner);
    if (owner === undefined || state === 'lost') {
      this.#search(passage);
    } else if (state === 'silent') {
      this.#wait(passage);
    } else {
      passage.attempts += 1;
      passage.unanswered = 0;
      passage.waitsSince = undefined;
      passage.sentTo = owner;
      passage.pending = this.#bus.request(subjects.session(owner), { key, command: passage.attempts === 1 ? command : continued(passage), ...this.#from }, this.#hearing(passage));
    }
  }

  /** Sends it once more; whoever waits for it is told when the bus cannot carry it. */
  #sendAgain(passage: Passage): void {
    if (!this.#open.has(passage) || passage.pending !== undefined) return;
    try {
      this.#send(passage);
    } catch (error) {
      this.#fail(passage, error as BusError);
    }
  }

  /** Sent to a worker that is not heard of, it could be lost: it is sent when that one is back, or its session is at another. */
  #wait(passage: Passage): void {
    passage.pending = undefined;
    passage.waitsSince ??= performance.now();
    if (performance.now() - passage.waitsSince > searchMs) this.#refuse(passage, 'gateway.unavailable');
    else this.#wheel.schedule(retryMs, () => this.#sendAgain(passage));
  }

  /** Sends it to whoever holds the session by now. */
  #search(passage: Passage): void {
    passage.pending = undefined;
    void this.#owners.find(passage.address).then((found) => {
      if (!this.#open.has(passage) || passage.pending !== undefined) return;
      if (found.outcome === 'held') {
        passage.address.owner = found.worker;
        this.#sendAgain(passage);
      } else {
        this.#refuse(passage, found.outcome === 'unknown' ? 'session.unknown' : 'gateway.unavailable');
      }
    });
  }

  /** The worker that was asked does not hold the session. */
  #again(passage: Passage): void {
    if (passage.pending === undefined) return; // It is on its way already.
    passage.pending.close();
    passage.pending = undefined;
    passage.misses += 1;
    if (passage.misses >= maxMisses) this.#refuse(passage, 'gateway.unavailable');
    else if (passage.address.owner === passage.sentTo) this.#search(passage);
    else this.#sendAgain(passage);
  }

  /** Its worker is there: what it sent since the last message that arrived is sent again. */
  #attachAgain(passage: Passage): void {
    const { command, address: { key }, sentTo } = passage;
    const stream = streamOf(command);
    if (stream === undefined || passage.pending === undefined || sentTo === undefined || !('stream' in command) || !('caller' in command)) return;
    passage.pending.close();
    passage.attempts += 1;
    const hearing = this.#hearing(passage);
    passage.pending = this.#bus.request(subjects.session(sentTo), { key, command: { kind: 'attach', caller: command.caller, stream: command.stream, after: { stream, sequence: passage.sequence } }, ...this.#from }, {
      ...hearing,
      reply: (frame) => {
        // It had said everything, and kept nothing of it, or has given the session up.
        if (frame.kind === 'moved' || (frame.kind === 'refused' && frame.fault.reason === 'stream.unknown')) this.#lost(passage);
        else hearing.reply(frame);
      },
      // It was there a moment ago, and has had the command: that nobody is there now does not mean that nobody had it (W1).
      failed: (error) => (error.kind === 'no-responders' ? this.#lost(passage) : this.#fail(passage, error)),
    });
  }

  #hearing(passage: Passage): ReplyObserver<StreamFrame> {
    return {
      reply: (frame) => {
        if (frame.kind === 'moved') {
          this.#again(passage);
          return;
        }
        passage.misses = 0;
        if (frame.kind === 'message') passage.heardUpTo = frame.sequence;
        else if (frame.kind === 'attached') passage.heardUpTo ??= 0;
        passage.observer.reply(frame);
      },
      failed: (error) => {
        if (error.kind === 'no-responders') this.#unheard(passage); // W1
        else this.#fail(passage, error);
      },
    };
  }

  #fail(passage: Passage, error: BusError): void {
    if (this.#open.remove(passage)) passage.observer.failed(error);
  }

  #refuse(passage: Passage, reason: 'session.unknown' | 'gateway.unavailable' | 'gateway.interrupted'): void {
    if (this.#open.remove(passage)) passage.observer.reply({ kind: 'refused', fault: fault(reason) });
  }

  /** Nobody had it. Right after the bus was gone that says only that the owner is not back yet. */
  #unheard(passage: Passage): void {
    if (!this.#workers.isBehind && performance.now() - this.#reconnectedAt > returnMs) {
      this.#again(passage);
      return;
    }
    passage.pending = undefined;
    this.#wheel.schedule(retryMs, () => this.#sendAgain(passage));
  }

  /**
   * Sends a request that needs no session to any worker.
   * @throws {BusError} when the bus cannot carry it.
   */
  requestModern(command: ModernCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    return this.#modern.request(command, observer);
  }

  /**
   * Asks the workers that have these whether they still do.
   * @param wasDisturbed what they sent may have been lost on the way.
   */
  #lookAfter(open: readonly Passage[], wasDisturbed = false): void {
    const together = Map.groupBy(open.filter(({ pending }) => pending !== undefined), ({ address: { key }, sentTo }) => `${key} ${sentTo}`);
    for (const passages of together.values()) this.#probe(passages, wasDisturbed);
  }

  /** @param passages of one session at one worker. */
  #probe(passages: readonly Passage[], wasDisturbed: boolean): void {
    const [{ address: { key }, sentTo }] = passages as [Passage];
    if (sentTo === undefined) return;
    // Only what was sent before the question can be lost by the answer.
    const attempts = passages.map((passage) => passage.attempts);
    const left = (): Passage[] => passages.filter((passage, index) => this.#open.has(passage) && passage.pending !== undefined && passage.attempts === attempts[index]);
    const streams = passages.flatMap(({ command }) => streamOf(command) ?? []);
    const pending = this.#bus.request(subjects.session(sentTo), { key, command: { kind: 'probe', streams } }, {
      reply: (frame) => {
        pending.close();
        limit.cancel();
        for (const passage of left()) {
          passage.unanswered = 0;
          const stream = streamOf(passage.command);
          if (frame.kind !== 'probed' || stream === undefined || frame.missing.includes(stream)) this.#lost(passage);
          else if (wasDisturbed) this.#attachAgain(passage);
        }
      },
      failed: (error) => {
        // A worker that failed over the question has not said that it does not hold them: it is asked again.
        if (error.kind !== 'no-responders') return;
        limit.cancel();
        for (const passage of left()) this.#lost(passage);
      },
    });
    const limit = this.#wheel.schedule(probeMs, () => {
      pending.close();
      const state = this.#workers.state(sentTo);
      for (const passage of left()) {
        if (state !== 'there') passage.unanswered += 1;
        if (passage.unanswered >= maxUnanswered || (state === 'lost' && isRepeatable(passage.command))) this.#lost(passage); // W2
      }
      if (this.#bus.connected) this.#lookAfter(left(), wasDisturbed);
    });
  }

  /** The worker that had it is gone. */
  #lost(passage: Passage): void {
    if (!this.#open.has(passage) || passage.pending === undefined) return; // Nobody has had it yet.
    if (isRepeatable(passage.command)) {
      this.#again(passage);
      return;
    }
    passage.pending.close();
    this.#refuse(passage, 'gateway.interrupted'); // W2
  }
}

/** The stream a command's answer comes on. */
function streamOf(command: SessionCommand): StreamId | undefined {
  if (command.kind === 'attach') return command.after?.stream ?? command.stream;
  return command.kind === 'post' || command.kind === 'batch' ? command.stream : undefined;
}

/** The command as another worker goes on with it: after what the client has had. */
function continued({ command, heardUpTo, sequence }: Passage): SessionCommand {
  if (heardUpTo === undefined) return command;
  switch (command.kind) {
    case 'attach':
      return { ...command, after: { stream: command.after?.stream ?? command.stream, sequence } };
    case 'post':
    case 'batch':
      return { ...command, sentUpTo: heardUpTo };
    case 'detach':
    case 'delete':
    case 'probe':
      return command;
  }
}

/** What can be done a second time without doing more than once would have. */
function isRepeatable(command: SessionCommand): boolean {
  switch (command.kind) {
    case 'attach':
    case 'detach':
    case 'delete':
    case 'probe':
      return true;
    case 'post':
      return isHarmless(command.message);
    case 'batch':
      return command.messages.every(isHarmless);
  }
}

function isHarmless(posted: PostedMessage): boolean {
  return posted.kind !== 'request' || repeatableMethods.has(posted.message.method);
}
