/**
 * Delivers commands to sessions. One worker owns each session, and is addressed by its name. If that worker is gone, another one takes the
 * session over at the next command, and gets the commands that were open at that moment. It asks the backend workers for calls that may have been begun.
 *
 * Invariants
 *  W1  A command that a worker which is gone may have begun is sent on with its age; the next worker begins no call in it without asking the backend
 *      workers (T3).
 *  W2  A command whose worker is gone is answered within a bounded time, whether or not NATS has noticed that.
 */
import { subjects, type BusError, type PendingRequest, type ReplyObserver } from '@omnibus/bus';
import type { SessionCommand, StreamFrame, StreamId, WorkerId } from '@omnibus/protocol';
import { returnRetryMs } from './connection.ts';
import { InFlight, OpenCommands, type DeliveryParts } from './in-flight.ts';
import { OwnerSearch } from './owner-search.ts';
import { Probing } from './probing.ts';
import { doubtMs } from './pulse.ts';
import type { SessionAddress } from './session-addresses.ts';

export interface SessionDeliveryOptions extends DeliveryParts {
  /** Name by which session workers know this edge; undefined in a gateway of one process, where there is one edge. */
  readonly edge: WorkerId | undefined;
}

/** Workers in a row that may answer that they do not hold the session. */
const maxMisses = 12;

export class SessionDelivery {
  readonly #options: SessionDeliveryOptions;
  readonly #from: { readonly edge?: WorkerId };
  readonly #open: OpenCommands<InFlight>;
  readonly #owners: OwnerSearch;
  readonly #probing: Probing;

  constructor(options: SessionDeliveryOptions) {
    const { bus, wheel, drain, workers, edge } = options;
    this.#options = options;
    this.#open = new OpenCommands(drain);
    this.#from = edge === undefined ? {} : { edge };
    this.#owners = new OwnerSearch(options);
    this.#probing = new Probing({
      bus,
      wheel,
      workers,
      isOpen: (inFlight) => this.#open.has(inFlight),
      lost: (inFlight) => this.#lost(inFlight),
      attachAgain: (inFlight) => this.#attachAgain(inFlight),
    });
  }

  /** Asks after requests that have waited for a while. */
  look(): void {
    const now = performance.now();
    // A worker knows the streams of requests only: a client's answer to a question has none.
    this.#probing.lookAfter(
      this.#open.toArray().filter((inFlight) => inFlight.isDue(now) && inFlight.requests.length > 0),
    );
  }

  /** The open commands of which no worker has said a word, and that the edge has accepted since a time, on the clock of `performance.now()`. */
  acceptedSince(since: number): readonly InFlight[] {
    return this.#open.acceptedSince(since).filter(({ heardUpTo }) => heardUpTo === undefined);
  }

  /** Number of open commands. */
  get waiting(): number {
    return this.#open.size;
  }

  /** Number of requests of clients that wait for their answer, not counting streams, which stay open. */
  get asked(): number {
    return this.#open.toArray().filter(({ command: { kind } }) => kind === 'post' || kind === 'batch').length;
  }

  /** The streams that clients read at this edge. */
  get streams(): ReadonlySet<StreamId> {
    return new Set(this.#open.toArray().flatMap(({ command }) => ('stream' in command ? [command.stream] : [])));
  }

  /**
   * Sends a command to the worker that holds the session.
   * @throws {BusError} when the bus cannot carry it.
   */
  request(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    const { backends, accepted } = this.#options;
    const inFlight = new InFlight({ open: this.#open, backends }, address, command, observer);
    this.#open.add(inFlight);
    accepted?.();
    try {
      this.#send(inFlight);
    } catch (error) {
      this.#open.remove(inFlight);
      throw error;
    }
    if (command.kind !== 'attach') return inFlight;
    return {
      close: () => {
        const wasOpen = this.#open.has(inFlight);
        inFlight.close();
        // Also if its reader is gone before the report of its attachment: no other edge knows of it.
        if (wasOpen && !inFlight.isComplete) this.#tellDetached(inFlight, command);
      },
    };
  }

  /** Sends a command without an answer to the worker that holds the session; it is dropped when none is known. */
  tell({ key, to }: SessionAddress, command: SessionCommand): void {
    const { bus } = this.#options;
    if (bus.connected && to !== undefined) bus.publish(to, { key, command });
  }

  /** Workers have left or give no signs of life: the edge asks them for their open commands. */
  gone(workers: ReadonlySet<WorkerId>): void {
    this.#probing.lookAfter(this.#open.toArray().filter(({ sentTo }) => sentTo !== undefined && workers.has(sentTo)));
  }

  /** Nothing listens for a worker at NATS. */
  unheard(worker: WorkerId): void {
    for (const inFlight of this.#open.toArray()) {
      if (inFlight.sentTo !== worker || !inFlight.waits) continue;
      inFlight.missed = worker;
      this.#lost(inFlight);
    }
  }

  /** Messages may be lost: of a worker that was away, or without one, of this process. @param worker at others, answers may be on their way. */
  disturbed(worker?: WorkerId): void {
    const open = this.#open.toArray();
    this.#probing.lookAfter(worker === undefined ? open : open.filter(({ sentTo }) => sentTo === worker), true);
  }

  #tellDetached(
    { address: { key }, sentTo }: InFlight,
    { stream, after }: Extract<SessionCommand, { kind: 'attach' }>,
  ): void {
    const { bus } = this.#options;
    if (bus.connected && sentTo !== undefined)
      bus.publish(subjects.session(sentTo), {
        key,
        command: { kind: 'detach', stream: after?.stream ?? stream, reader: stream },
      });
  }

  #send(inFlight: InFlight): void {
    const { bus, workers } = this.#options;
    const { address, command } = inFlight;
    const { key, owner, to } = address;
    // A worker without signs of life is asked, too: if it is gone, NATS says so at once.
    if (owner === undefined || to === undefined || (workers.isWatching && workers.state(owner) === 'lost')) {
      this.#search(inFlight);
    } else {
      inFlight.attempts += 1;
      if (inFlight.attempts > 1) inFlight.isSentAgain();
      inFlight.sentTo = owner;
      inFlight.pending = bus.request(
        to,
        { key, command: inFlight.attempts === 1 ? command : inFlight.continued, ...this.#from },
        this.#hearing(inFlight),
      );
    }
  }

  /** Sends a command again; if the bus cannot carry it, its observer gets an error. */
  #sendAgain(inFlight: InFlight): void {
    if (!this.#open.has(inFlight) || inFlight.pending !== undefined) return;
    try {
      this.#send(inFlight);
    } catch (error) {
      this.#open.fail(inFlight, error as BusError);
    }
  }

  /** Searches the worker that holds the session now, and sends the command there. */
  #search(inFlight: InFlight): void {
    inFlight.pending = undefined;
    void this.#owners.find(inFlight.address).then((found) => {
      if (!this.#open.has(inFlight) || inFlight.pending !== undefined) return;
      if (found.outcome === 'held') {
        this.#moved(inFlight.address, found.worker);
        this.#sendAgain(inFlight);
      } else {
        this.#giveUp(inFlight, found.outcome === 'unknown' ? 'session.unknown' : 'gateway.unavailable');
      }
    });
  }

  /**
   * Another worker owns the session. Commands at one that counts as lost go there too: if that worker runs again, it gives them up, and its answers are not heard
   * any more. A worker that leaves in order finishes its own.
   */
  #moved(address: SessionAddress, owner: WorkerId): void {
    const { workers } = this.#options;
    const { key, owner: before } = address;
    address.heldBy(owner);
    if (before === undefined || before === owner || !workers.isWatching || workers.state(before) !== 'lost') return;
    for (const other of this.#open.toArray())
      if (other.address.key === key && other.sentTo === before && other.waits) this.#lost(other);
  }

  /**
   * The worker does not have the command: withdraws it there, and sends it to the owner of the session.
   * @param mayHold whether that worker may still be the owner; otherwise the owner is searched.
   */
  #again(inFlight: InFlight, mayHold = false): void {
    if (inFlight.pending === undefined) return; // It is being sent already.
    inFlight.pending.close();
    inFlight.pending = undefined;
    inFlight.misses += 1;
    if (inFlight.misses >= maxMisses) this.#giveUp(inFlight, 'gateway.unavailable');
    else if (inFlight.address.owner === inFlight.sentTo && !mayHold) this.#search(inFlight);
    else this.#sendAgain(inFlight);
  }

  /**
   * Its worker is there: asks it to send everything after the last received message again. What it has sent before counts until it begins with that: a call may end
   * between two questions, and its answer is on its way.
   */
  #attachAgain(inFlight: InFlight): void {
    const {
      command,
      address: { key },
      sentTo,
      stream,
      pending: before,
    } = inFlight;
    if (
      stream === undefined ||
      before === undefined ||
      sentTo === undefined ||
      !('stream' in command) ||
      !('caller' in command)
    )
      return;
    inFlight.attempts += 1;
    const hearing = this.#hearing(inFlight);
    const after = { stream, sequence: inFlight.sequence };
    const again = this.#options.bus.request(
      subjects.session(sentTo),
      { key, command: { kind: 'attach', caller: command.caller, stream: command.stream, after }, ...this.#from },
      {
        ...hearing,
        reply: (frame) => {
          const isArriving = before.isArriving === true;
          if (frame.kind === 'moved' || frame.kind === 'refused') {
            // It had said everything, and kept nothing of it, or has given the session up.
            if (!isArriving) this.#lost(inFlight);
            return;
          }
          if (frame.kind === 'attached' && !isArriving) {
            before.close();
            inFlight.pending = again;
          }
          if (frame.kind !== 'message' || (frame.sequence ?? Infinity) > inFlight.sequence) hearing.reply(frame);
        },
        // It was there a moment ago, and has had the command: its absence now does not prove that no worker had it (W1).
        failed: (error) => (error.kind === 'no-responders' ? this.#lost(inFlight) : this.#open.fail(inFlight, error)),
      },
    );
    inFlight.pending = {
      close: () => {
        before.close();
        again.close();
      },
      get isArriving() {
        return before.isArriving === true || again.isArriving === true;
      },
    };
  }

  #hearing(inFlight: InFlight): ReplyObserver<StreamFrame> {
    const { attempts } = inFlight;
    return {
      reply: (frame) => {
        // Sent before its worker was asked to send everything again: nothing is missing before the next message only.
        const isEarlier = inFlight.attempts !== attempts;
        if (isEarlier && (frame.kind !== 'message' || frame.sequence !== inFlight.sequence + 1)) return;
        if (frame.kind === 'moved') {
          this.#again(inFlight);
          return;
        }
        inFlight.misses = 0;
        if (frame.kind === 'message') inFlight.heard(frame);
        else if (frame.kind === 'attached') inFlight.continues(frame.stream);
        else if (frame.kind === 'end') inFlight.isComplete = true;
        inFlight.observer.reply(frame);
      },
      failed: (error) => {
        if (inFlight.attempts !== attempts) return;
        if (error.kind === 'no-responders') this.#unheard(inFlight); // W1
        else if (inFlight.losesAnswer(error)) this.#lost(inFlight);
        else this.#open.fail(inFlight, error);
      },
    };
  }

  /** No worker received it. Right after a loss of the bus, or of the NATS node of the owner, this only means that the owner is not back yet. */
  #unheard(inFlight: InFlight): void {
    const { sentTo, missed } = inFlight;
    const {
      connection: { isSteady },
      soon,
    } = this.#options;
    if (isSteady && sentTo !== undefined && (missed === sentTo || !this.#isThere(sentTo))) {
      this.#again(inFlight);
      return;
    }
    inFlight.pending = undefined;
    inFlight.missed = sentTo;
    soon.schedule(isSteady ? doubtMs : returnRetryMs, () => this.#sendAgain(inFlight));
  }

  /** The worker that had it is gone, or has lost it. */
  #lost(inFlight: InFlight): void {
    if (!this.#open.has(inFlight) || inFlight.pending === undefined) return; // No worker has it.
    if (!inFlight.isRepeatable) inFlight.turn += 1;
    const { sentTo } = inFlight;
    // A worker that is there may own the session, and no other one may take it.
    this.#again(inFlight, sentTo !== undefined && this.#isThere(sentTo));
  }

  #isThere(worker: WorkerId): boolean {
    const { workers } = this.#options;
    return !workers.isWatching || workers.state(worker) === 'alive';
  }

  /** No worker can take it. If it may have been begun, its outcome is unknown (W2). */
  #giveUp(inFlight: InFlight, reason: 'session.unknown' | 'gateway.unavailable'): void {
    if (inFlight.turn === 0) {
      this.#open.refuse(inFlight, reason);
      return;
    }
    this.#open.refuse(inFlight, 'gateway.interrupted');
    const {
      command,
      requests,
      address: { key },
    } = inFlight;
    if ('caller' in command)
      this.#options.watcher?.lost?.(command.caller, requests, {
        session: key,
        ...('trace' in command ? { trace: command.trace } : {}),
      });
  }
}
