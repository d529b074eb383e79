/** Watching calls at this process: leases that are said again while somebody watches, and what all processes tell of the calls that they chose. */
import { randomBytes } from 'node:crypto';
import { callOf, tapEvent, type Call, type PayloadMode, type TapEvent, type WatchFilter } from '@omnibus/admin-api';
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { TapLease, TapReport, WorkerId } from '@omnibus/protocol';
import type { Logger, Tap } from '@omnibus/telemetry';

/** A process that does not hear of a watch for so long forgets it. */
const termMs = 10_000;
const againMs = 3_000;
/** Calls that are remembered after those who watched have seen them, and events of one. */
const maxCalls = 500;
const maxEvents = 200;

export interface TapDeskOptions {
  readonly process: WorkerId;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** What this process tells itself. */
  readonly tap: Tap;
}

export interface TapWatch {
  readonly filter: WatchFilter;
  readonly perSecond: number;
  readonly payload: PayloadMode;
  readonly told: (events: readonly TapEvent[], dropped: number) => void;
}

interface Watching extends TapWatch {
  /** Tags whose calls fit what is known only when they end, and those that may still. */
  readonly passed: Set<string>;
  readonly open: Map<string, TapEvent[]>;
}

export class TapDesk {
  readonly #options: TapDeskOptions;
  readonly #watches = new Map<string, Watching>();
  /** The latest last. */
  readonly #calls = new Map<string, TapEvent[]>();
  #bus: Bus | undefined;
  #subscriptions: Subscription[] = [];
  #again: Deadline | undefined;

  constructor(options: TapDeskOptions) {
    this.#options = options;
  }

  /** Hears who watches, and what others tell. NATS with the permissions of an older version lets nobody watch what is at other processes. */
  async start(bus: Bus): Promise<void> {
    const { tap, process, log } = this.#options;
    this.#bus = bus;
    try {
      this.#subscriptions = [await bus.subscribe(subjects.tapLease, (lease) => tap.hear(lease)), await bus.subscribe(subjects.tap(process), (report) => this.#hear(report))];
    } catch (error) {
      log.warn({ problem: String(error) }, 'calls cannot be watched here: does NATS have the permissions of this version (omnibus nats-permissions)?');
    }
  }

  stop(): void {
    this.#again?.cancel();
    for (const subscription of this.#subscriptions) subscription.close();
    this.#options.tap.stop();
  }

  /** Tells the process at which calls are watched. */
  say(to: WorkerId, report: TapReport): void {
    try {
      this.#bus?.publish(subjects.tap(to), report);
    } catch {
      // The bus is closing, and with it the watch ends.
    }
  }

  /** @returns what ends it. */
  watch(wanted: TapWatch): () => void {
    const name = randomBytes(6).toString('hex');
    this.#watches.set(name, { ...wanted, passed: new Set(), open: new Map() });
    this.#lease(name, termMs);
    this.#sayAgainLater();
    return () => {
      this.#lease(name, 0);
      this.#watches.delete(name);
    };
  }

  /** Calls that somebody was told of lately, the latest first. */
  get calls(): Call[] {
    return [...this.#calls.values()].map((events) => callOf(events)).toReversed();
  }

  eventsOf(tag: string): readonly TapEvent[] {
    return this.#calls.get(tag)?.toSorted((one, other) => one.at - other.at) ?? [];
  }

  #lease(name: string, lasts: number): void {
    const watching = this.#watches.get(name);
    if (watching === undefined || this.#bus === undefined) return;
    const { server, tool, client, session } = watching.filter;
    const filter = Object.fromEntries(Object.entries({ server, tool, client, session }).filter(([, value]) => value !== undefined));
    const lease: TapLease = { watch: name, to: this.#options.process, termMs: lasts, filter, perSecond: watching.perSecond, payload: watching.payload };
    try {
      this.#bus.publish(subjects.tapLease, lease);
    } catch {
      // The bus is closing.
    }
  }

  #sayAgainLater(): void {
    this.#again?.cancel();
    if (this.#watches.size === 0) return;
    this.#again = this.#options.wheel.schedule(againMs, () => {
      for (const name of this.#watches.keys()) this.#lease(name, termMs);
      this.#sayAgainLater();
    });
  }

  #hear({ watch, events, dropped }: TapReport): void {
    const watching = this.#watches.get(watch);
    if (watching === undefined) return;
    const sound = events.flatMap((event) => {
      const parsed = tapEvent.safeParse(event);
      return parsed.success ? [parsed.data] : [];
    });
    for (const event of sound) this.#keep(event);
    const told = watching.filter.outcome === undefined && watching.filter.minMs === undefined ? sound : sound.flatMap((event) => passing(watching, event));
    if (told.length > 0 || dropped > 0) watching.told(told, dropped);
  }

  #keep(event: TapEvent): void {
    const known = this.#calls.get(event.tag);
    if (known !== undefined) {
      if (known.length < maxEvents && !known.some(({ at, process, what }) => at === event.at && process === event.process && what === event.what)) known.push(event);
      return;
    }
    if (this.#calls.size >= maxCalls) this.#calls.delete(this.#calls.keys().next().value as string);
    this.#calls.set(event.tag, [event]);
  }
}

/** How a call ends is known when it has: until then its events wait, and with it they are told together. */
function passing({ filter, passed, open }: Watching, event: TapEvent): readonly TapEvent[] {
  if (passed.has(event.tag)) return [event];
  const events = [...open.get(event.tag) ?? [], event].slice(0, maxEvents);
  open.set(event.tag, events);
  const call = callOf(events);
  const isOver = call.outcome !== undefined;
  if (open.size > maxCalls) open.delete(open.keys().next().value as string);
  if (!isOver || (filter.outcome !== undefined && call.outcome !== filter.outcome) || (filter.minMs !== undefined && (call.ms ?? 0) < filter.minMs)) return [];
  open.delete(event.tag);
  if (passed.size >= maxCalls) passed.delete(passed.values().next().value as string);
  passed.add(event.tag);
  return events;
}
