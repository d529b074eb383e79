/** Watches calls for this process: renews leases while there is a reader, and collects the reports of all processes. */
import { randomBytes } from 'node:crypto';
import {
  addEvent,
  callOf,
  tapEvent,
  type Call,
  type PayloadMode,
  type TapEvent,
  type WatchFilter,
} from '@omnibus/admin-api';
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { TapLease, TapReport, WorkerId } from '@omnibus/protocol';
import type { Logger, Tap } from '@omnibus/telemetry';

/** Life of a lease: a process that does not receive its renewal within this time forgets the watch. */
const termMs = 10_000;
const againMs = 3_000;
/** Bounds on remembered calls, and on the events of one. */
const maxCalls = 500;
const maxEvents = 200;

export interface TapDeskOptions {
  readonly process: WorkerId;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  /** The tap of this process. */
  readonly tap: Tap;
}

export interface TapWatch {
  readonly filter: WatchFilter;
  readonly perSecond: number;
  readonly payload: PayloadMode;
  readonly told: (events: readonly TapEvent[], dropped: number) => void;
}

interface Watching extends TapWatch {
  /** Tags of ended calls that match the filter, for a filter on the outcome. `open` has the waiting events of calls that have not ended. */
  readonly passed: Set<string>;
  readonly open: Map<string, TapEvent[]>;
}

export class TapDesk {
  readonly #options: TapDeskOptions;
  readonly #watches = new Map<string, Watching>();
  /** The remembered calls, the latest last. */
  readonly #calls = new Map<string, TapEvent[]>();
  #bus: Bus | undefined;
  #subscriptions: Subscription[] = [];
  #again: Deadline | undefined;

  constructor(options: TapDeskOptions) {
    this.#options = options;
  }

  /** Hears watches and the reports of others. NATS with the permissions of an older version permits no watch of other processes. */
  async start(bus: Bus): Promise<void> {
    const { tap, process, log } = this.#options;
    this.#bus = bus;
    try {
      this.#subscriptions = [
        await bus.subscribe(subjects.tapLease, (lease) => tap.hear(lease)),
        await bus.subscribe(subjects.tap(process), (report) => this.#hear(report)),
      ];
    } catch (error) {
      log.warn(
        { problem: String(error) },
        'calls cannot be watched here: does NATS have the permissions of this version (omnibus nats-permissions)?',
      );
    }
  }

  stop(): void {
    this.#again?.cancel();
    for (const subscription of this.#subscriptions) subscription.close();
    this.#options.tap.stop();
  }

  /** Sends a report to the process at which calls are watched. */
  say(to: WorkerId, report: TapReport): void {
    try {
      this.#bus?.publish(subjects.tap(to), report);
    } catch {
      // The bus is closing, which ends the watch too.
    }
  }

  /** Begins a watch. @returns a function that ends it. */
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

  /** Calls that were reported lately, the latest first. */
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
    const filter = Object.fromEntries(
      Object.entries({ server, tool, client, session }).filter(([, value]) => value !== undefined),
    );
    const lease: TapLease = {
      watch: name,
      to: this.#options.process,
      termMs: lasts,
      filter,
      perSecond: watching.perSecond,
      payload: watching.payload,
    };
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
    const told =
      watching.filter.outcome === undefined && watching.filter.minMs === undefined
        ? sound
        : sound.flatMap((event) => passing(watching, event));
    if (told.length > 0 || dropped > 0) watching.told(told, dropped);
  }

  #keep(event: TapEvent): void {
    const known = this.#calls.get(event.tag);
    if (known !== undefined) {
      if (!known.some(({ at, process, what }) => at === event.at && process === event.process && what === event.what))
        addEvent(known, event, maxEvents);
      return;
    }
    if (this.#calls.size >= maxCalls) this.#calls.delete(this.#calls.keys().next().value as string);
    this.#calls.set(event.tag, [event]);
  }
}

/** A filter on the outcome can be evaluated only when the call has ended: its events wait until then, and are reported together. */
function passing({ filter, passed, open }: Watching, event: TapEvent): readonly TapEvent[] {
  if (passed.has(event.tag)) return [event];
  const events = open.get(event.tag) ?? [];
  addEvent(events, event, maxEvents);
  open.set(event.tag, events);
  const call = callOf(events);
  const isOver = call.outcome !== undefined;
  if (open.size > maxCalls) open.delete(open.keys().next().value as string);
  if (
    !isOver ||
    (filter.outcome !== undefined && call.outcome !== filter.outcome) ||
    (filter.minMs !== undefined && (call.ms ?? 0) < filter.minMs)
  )
    return [];
  open.delete(event.tag);
  if (passed.size >= maxCalls) passed.delete(passed.values().next().value as string);
  passed.add(event.tag);
  return events;
}
