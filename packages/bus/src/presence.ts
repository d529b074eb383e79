/**
 * Finds out which workers are alive. Each worker gives a sign of life every `presenceMs`. A worker whose signs stop is gone, and so is one that says that
 * it leaves. A process that was cut off itself receives no signs, which says nothing about the others. A worker that speaks another format is sent nothing,
 * but does not count as gone: it keeps its items.
 *
 *             missed signs             as many again
 *    alive -----------------> silent ----------------> lost
 *       ^         a sign         |
 *       +------------------------+
 */
import { canTalk, ownFormats, presenceMs, type Formats, type WorkerId } from '@omnibus/protocol';
import type { Bus, Subscription, Watch } from './bus.ts';
import type { Subject } from './subject.ts';

export interface Sign {
  readonly worker: WorkerId;
  /** Set by `Heartbeat`. */
  readonly formats: Formats;
  /** The region of the worker. Set by `Heartbeat`. */
  readonly region?: string;
  /** The process of the worker (`Bus.process`). Set by `Heartbeat`. */
  readonly process?: string;
  /** Whether this is the worker's last sign. */
  readonly isLeaving: boolean;
  /** How often the worker's bus was gone; messages from and to it in between may be lost. */
  readonly reconnects: number;
}

/** A timer; a `DeadlineWheel`. */
interface Clock {
  schedule(delayMs: number, run: () => void): { cancel(): void };
}

/** The part of a bus by which its processes learn of each other. */
export type PresenceBus = Pick<
  Bus,
  'isShared' | 'connected' | 'reconnects' | 'region' | 'process' | 'afterReconnect' | 'subscribe' | 'publish'
>;

interface PresenceOptions<S extends Sign> {
  readonly bus: PresenceBus;
  readonly clock: Clock;
  readonly subject: Subject<S>;
}

/** `silent`: messages to the worker may be lost. `lost`: others may take over its items. */
type WorkerState = 'alive' | 'silent' | 'lost';

/** Missed signs after which a worker counts as silent. */
const missedSigns = 4;
const silenceMs = presenceMs * missedSigns;
/** Silence after which others may take over a worker's items, even if NATS still has its subscriptions. */
const lostMs = 2 * silenceMs;
/** How long a worker that is gone is remembered. */
const missingMs = 60_000;
/** Milliseconds by which a sign of a worker that has time comes late. */
const lateMs = 100;
/** Milliseconds after this process has found NATS again in which a worker may find it, too: an attempt to connect can take five seconds. */
const returnMs = 10_000;
/** Milliseconds between two signs with which a worker answers those of others. */
const betweenAnswersMs = 20;

export interface PresenceWatchOptions<S extends Sign> extends PresenceOptions<S> {
  /** The worker of this process that gives such signs, too. */
  readonly self?: WorkerId;
  readonly joined: (sign: S) => void;
  /** Called for each sign, with the one before it. */
  readonly heard?: (sign: S, before: S | undefined) => void;
  /** Called for workers that have left or count as lost. */
  readonly gone: (signs: readonly S[], how: 'left' | 'lost') => void;
  /** Called repeatedly while silent workers are remembered, since messages to them were lost. */
  readonly missing?: (signs: readonly S[]) => void;
  /** Called when messages may be lost: from and to a worker that was away or has reconnected, or without one, since this process has reconnected to the bus. */
  readonly disturbed: (worker?: WorkerId) => void;
}

export class PresenceWatch<S extends Sign> {
  readonly #options: PresenceWatchOptions<S>;
  readonly #workers = new Map<WorkerId, { readonly sign: S; heardAt: number; readonly connectedAt: number }>();
  /** Workers that are silent and did not say that they leave. */
  readonly #missing = new Map<WorkerId, { readonly sign: S; heardAt: number }>();
  /** Workers that are alive and speak another format, with the time of their last sign. */
  readonly #foreign = new Map<WorkerId, number>();
  #alive: readonly WorkerId[] = [];
  /** Those of `#alive` in this region; undefined when that must be computed again. */
  #near: readonly WorkerId[] | undefined;
  /** Whether signs are watched; a gateway of one process does not need that. */
  isWatching = false;
  #startedAt: number | undefined;
  /** From this time on, no worker was there without having given a sign to this process. */
  #completeAt = Infinity;
  /** When a worker last said that it leaves. */
  #leftAt = -Infinity;
  /** When the last sign of any worker came. */
  #lastHeardAt = -Infinity;
  #subscription: Subscription | undefined;
  #reconnect: Watch | undefined;
  #sweep: { cancel(): void } | undefined;
  #reconnects = 0;
  /** Time of the last sign that came while this process was not cut off from the bus. */
  #heardThenAt = -Infinity;
  /** Whether a sign of `self` came back over the present connection, if there was one before. */
  #isHeard = true;
  /** Workers that were there before this process was cut off from the bus, and have given no sign since; with the time until which each may come back. */
  readonly #awaited = new Map<WorkerId, number>();
  /** Time before it was cut off from the bus last, at which it heard each other worker; -Infinity if it knew none. */
  #cutAt = -Infinity;
  /** Milliseconds for which it had watched before it was cut off from the bus last. */
  #watchedMs = 0;
  /** Callers that wait until the workers they need are heard of. */
  readonly #waiting = new Set<{ readonly isEnough: () => boolean; readonly resolve: () => void }>();

  constructor(options: PresenceWatchOptions<S>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#reconnects = this.#options.bus.reconnects;
    this.#startedAt = performance.now();
    this.#completeAt = this.#startedAt + 2 * presenceMs;
    this.isWatching = true;
    this.#reconnect = this.#options.bus.afterReconnect(() => this.#catchUp());
    this.#subscription = await this.#options.bus.subscribe(this.#options.subject, (sign) => this.#hear(sign));
    this.#sweepLater();
  }

  stop(): void {
    this.#subscription?.close();
    this.#reconnect?.close();
    this.#sweep?.cancel();
  }

  /** The latest sign of each worker that is alive. */
  get signs(): readonly S[] {
    return [...this.#workers.values()].map(({ sign }) => sign);
  }

  /** Workers that are alive; empty where no signs are watched. */
  get alive(): readonly WorkerId[] {
    return this.#alive;
  }

  /** Workers of this region that are alive; all that are alive if none is in it or the configuration names no region. */
  get near(): readonly WorkerId[] {
    this.#near ??= this.nearest(this.#alive);
    return this.#near;
  }

  /**
   * Resolves when a worker of this region is alive, or after the time of two signs. Right after the start only workers of other regions may be known, and
   * a session that begins there would stay there. Without a region there is nothing to wait for.
   */
  async heardNear(): Promise<void> {
    const isThere = (): boolean => this.#alive.some((worker) => this.#isNear(worker));
    if (this.#options.bus.region !== undefined && !isThere()) await this.heard(isThere, 2 * presenceMs);
  }

  /** Whether this began so recently that workers may be there that were not heard of; false where no signs are watched. */
  get isBeginning(): boolean {
    return this.#beginsForMs > 0;
  }

  get #beginsForMs(): number {
    return this.#startedAt === undefined ? 0 : this.#startedAt + 2 * presenceMs - performance.now();
  }

  /** Resolves as soon as enough workers are known, or after the limit, in milliseconds: when `isBeginning` is over. */
  async heard(isEnough: () => boolean, limitMs = Math.max(0, this.#beginsForMs)): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = { isEnough, resolve };
    this.#waiting.add(waiting);
    const limit = this.#options.clock.schedule(limitMs, resolve);
    await promise;
    limit.cancel();
    this.#waiting.delete(waiting);
  }

  #isNear(worker: WorkerId): boolean {
    return this.#workers.get(worker)?.sign.region === this.#options.bus.region;
  }

  /** Those of the given workers that are in this region; all of them if none is in it or the configuration names no region. */
  nearest(workers: readonly WorkerId[]): readonly WorkerId[] {
    const { region } = this.#options.bus;
    if (region === undefined) return workers;
    const near = workers.filter((worker) => this.#isNear(worker));
    return near.length === 0 ? workers : near;
  }

  /** The one of the given workers that is in this process; undefined where none is, or the bus names no processes. */
  here(workers: readonly WorkerId[]): WorkerId | undefined {
    const { process } = this.#options.bus;
    return process === undefined
      ? undefined
      : workers.find((worker) => this.#workers.get(worker)?.sign.process === process);
  }

  /** Workers that are alive or may be: silence of less than `lostMs` proves nothing. */
  get expected(): readonly WorkerId[] {
    return [...this.#alive, ...this.#silentFor((ms) => ms <= lostMs)];
  }

  /** Workers that vanished within the last minute without saying that they leave: they may be cut off, and come back with their items. */
  get vanished(): readonly WorkerId[] {
    return this.#silentFor((ms) => ms > lostMs);
  }

  /** Workers of which it is not known whether they are there, and those that speak another format, by the time since their last sign. */
  #silentFor(isMeant: (ms: number) => boolean): readonly WorkerId[] {
    const now = performance.now();
    const unsure = [...[...this.#missing].map(([worker, { heardAt }]) => [worker, heardAt] as const), ...this.#foreign];
    return unsure.filter(([, heardAt]) => isMeant(now - heardAt)).map(([worker]) => worker);
  }

  /**
   * The workers that may have been there at some time in the last `ageMs` milliseconds.
   * @returns undefined if one of them has left or vanished, or if this process may not know all of them.
   */
  since(ageMs: number): readonly WorkerId[] | undefined {
    const now = performance.now();
    if (this.#startedAt === undefined || !this.#hears(now)) return undefined;
    return this.#completeAt > now - ageMs || this.hasLostSince(ageMs) ? undefined : this.expected;
  }

  /**
   * Each worker that another source knows of has given a sign. One that starts at the same time may be unknown to that source: its first sign may have come before
   * this process listened, and it did not listen yet to the first sign of this one. It gives the next one within the usual time.
   */
  hasHeardAll(): void {
    this.#completeAt = Math.min(this.#completeAt, (this.#startedAt ?? Infinity) + presenceMs + lateMs);
  }

  /**
   * Whether a worker has left or vanished that may have been there at some time in the last `ageMs` milliseconds, as far as this process knows. On a machine
   * without time for its processes, signs come late: others sent work to a worker until it counted as lost, and they may have counted from a later sign.
   */
  hasLostSince(ageMs: number): boolean {
    const began = performance.now() - ageMs;
    return (
      this.#leftAt > began - 2 * presenceMs ||
      this.vanished.some((worker) => this.#heardAt(worker) > began - lostMs - 2 * presenceMs)
    );
  }

  #heardAt(worker: WorkerId): number {
    return this.#missing.get(worker)?.heardAt ?? this.#foreign.get(worker) ?? -Infinity;
  }

  /** Whether every existing worker is known: there are none but those in `expected`. */
  get isSettled(): boolean {
    const now = performance.now();
    return this.#startedAt !== undefined && now - this.#startedAt > lostMs && this.#hears(now);
  }

  /** Whether every worker is known that ran when this process was cut off from the bus last; false before. */
  get knewAll(): boolean {
    return this.#watchedMs > 2 * presenceMs && this.#hears(performance.now());
  }

  /**
   * Milliseconds since this process was surely not cut off from the bus: the oldest of the last signs that the other workers gave before. A worker that it does not
   * know has started since then. Its own signs prove nothing, since they come back to it across one NATS node. Infinite if it knew no other worker, or was never cut off.
   */
  get sinceCutMs(): number {
    return performance.now() - this.#cutAt;
  }

  /**
   * Whether this process has heard a sign of `self` since it was cut off from the bus last: others have got it, and what they say arrives. Workers that started
   * meanwhile may be unknown until they answer that sign (`Heartbeat.answer`), and those of version 0.3.0, which do not, until their next one.
   */
  get isBack(): boolean {
    return this.#isHeard && !this.isBehind;
  }

  #hears(now: number): boolean {
    return this.#options.bus.connected && !this.isBehind && !this.#isDeaf(now);
  }

  /** Where no signs are watched, every worker counts as alive. */
  state(worker: WorkerId): WorkerState {
    if (this.#startedAt === undefined || this.#workers.has(worker)) return 'alive';
    const now = performance.now();
    if (!this.#options.bus.connected || this.#isDeaf(now)) return 'silent';
    const heardAt = this.#missing.get(worker)?.heardAt ?? this.#foreign.get(worker);
    if (heardAt !== undefined) return now - heardAt > lostMs ? 'lost' : 'silent';
    // It has left or was never known. Right after the start, that proves nothing.
    return now - this.#startedAt > lostMs ? 'lost' : 'silent';
  }

  /**
   * Whether a worker without signs of life, and without a subscription at NATS, may come back with its items: this process has found NATS again a short while ago, and
   * that worker may have lost NATS at the same time. One that has given a sign since then is not meant.
   */
  mayReturn(worker: WorkerId): boolean {
    return performance.now() < (this.#awaited.get(worker) ?? -Infinity);
  }

  /** Whether no signs arrive at all, so that this process may be cut off itself. */
  #isDeaf(now: number): boolean {
    return now - this.#lastHeardAt > silenceMs;
  }

  /** Whether the bus was gone, and `disturbed` has not been called for it yet. */
  get isBehind(): boolean {
    return this.#options.bus.reconnects !== this.#reconnects;
  }

  #hear(sign: S): void {
    const now = performance.now();
    if (this.#isDeaf(now))
      for (const heard of [...this.#workers.values(), ...this.#missing.values()]) heard.heardAt = now;
    this.#lastHeardAt = now;
    this.#awaited.delete(sign.worker);
    if (!this.isBehind) this.#hearConnected(sign, now);
    if (canTalk(sign.formats)) this.#hearOwn(sign, now);
    else if (sign.isLeaving) this.#foreign.delete(sign.worker);
    else this.#foreign.set(sign.worker, now);
  }

  /** Hears a worker that speaks a format of this version. */
  #hearOwn(sign: S, now: number): void {
    const wasMissing = this.#missing.delete(sign.worker);
    const before = this.#workers.get(sign.worker);
    const isKnown = this.#workers.delete(sign.worker);
    const connectedAt = this.isBehind ? (before?.connectedAt ?? -Infinity) : now;
    if (!sign.isLeaving) this.#workers.set(sign.worker, { sign, heardAt: now, connectedAt });
    this.#options.heard?.(sign, before?.sign);
    if (isKnown === sign.isLeaving) this.#setAlive();
    if (sign.isLeaving) this.#leftAt = now;
    if (sign.isLeaving && isKnown) this.#options.gone([sign], 'left');
    else if (!sign.isLeaving && !isKnown) this.#options.joined(sign);
    if (wasMissing || (before !== undefined && before.sign.reconnects !== sign.reconnects))
      this.#options.disturbed(sign.worker);
  }

  #hearConnected({ worker, reconnects }: S, now: number): void {
    this.#heardThenAt = now;
    if (worker === this.#options.self && reconnects === this.#reconnects) this.#isHeard = true;
  }

  #setAlive(): void {
    this.#alive = [...this.#workers.keys()];
    this.#near = undefined;
    for (const { isEnough, resolve } of this.#waiting) if (isEnough()) resolve();
  }

  #catchUp(): void {
    if (!this.isBehind) return;
    this.#reconnects = this.#options.bus.reconnects;
    this.#isHeard = false;
    this.#cutAt = this.#othersHeardAt();
    this.#watchedMs = this.#heardThenAt - (this.#startedAt ?? Infinity);
    this.#awaitThose();
    this.#options.disturbed();
  }

  #othersHeardAt(): number {
    const others = [...this.#workers].filter(([worker]) => worker !== this.#options.self);
    return others.length === 0 ? -Infinity : Math.min(...others.map(([, { connectedAt }]) => connectedAt));
  }

  /** Awaits the workers that gave signs until this process was cut off. One that has given none since an earlier cut has no more time than it had. */
  #awaitThose(): void {
    const late = [...this.#missing].filter(([, { heardAt }]) => heardAt > this.#heardThenAt - silenceMs);
    for (const worker of [...this.#workers.keys(), ...late.map(([each]) => each)])
      if (!this.#awaited.has(worker)) this.#awaited.set(worker, performance.now() + returnMs);
  }

  #forget(worker: WorkerId): void {
    this.#missing.delete(worker);
    this.#awaited.delete(worker);
  }

  #sweepLater(): void {
    const { bus, clock, gone, missing } = this.#options;
    this.#sweep = clock.schedule(presenceMs, () => {
      const now = performance.now();
      if (!bus.connected) for (const known of this.#workers.values()) known.heardAt = now;
      this.#catchUp();
      const silent = [...this.#workers.values()].filter(({ heardAt }) => now - heardAt > silenceMs);
      for (const { sign, heardAt } of silent) {
        this.#workers.delete(sign.worker);
        this.#missing.set(sign.worker, { sign, heardAt });
      }
      if (silent.length > 0) this.#setAlive();
      for (const [worker, { heardAt }] of this.#missing) if (now - heardAt > missingMs) this.#forget(worker);
      for (const [worker, heardAt] of this.#foreign) if (now - heardAt > missingMs) this.#foreign.delete(worker);
      if (silent.length > 0)
        gone(
          silent.map(({ sign }) => sign),
          'lost',
        );
      else if (this.#missing.size > 0) missing?.([...this.#missing.values()].map(({ sign }) => sign));
      this.#sweepLater();
    });
  }
}

/** A sign without the members that `Heartbeat` sets. */
type Said = Omit<Sign, 'formats' | 'region' | 'process'>;

/** `More`: members that signs of these workers alone have. */
interface HeartbeatOptions<More extends object> extends PresenceOptions<Sign & More> {
  readonly sign: (isLeaving: boolean) => Said & More;
  /** Called when others may have counted this worker as lost, because it was cut off or did not run. */
  readonly returned?: () => void;
}

/** Gives a worker's signs of life. It also subscribes to its own signs: a gap means that this worker was cut off or did not run. */
export class Heartbeat<More extends object> {
  readonly #options: HeartbeatOptions<More>;
  #subscription: Subscription | undefined;
  #next: { cancel(): void } | undefined;
  #reconnect: Watch | undefined;
  #heardAt = 0;
  #beatAt = -Infinity;
  #isGiven = false;
  #reconnects = 0;
  /** The first sign that came back over a connection: the number of reconnects before that, and the time. */
  #first: { readonly reconnects: number; readonly at: number } | undefined;

  constructor(options: HeartbeatOptions<More>) {
    this.#options = options;
  }

  /** Whether no process can have counted this worker as lost: its latest sign came back over the same connection, sooner than others would. Always so in one process. */
  get isSure(): boolean {
    const { bus } = this.#options;
    return (
      !bus.isShared ||
      (bus.connected && bus.reconnects === this.#reconnects && performance.now() - this.#heardAt <= lostMs - presenceMs)
    );
  }

  /** Milliseconds since the first sign of this worker came back over the connection that it has now: others have heard of it since then. 0 until then. */
  get heardForMs(): number {
    const { bus } = this.#options;
    return bus.connected && this.#first?.reconnects === bus.reconnects ? performance.now() - this.#first.at : 0;
  }

  /** Gives no signs in one process, where no part can be gone alone. */
  async start(): Promise<void> {
    const { bus, subject, sign, returned } = this.#options;
    if (!bus.isShared) return;
    const { worker } = sign(false);
    this.#heardAt = performance.now();
    this.#subscription = await bus.subscribe(subject, (heard) => {
      if (heard.worker !== worker) return;
      const silentMs = performance.now() - this.#heardAt;
      this.#heardAt = performance.now();
      if (heard.reconnects === bus.reconnects && this.#first?.reconnects !== heard.reconnects)
        this.#first = { reconnects: heard.reconnects, at: this.#heardAt };
      const wasAway = silentMs > silenceMs || bus.reconnects !== this.#reconnects;
      this.#reconnects = bus.reconnects;
      if (wasAway) returned?.();
    });
    // The others learn at once that messages may be lost.
    this.#reconnect = bus.afterReconnect(() => this.beat());
    this.#isGiven = true;
    this.beat();
  }

  /** Gives the last sign. */
  stop(): void {
    const { bus, subject, sign } = this.#options;
    this.#isGiven = false;
    this.#next?.cancel();
    this.#reconnect?.close();
    this.#subscription?.close();
    if (bus.isShared && bus.connected) bus.publish(subject, spoken(sign(true), bus));
  }

  /** Gives a sign now; the next one follows after the usual time. */
  beat(): void {
    const { bus, subject, sign } = this.#options;
    if (bus.connected) bus.publish(subject, spoken(sign(false), bus));
    this.#beatAt = performance.now();
    this.#beatIn(presenceMs);
  }

  /**
   * Gives a sign for a worker that has started or is back, so that it knows this one at once. Many that come together get one sign. A worker that has given no first
   * sign is not ready: others answer that sign, and it must hear their answers. One that has given its last sign gives no more.
   */
  answer(): void {
    if (!this.#isGiven) return;
    const waitMs = this.#beatAt + betweenAnswersMs - performance.now();
    if (waitMs <= 0) this.beat();
    else this.#beatIn(waitMs);
  }

  #beatIn(delayMs: number): void {
    this.#next?.cancel();
    this.#next = this.#options.clock.schedule(delayMs, () => this.beat());
  }
}

function spoken<More extends object>(sign: Said & More, { region, process }: PresenceBus): Sign & More {
  return {
    ...sign,
    formats: ownFormats,
    ...(region === undefined ? {} : { region }),
    ...(process === undefined ? {} : { process }),
  };
}
