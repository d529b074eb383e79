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
import { gatewayFaultOf, Heartbeat, PresenceWatch, subjects, type Bus, type BusError, type PendingRequest, type ReplyObserver, type Subscription } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault, newWorkerId, repeatableMethods,
  type EdgePresence, type ModernCommand, type OpenCommand, type OpenReply, type PostedMessage, type Presence, type SessionCommand, type StreamFrame, type StreamId, type WorkerId,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { anyWorker } from './choose-worker.ts';
import { track } from './in-flight.ts';
import { StatelessDelivery } from './stateless-delivery.ts';
import { OwnerSearch, retryMs, searchMs } from './owner-search.ts';
import type { SessionAddress } from './session-addresses.ts';

class InFlight extends Link {
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

export class SessionDelivery {
  readonly #bus: Bus;
  readonly #wheel: DeadlineWheel;
  readonly #log: Logger;
  readonly #open = new Ring<InFlight>();
  readonly #stateless: StatelessDelivery;
  readonly #workers: PresenceWatch<Presence>;
  readonly #owners: OwnerSearch;
  /** What session workers know this edge by: streams that it reads are read no more when it is gone. */
  readonly #self = newWorkerId('edge');
  readonly #heart: Heartbeat<EdgePresence>;
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
        this.#stateless.lookAfter(({ sentTo }) => sentTo === undefined || workers.has(sentTo));
      },
      disturbed: () => {
        if (bus.reconnects !== this.#reconnects) this.#reconnectedAt = performance.now();
        this.#reconnects = bus.reconnects;
        this.#lookAfter(this.#open.toArray(), true);
        this.#stateless.lookAfter();
      },
    });
    this.#stateless = new StatelessDelivery({ bus, wheel, log, workers: this.#workers });
    this.#heart = new Heartbeat({ bus, clock: wheel, subject: subjects.edgePresence, sign: (isLeaving) => ({ worker: this.#self, isLeaving, reconnects: bus.reconnects }) });
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
    return this.#open.size + this.#stateless.waiting;
  }

  /**
   * Sends a command to the worker that holds the session, whoever that is.
   * @throws {BusError} when the bus cannot carry it.
   */
  request(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    const inFlight = new InFlight(address, command, observer);
    const entered = track(this.#open, inFlight, (each) => this.#send(each));
    if (command.kind !== 'attach') return entered;
    return {
      close: () => {
        const wasOpen = this.#open.has(inFlight);
        entered.close();
        // Also where its reader is gone before it was said to be attached: nobody else knows of it.
        if (wasOpen) this.#tellDetached(inFlight, command);
      },
    };
  }

  /** Tells the worker that holds the session; lost when there is none. */
  tell({ key, owner }: SessionAddress, command: SessionCommand): void {
    if (this.#bus.connected && owner !== undefined) this.#bus.publish(subjects.session(owner), { key, command });
  }

  #tellDetached({ address: { key }, sentTo }: InFlight, { stream, after }: Extract<SessionCommand, { kind: 'attach' }>): void {
    if (this.#bus.connected && sentTo !== undefined) this.#bus.publish(subjects.session(sentTo), { key, command: { kind: 'detach', stream: after?.stream ?? stream, reader: stream } });
  }

  /** Opens a session at any worker. Nothing is lost when one that did not answer opened one as well: nobody has its id. */
  open(command: OpenCommand, answer: (reply: OpenReply) => void): void {
    const asked = new Set<WorkerId>();
    const ask = (attempt: number): void => {
      const worker = anyWorker(this.#workers.alive, asked);
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

  #send(inFlight: InFlight): void {
    const { address, command } = inFlight;
    const { key, owner } = address;
    const state = owner === undefined ? 'lost' : this.#workers.state(owner);
    if (owner === undefined || state === 'lost') {
      this.#search(inFlight);
    } else if (state === 'silent') {
      this.#wait(inFlight);
    } else {
      inFlight.attempts += 1;
      inFlight.unanswered = 0;
      inFlight.waitsSince = undefined;
      inFlight.sentTo = owner;
      inFlight.pending = this.#bus.request(subjects.session(owner), { key, command: inFlight.attempts === 1 ? command : continued(inFlight), ...this.#from }, this.#hearing(inFlight));
    }
  }

  /** Sends it once more; whoever waits for it is told when the bus cannot carry it. */
  #sendAgain(inFlight: InFlight): void {
    if (!this.#open.has(inFlight) || inFlight.pending !== undefined) return;
    try {
      this.#send(inFlight);
    } catch (error) {
      this.#fail(inFlight, error as BusError);
    }
  }

  /** Sent to a worker that is not heard of, it could be lost: it is sent when that one is back, or its session is at another. */
  #wait(inFlight: InFlight): void {
    inFlight.pending = undefined;
    inFlight.waitsSince ??= performance.now();
    if (performance.now() - inFlight.waitsSince > searchMs) this.#refuse(inFlight, 'gateway.unavailable');
    else this.#wheel.schedule(retryMs, () => this.#sendAgain(inFlight));
  }

  /** Sends it to whoever holds the session by now. */
  #search(inFlight: InFlight): void {
    inFlight.pending = undefined;
    void this.#owners.find(inFlight.address).then((found) => {
      if (!this.#open.has(inFlight) || inFlight.pending !== undefined) return;
      if (found.outcome === 'held') {
        inFlight.address.owner = found.worker;
        this.#sendAgain(inFlight);
      } else {
        this.#refuse(inFlight, found.outcome === 'unknown' ? 'session.unknown' : 'gateway.unavailable');
      }
    });
  }

  /** The worker that was asked does not hold the session. */
  #again(inFlight: InFlight): void {
    if (inFlight.pending === undefined) return; // It is on its way already.
    inFlight.pending.close();
    inFlight.pending = undefined;
    inFlight.misses += 1;
    if (inFlight.misses >= maxMisses) this.#refuse(inFlight, 'gateway.unavailable');
    else if (inFlight.address.owner === inFlight.sentTo) this.#search(inFlight);
    else this.#sendAgain(inFlight);
  }

  /** Its worker is there: what it sent since the last message that arrived is sent again. */
  #attachAgain(inFlight: InFlight): void {
    const { command, address: { key }, sentTo } = inFlight;
    const stream = streamOf(command);
    if (stream === undefined || inFlight.pending === undefined || sentTo === undefined || !('stream' in command) || !('caller' in command)) return;
    inFlight.pending.close();
    inFlight.attempts += 1;
    const hearing = this.#hearing(inFlight);
    inFlight.pending = this.#bus.request(subjects.session(sentTo), { key, command: { kind: 'attach', caller: command.caller, stream: command.stream, after: { stream, sequence: inFlight.sequence } }, ...this.#from }, {
      ...hearing,
      reply: (frame) => {
        // It had said everything, and kept nothing of it, or has given the session up.
        if (frame.kind === 'moved' || (frame.kind === 'refused' && frame.fault.reason === 'stream.unknown')) this.#lost(inFlight);
        else hearing.reply(frame);
      },
      // It was there a moment ago, and has had the command: that nobody is there now does not mean that nobody had it (W1).
      failed: (error) => (error.kind === 'no-responders' ? this.#lost(inFlight) : this.#fail(inFlight, error)),
    });
  }

  #hearing(inFlight: InFlight): ReplyObserver<StreamFrame> {
    return {
      reply: (frame) => {
        if (frame.kind === 'moved') {
          this.#again(inFlight);
          return;
        }
        inFlight.misses = 0;
        if (frame.kind === 'message') inFlight.heardUpTo = frame.sequence;
        else if (frame.kind === 'attached') inFlight.heardUpTo ??= 0;
        inFlight.observer.reply(frame);
      },
      failed: (error) => {
        if (error.kind === 'no-responders') this.#unheard(inFlight); // W1
        else this.#fail(inFlight, error);
      },
    };
  }

  #fail(inFlight: InFlight, error: BusError): void {
    if (this.#open.remove(inFlight)) inFlight.observer.failed(error);
  }

  #refuse(inFlight: InFlight, reason: 'session.unknown' | 'gateway.unavailable' | 'gateway.interrupted'): void {
    if (this.#open.remove(inFlight)) inFlight.observer.reply({ kind: 'refused', fault: fault(reason) });
  }

  /** Nobody had it. Right after the bus was gone that says only that the owner is not back yet. */
  #unheard(inFlight: InFlight): void {
    if (!this.#workers.isBehind && performance.now() - this.#reconnectedAt > returnMs) {
      this.#again(inFlight);
      return;
    }
    inFlight.pending = undefined;
    this.#wheel.schedule(retryMs, () => this.#sendAgain(inFlight));
  }

  /**
   * Sends a request that needs no session to any worker.
   * @throws {BusError} when the bus cannot carry it.
   */
  requestStateless(command: ModernCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    return this.#stateless.request(command, observer);
  }

  /**
   * Asks the workers that have these whether they still do.
   * @param wasDisturbed what they sent may have been lost on the way.
   */
  #lookAfter(open: readonly InFlight[], wasDisturbed = false): void {
    const together = Map.groupBy(open.filter(({ pending }) => pending !== undefined), ({ address: { key }, sentTo }) => `${key} ${sentTo}`);
    for (const those of together.values()) this.#probe(those, wasDisturbed);
  }

  /** @param those of one session at one worker. */
  #probe(those: readonly InFlight[], wasDisturbed: boolean): void {
    const [{ address: { key }, sentTo }] = those as [InFlight];
    if (sentTo === undefined) return;
    // Only what was sent before the question can be lost by the answer.
    const attempts = those.map((inFlight) => inFlight.attempts);
    const left = (): InFlight[] => those.filter((inFlight, index) => this.#open.has(inFlight) && inFlight.pending !== undefined && inFlight.attempts === attempts[index]);
    const streams = those.flatMap(({ command }) => streamOf(command) ?? []);
    const pending = this.#bus.request(subjects.session(sentTo), { key, command: { kind: 'probe', streams } }, {
      reply: (frame) => {
        pending.close();
        limit.cancel();
        for (const inFlight of left()) {
          inFlight.unanswered = 0;
          const stream = streamOf(inFlight.command);
          if (frame.kind !== 'probed' || stream === undefined || frame.missing.includes(stream)) this.#lost(inFlight);
          else if (wasDisturbed) this.#attachAgain(inFlight);
        }
      },
      failed: (error) => {
        // A worker that failed over the question has not said that it does not hold them: it is asked again.
        if (error.kind !== 'no-responders') return;
        limit.cancel();
        for (const inFlight of left()) this.#lost(inFlight);
      },
    });
    const limit = this.#wheel.schedule(probeMs, () => {
      pending.close();
      const state = this.#workers.state(sentTo);
      for (const inFlight of left()) {
        if (state !== 'alive') inFlight.unanswered += 1;
        if (inFlight.unanswered >= maxUnanswered || (state === 'lost' && isRepeatable(inFlight.command))) this.#lost(inFlight); // W2
      }
      if (this.#bus.connected) this.#lookAfter(left(), wasDisturbed);
    });
  }

  /** The worker that had it is gone. */
  #lost(inFlight: InFlight): void {
    if (!this.#open.has(inFlight) || inFlight.pending === undefined) return; // Nobody has had it yet.
    if (isRepeatable(inFlight.command)) {
      this.#again(inFlight);
      return;
    }
    inFlight.pending.close();
    this.#refuse(inFlight, 'gateway.interrupted'); // W2
  }
}

/** The stream a command's answer comes on. */
function streamOf(command: SessionCommand): StreamId | undefined {
  if (command.kind === 'attach') return command.after?.stream ?? command.stream;
  return command.kind === 'post' || command.kind === 'batch' ? command.stream : undefined;
}

/** The command as another worker goes on with it: after what the client has had. */
function continued({ command, heardUpTo, sequence }: InFlight): SessionCommand {
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
