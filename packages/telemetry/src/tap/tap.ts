/**
 * Reports calls to the processes that watch them. A watch is a lease: the watcher renews it every few seconds, else it ends. Which calls are reported is
 * decided once, where a call comes in or where it is routed, and travels with the call as a tag: each process that meets a tag reports its part. Without a watch, a
 * call costs one comparison here.
 */
import { randomBytes } from 'node:crypto';
import type { JsonObject, TapFilter, TapLease, TapReport, WorkerId } from '@omnibus/protocol';
import { payloadOf } from './payload.ts';

export interface TapOptions {
  readonly process: WorkerId;
  /** Schedules work for later. */
  readonly clock: { schedule(delayMs: number, run: () => void): { cancel(): void } };
  /** Sends a report to the process that watches. */
  readonly say: (to: WorkerId, report: TapReport) => void;
  /** Whether arguments and results may be reported at all. */
  readonly mayPayloads: () => boolean;
  readonly metrics: { readonly watches: { set(count: number): void }; readonly dropped: { inc(count: number): void } };
}

/** The part of a process that reports. */
export type TapPart = 'edge' | 'session' | 'backend';

/** Facts about a call for the decision to report it. */
export interface TapKnown {
  readonly server: string;
  readonly tool: string | undefined;
  readonly client: string | undefined;
  readonly session: string;
}

interface Watched {
  lease: TapLease;
  /** Monotonic milliseconds. */
  endsAt: number;
  /** The second in which calls are counted, and how many were chosen in it. */
  second: number;
  chosen: number;
  dropped: number;
  events: JsonObject[];
  isDue: boolean;
}

/** Bound on watches at a time in one gateway; further ones are refused. */
export const maxWatches = 8;
const batchMs = 100;
/** Bound on the events of one watch that wait to be sent. */
const maxEvents = 500;
const separator = '~';

export class Tap {
  /** Whether there is a watch; read for every call. */
  isWatched = false;
  readonly #options: TapOptions;
  readonly #watches = new Map<string, Watched>();
  readonly #begun = new Set<(watch: string) => void>();
  readonly #turned: (() => void)[] = [];
  #sweep: { cancel(): void } | undefined;

  constructor(options: TapOptions) {
    this.#options = options;
  }

  /** Handles a lease: a watch begins, is renewed, or ends. */
  hear(lease: TapLease): void {
    const known = this.#watches.get(lease.watch);
    if (lease.termMs === 0) this.#watches.delete(lease.watch);
    else if (known !== undefined) Object.assign(known, { lease, endsAt: performance.now() + lease.termMs });
    else if (this.#watches.size < maxWatches)
      this.#watches.set(lease.watch, {
        lease,
        endsAt: performance.now() + lease.termMs,
        second: 0,
        chosen: 0,
        dropped: 0,
        events: [],
        isDue: false,
      });
    this.#changed();
    if (known === undefined && this.#watches.has(lease.watch)) for (const begun of this.#begun) begun(lease.watch);
  }

  /** Calls `begun` with each watch that begins, so that calls that run already can be reported. @returns a function that ends this. */
  whenWatched(begun: (watch: string) => void): () => void {
    this.#begun.add(begun);
    return () => void this.#begun.delete(begun);
  }

  /** Calls `turned` whenever the first watch begins or the last one ends. */
  whenTurned(turned: () => void): void {
    this.#turned.push(turned);
  }

  stop(): void {
    this.#sweep?.cancel();
    this.#watches.clear();
    this.#turn();
  }

  #turn(): void {
    const wasWatched = this.isWatched;
    this.isWatched = this.#watches.size > 0;
    if (wasWatched !== this.isWatched) for (const turned of this.#turned) turned();
  }

  #changed(): void {
    this.#turn();
    this.#options.metrics.watches.set(this.#watches.size);
    this.#sweep?.cancel();
    if (!this.isWatched) return;
    const now = performance.now();
    const next = Math.min(...[...this.#watches.values()].map(({ endsAt }) => endsAt));
    this.#sweep = this.#options.clock.schedule(Math.max(1, next - now), () => {
      for (const [watch, { endsAt }] of this.#watches) if (endsAt <= performance.now()) this.#watches.delete(watch);
      this.#changed();
    });
  }

  /** At an edge: decides for watches of all calls. @param id by which others know the call, such as that of its trace. @returns its tag; undefined if it is not reported. */
  chooseAny(id: string | undefined): string | undefined {
    return this.#choose(undefined, id, ({ filter }) => isOpen(filter));
  }

  /** Where a call is routed: decides for watches with a filter. @param tag that the call has already. @returns its tag from now on. */
  chooseKnown(tag: string | undefined, known: TapKnown): string | undefined {
    return this.#choose(tag, undefined, ({ filter }) => !isOpen(filter) && isMeant(filter, known));
  }

  /** When a watch begins: decides for a call that runs already. @returns its tag from now on; undefined if this watch does not select it. */
  chooseStanding(tag: string | undefined, known: TapKnown, watch: string): string | undefined {
    const chosen = this.#choose(tag, undefined, (lease) => lease.watch === watch && isMeant(lease.filter, known));
    return chosen === tag ? undefined : chosen;
  }

  #choose(tag: string | undefined, id: string | undefined, isWanted: (lease: TapLease) => boolean): string | undefined {
    let chosen = tag;
    const second = Math.floor(performance.now() / 1_000);
    for (const [watch, each] of this.#watches) {
      if (!isWanted(each.lease) || tag?.includes(watch) === true) continue;
      if (each.second !== second) Object.assign(each, { second, chosen: 0 });
      if (each.chosen >= each.lease.perSecond) {
        each.dropped += 1;
        this.#options.metrics.dropped.inc(1);
        this.#tellLater(watch, each);
        continue;
      }
      each.chosen += 1;
      chosen = `${chosen ?? id ?? randomBytes(16).toString('hex')}${separator}${watch}`;
    }
    return chosen;
  }

  /** Reports an event of a call. The event must not be changed afterwards. */
  tell(tag: string, from: TapPart, what: string, more: JsonObject = {}): void {
    const [name = '', ...watches] = tag.split(separator);
    const event = {
      tag: name,
      at: performance.timeOrigin + performance.now(),
      process: this.#options.process,
      from,
      what,
      ...more,
    };
    for (const watch of watches) {
      const each = this.#watches.get(watch);
      if (each === undefined) continue;
      if (each.events.length < maxEvents) each.events.push(event);
      else {
        each.dropped += 1;
        this.#options.metrics.dropped.inc(1);
      }
      this.#tellLater(watch, each);
    }
  }

  /** The part of a value that may be reported: nothing, unless all watches of the call asked for values and the configuration permits it. */
  payload(tag: string, value: unknown): JsonObject {
    if (value === undefined || !this.#options.mayPayloads()) return {};
    const modes = tag
      .split(separator)
      .slice(1)
      .map((watch) => this.#watches.get(watch)?.lease.payload ?? 'none');
    if (modes.includes('none')) return {};
    return { payload: payloadOf(modes.every((mode) => mode === 'redacted') ? 'redacted' : 'shape', value) };
  }

  #tellLater(watch: string, each: Watched): void {
    if (each.isDue) return;
    each.isDue = true;
    this.#options.clock.schedule(batchMs, () => {
      each.isDue = false;
      const {
        lease: { to },
        events,
        dropped,
      } = each;
      each.events = [];
      each.dropped = 0;
      if (this.#watches.has(watch)) this.#options.say(to, { process: this.#options.process, watch, events, dropped });
    });
  }
}

/** The displayed part of a tag. */
export function shownTag(tag: string): string {
  return tag.slice(0, `${tag}${separator}`.indexOf(separator));
}

function isOpen({ server, tool, client, session }: TapFilter): boolean {
  return server === undefined && tool === undefined && client === undefined && session === undefined;
}

function isMeant(filter: TapFilter, known: TapKnown): boolean {
  return (
    (filter.server === undefined || filter.server === known.server) &&
    (filter.tool === undefined || filter.tool === known.tool) &&
    (filter.client === undefined || known.client?.toLowerCase().includes(filter.client.toLowerCase()) === true) &&
    (filter.session === undefined || known.session.startsWith(filter.session))
  );
}
