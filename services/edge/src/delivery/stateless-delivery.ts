/**
 * Delivers requests without a session (2026-07-28). Any worker can serve them, except one that continues a call, which a certain worker holds. If
 * the worker is gone, the request is sent to another one, which asks the backend workers for the call unless the request is repeatable (W1, W2 of
 * `session-delivery.ts`).
 */
import { Inquiry, subjects, type PendingRequest, type ReplyObserver } from '@omnibus/bus';
import {
  repeatableMethods,
  repeatKey,
  repeatMs,
  repeatsKey,
  type HeldRequests,
  type JsonObject,
  type ModernCommand,
  type ModernReply,
  type SessionKey,
  type StreamFrame,
  type WorkerId,
} from '@omnibus/protocol';
import { nearestWorker, workersFor } from './choose-worker.ts';
import { returnRetryMs } from './connection.ts';
import { OpenCommands, Tracked, type Backends, type DeliveryParts, type OpenTracked } from './in-flight.ts';
import { retryMs } from './owner-search.ts';
import { doubtMs } from './pulse.ts';

const noWorkers: ReadonlySet<WorkerId> = new Set();

class InFlightRequest extends Tracked {
  readonly command: ModernCommand;
  /** The worker that holds the call it continues, once that is known. */
  holder: WorkerId | undefined;
  /** The key of that call, once it is known and another worker can continue the call. */
  call: SessionKey | undefined;
  /** The holder that is gone. */
  gone: WorkerId | undefined;
  /** Workers that did not accept it, because they have left or are about to; most requests have none. */
  without: ReadonlySet<WorkerId> = noWorkers;
  /** The key with which its client can repeat it: every edge sends it to the same worker. */
  readonly repeatKey: string | undefined;

  constructor(open: OpenTracked, backends: Backends, command: ModernCommand, observer: ReplyObserver<StreamFrame>) {
    const meta = command.request.params?.['_meta'] as JsonObject | undefined;
    // A worker that is gone may have begun it for the first request.
    super(open, backends, observer, meta?.[repeatsKey] === true ? repeatMs : 0);
    this.command = command;
    const key = meta?.[repeatKey];
    this.repeatKey = typeof key === 'string' ? key : undefined;
  }

  /** It is not sent to this worker again. */
  leaveOut(worker: WorkerId): void {
    this.without = new Set([...this.without, worker]);
  }
}

/** For requests that any worker can serve. */
const anyWorkers = subjects.modern(undefined);
/** Times that a request is sent to workers which leave, or name another one as the holder of the call. */
const maxAttempts = 12;
/** Milliseconds between two attempts at a worker that holds a call and does not listen: it counts as alive for two seconds, and there are fewer attempts than `maxAttempts` in these. */
const holderRetryMs = 2 * retryMs;
/** Milliseconds until a worker learns that another one has its request, if it was only cut off: by then, that one has asked the backend workers. */
const closeMs = 10_000;

export class StatelessDelivery {
  readonly #options: DeliveryParts;
  readonly #open: OpenCommands<InFlightRequest>;
  readonly #inquiry: Inquiry<InFlightRequest, HeldRequests>;

  constructor(options: DeliveryParts) {
    this.#options = options;
    const { bus, wheel, workers, drain } = options;
    this.#open = new OpenCommands(drain);
    this.#inquiry = new Inquiry<InFlightRequest, HeldRequests>({
      bus,
      clock: wheel,
      workers,
      payload: (those) => ({ keys: those.map(({ command }) => command.key) }),
      heldOf: (answer, asked, askedAt) => {
        const keys = new Set(answer.keys);
        const notBegun = new Set(answer.notBegun);
        for (const inFlight of asked) if (notBegun.has(inFlight.command.key)) inFlight.hadNotBegun(askedAt);
        return new Set(asked.filter(({ command }) => keys.has(command.key)));
      },
      attemptOf: (inFlight) =>
        this.#open.has(inFlight) && inFlight.pending !== undefined ? inFlight.attempts : undefined,
      held: (inFlight, worker) => {
        inFlight.sentTo = worker;
      },
      lost: (inFlight) => {
        if (inFlight.waits) this.#lost(inFlight);
      },
    });
  }

  /** Asks after requests that have waited for a while. */
  look(): void {
    const now = performance.now();
    this.lookAfter((inFlight) => inFlight.isDue(now));
  }

  /** The open requests that the edge has accepted since a time, on the clock of `performance.now()`. */
  acceptedSince(since: number): readonly InFlightRequest[] {
    return this.#open.acceptedSince(since);
  }

  /** Number of open requests, including subscriptions. */
  get waiting(): number {
    return this.#open.size;
  }

  /** Number of requests that wait for their answer, not counting subscriptions, which stay open. */
  get asked(): number {
    return this.#open.toArray().filter(({ command: { request } }) => request.method !== 'subscriptions/listen').length;
  }

  /**
   * Sends a request that needs no session to any worker.
   * @throws {BusError} when the bus cannot carry it.
   */
  request(command: ModernCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    const inFlight = new InFlightRequest(this.#open, this.#options.backends, command, observer);
    this.#open.add(inFlight);
    this.#options.accepted?.();
    try {
      this.#send(inFlight);
    } catch (error) {
      this.#open.remove(inFlight);
      throw error;
    }
    return inFlight;
  }

  #send(inFlight: InFlightRequest): void {
    const { bus, workers } = this.#options;
    inFlight.attempts += 1;
    if (inFlight.attempts > 1) inFlight.isSentAgain();
    const worker = inFlight.holder ?? (workers.isWatching ? this.#choose(inFlight) : undefined);
    inFlight.sentTo = worker;
    const { command, turn } = inFlight;
    const { gone } = inFlight;
    const sent = turn > 0 ? { ...command, ...inFlight.begun, ...(gone === undefined ? {} : { gone }) } : command;
    const to = worker === undefined ? anyWorkers : subjects.modern(worker);
    inFlight.pending = bus.request(to, sent, {
      reply: (frame) => this.#hear(inFlight, worker, frame),
      failed: (error) => {
        if (!this.#open.has(inFlight)) return;
        const isUnheard = error.kind === 'no-responders';
        if (isUnheard && worker !== undefined) this.#unheard(inFlight, worker);
        else if (isUnheard && this.#mayReturn(inFlight)) this.#againSoon(inFlight);
        else if (inFlight.losesAnswer(error)) this.#lost(inFlight);
        else this.#open.fail(inFlight, error);
      },
    });
  }

  /** Undefined if no worker is known. */
  #choose({ without, call, repeatKey: key = call }: InFlightRequest): WorkerId | undefined {
    const { workers } = this.#options;
    if (key !== undefined) return workersFor(key, workers.alive).find((worker) => !without.has(worker));
    return nearestWorker(workers, without);
  }

  #hear(inFlight: InFlightRequest, worker: WorkerId | undefined, frame: ModernReply): void {
    const mayGoOn = inFlight.attempts < maxAttempts;
    switch (frame.kind) {
      case 'elsewhere':
        inFlight.holder = frame.worker;
        inFlight.call = frame.call;
        this.#goTo(inFlight, frame.worker);
        return;
      case 'refused':
        if (frame.fault.reason !== 'gateway.draining' || !mayGoOn) {
          inFlight.observer.reply(frame);
          return;
        }
        // It was on its way to a worker that leaves, which did nothing with it (W1).
        if (worker !== undefined) inFlight.leaveOut(worker);
        this.#again(inFlight);
        return;
      case 'message':
      case 'accepted':
      case 'attached':
      case 'end':
      case 'probed':
      case 'moved':
        inFlight.observer.reply(frame);
        return;
      default:
        // Of a newer worker: its meaning, and whether it is the last, is unknown here.
        this.#options.log.warn('a worker answered what this version does not know');
        this.#open.refuse(inFlight, 'gateway.interrupted');
    }
  }

  /** No worker received it (W1): sends it to another one. */
  #unheard(inFlight: InFlightRequest, worker: WorkerId): void {
    const { workers, soon, connection } = this.#options;
    if (inFlight.holder === undefined) {
      inFlight.leaveOut(worker);
      if (inFlight.attempts < maxAttempts) this.#again(inFlight);
      else this.#open.refuse(inFlight, 'gateway.unavailable');
    } else if (connection.isSteady && inFlight.call !== undefined && inFlight.missed === worker) {
      this.#holderGone(inFlight, worker);
    } else if (workers.alive.includes(worker)) {
      // Right after NATS was gone, it may be there and not heard from yet.
      inFlight.pending = undefined;
      inFlight.missed = worker;
      soon.schedule(connection.isSteady ? doubtMs : holderRetryMs, () => this.#goTo(inFlight, worker));
    } else {
      this.#holderGone(inFlight, worker);
    }
  }

  /** Whether workers may only not be back yet, since NATS was lost a moment ago. */
  #mayReturn({ attempts }: InFlightRequest): boolean {
    return !this.#options.connection.isSteady && attempts < maxAttempts;
  }

  /** No worker listens at all. NATS gives it to the first one that is back. */
  #againSoon(inFlight: InFlightRequest): void {
    inFlight.pending = undefined;
    this.#options.soon.schedule(returnRetryMs, () => {
      if (this.#open.has(inFlight)) this.#again(inFlight);
    });
  }

  /** The worker that held the call which it continues is gone: another one finds the call at the backend workers. */
  #holderGone(inFlight: InFlightRequest, holder: WorkerId): void {
    // That worker cannot find it either.
    if (inFlight.call === undefined || inFlight.gone === holder || inFlight.attempts >= maxAttempts) {
      this.#open.refuse(inFlight, 'state.lost');
      return;
    }
    inFlight.gone = holder;
    inFlight.holder = undefined;
    inFlight.leaveOut(holder);
    inFlight.turn += 1;
    this.#again(inFlight);
  }

  /** Sends it to the worker that holds the call it continues, once that worker gives signs of life. */
  #goTo(inFlight: InFlightRequest, holder: WorkerId): void {
    const { workers, wheel } = this.#options;
    if (!this.#open.has(inFlight)) return;
    inFlight.pending?.close();
    inFlight.pending = undefined;
    const state = workers.state(holder);
    if (state === 'lost') this.#holderGone(inFlight, holder);
    else if (inFlight.attempts >= maxAttempts) this.#open.refuse(inFlight, 'state.lost');
    else if (state === 'alive') this.#again(inFlight);
    else wheel.schedule(retryMs, () => this.#goTo(inFlight, holder));
  }

  /** Asks the workers that may have open requests which of these they hold. */
  lookAfter(chosen: (inFlight: Pick<InFlightRequest, 'sentTo' | 'isDue'>) => boolean = () => true): void {
    const { workers } = this.#options;
    const open = this.#open.toArray().filter((inFlight) => inFlight.waits && chosen(inFlight));
    this.#inquiry.ask(
      open,
      (worker) => subjects.modernHolds(worker),
      ({ sentTo }) => (sentTo === undefined ? workers.expected : [sentTo]),
    );
  }

  /** Nothing listens for a worker at NATS: what another worker can continue goes there. For the rest, its signs of life decide. */
  unheard(worker: WorkerId): void {
    const { wheel, workers } = this.#options;
    for (const inFlight of this.#open.toArray()) {
      if (inFlight.sentTo !== worker || !inFlight.waits || !this.#move(inFlight)) continue;
      // The worker was only cut off from NATS. A call that the next worker has continued by then is not cancelled at its server.
      wheel.schedule(closeMs, () => {
        if (workers.state(worker) === 'alive') this.#close(inFlight, worker);
      });
    }
  }

  /** The worker that had it is gone: it is sent again if another one can take it, else answered. */
  #lost(inFlight: InFlightRequest): void {
    if (!this.#open.has(inFlight)) return;
    // Should it only not have been reached, it need not go on.
    if (inFlight.sentTo !== undefined) this.#close(inFlight, inFlight.sentTo);
    if (!this.#move(inFlight)) this.#giveUp(inFlight);
  }

  /** Tells a worker that it need not work on a request. */
  #close({ command: { key } }: InFlightRequest, worker: WorkerId): void {
    this.#options.bus.publish(subjects.modernControl, {
      kind: 'closed',
      key,
      reason: 'the request was given up',
      worker,
    });
  }

  /** Sends it to another worker. @returns false if no other one can take it. */
  #move(inFlight: InFlightRequest): boolean {
    const { sentTo } = inFlight;
    if (sentTo !== undefined) inFlight.leaveOut(sentTo);
    if (isRepeatable(inFlight)) {
      this.#again(inFlight);
      return true;
    }
    // It may have passed the answers on. The next worker learns at the backend workers whether it did.
    if (inFlight.holder !== undefined && inFlight.holder === sentTo && inFlight.call !== undefined) {
      this.#holderGone(inFlight, sentTo);
      return true;
    }
    if (inFlight.holder !== undefined || inFlight.attempts >= maxAttempts) return false;
    inFlight.turn += 1;
    this.#again(inFlight);
    return true;
  }

  /** Its outcome is unknown (W2). */
  #giveUp(inFlight: InFlightRequest): void {
    const { caller, request, trace } = inFlight.command;
    this.#open.refuse(inFlight, 'gateway.interrupted');
    this.#options.watcher?.lost?.(caller, [request], { trace });
  }

  #again(inFlight: InFlightRequest): void {
    inFlight.pending?.close();
    try {
      this.#send(inFlight);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'a request could not be sent again');
      this.#open.refuse(inFlight, 'gateway.interrupted');
    }
  }
}

function isRepeatable({ command }: InFlightRequest): boolean {
  return repeatableMethods.has(command.request.method);
}
