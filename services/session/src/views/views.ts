/** The views of all endpoints, kept up to date with the catalogue. A view is computed when it is first asked for after a change. */
import { setLast } from '@omnibus/collections';
import { View, type EndpointDefinition, type Sight, type ViewProblem } from '@omnibus/catalog';
import type { KeyValueChange } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  catalogKey,
  declaredBy,
  isObject,
  parseCatalogKey,
  searchExtension,
  type CatalogRecord,
  type ChangeKind,
  type Declared,
  type EndpointName,
  type JsonObject,
  type Principal,
  type ServerName,
  type WorkerId,
} from '@omnibus/protocol';
import { CatalogSweep } from './catalog-sweep.ts';
import { CallerViews, type CallerView } from './caller-views.ts';
import type { Place } from './place.ts';
import { Replicas } from './replicas.ts';
import { seenKey } from './seen-key.ts';

/** Changes within this time, such as at a start, are announced together. */
const announceDelayMs = 50;
/** Bound on places with notifications, since names of tenants come from issuers. Clients at a forgotten place get notifications again after their next request. */
const maxPlaces = 10_000;
/** Bound on views that callers of different rights have seen, at all places; beyond it, what no connected client sees is forgotten. Each is a few hundred bytes. */
const maxSeen = 10_000;
/** Bound on clients at one place with separate lists or identities; forgotten ones get notifications again after their next request. */
const maxSeenAtPlace = 10_000;

export interface ViewsOptions {
  readonly wheel: DeadlineWheel;
  /** A record for clients; left out if it is unchanged. */
  readonly guarded?: (record: CatalogRecord) => CatalogRecord;
  /** Tells the clients at a place that lists have changed. @param changesFor gives the changed lists for a client, by its declarations and its caller's rights. */
  readonly announce: (place: Place, changesFor: (declared?: Declared, sight?: Sight) => readonly ChangeKind[]) => void;
  /** Names of the rights of all callers with notifications now. */
  readonly sightsInUse: () => ReadonlySet<string>;
  /** Bound on the characters of lists that are prepared for callers that see only a part. */
  readonly maxPreparedLength: () => number;
  /** Whether a backend worker is proven to be gone. */
  readonly isLost: (worker: WorkerId) => boolean;
  /** Called with the invalid entries of servers, when these change. */
  readonly tell: (endpoint: EndpointName, problems: readonly ViewProblem[]) => void;
  /** Removes a record from the catalogue. */
  readonly remove: (key: string) => void;
}

/** The definitions of places; places with the same content share one object. */
export interface Definitions {
  /** @returns undefined where there is no such endpoint. */
  get(place: Place): EndpointDefinition | undefined;
}

/** The views of one definition, shared by all places that have it. */
interface Offered {
  readonly common: View;
  /** Views for clients that are offered something else than others, keyed by the difference. */
  readonly special: Map<string, View>;
}

/** The current views of one place. */
interface PlaceViews {
  readonly offered: Offered;
  /** The views for sets of declared capabilities: those of clients with notifications, and those of which callers with fewer rights see a part. */
  readonly shown: Map<string, View>;
  readonly whole: Map<string, View>;
  /** The views of callers with fewer rights, by their declarations and rights. */
  readonly parts: Map<string, WeakMap<Sight, CallerView>>;
}

interface Seen {
  readonly declared: Declared | undefined;
  readonly sight: Sight | undefined;
  /** For each common view, the view of the caller that is a part of it: one object each, even if the part is computed again. */
  readonly views: Map<View, View>;
}

export class Views {
  readonly #options: ViewsOptions;
  readonly #replicas = new Map<ServerName, Replicas>();
  readonly #sweep: CatalogSweep;
  /** The problems last reported for each endpoint, so that the same problems are not reported again. */
  readonly #told = new Map<EndpointName, string>();
  readonly #records = new Map<ServerName, CatalogRecord>();
  /** The computed views of each place; a change removes them. */
  readonly #views = new Map<Place, PlaceViews>();
  /** The same views by definition, so that tenants that see the same servers share them. */
  readonly #computed = new Map<EndpointDefinition, Offered>();
  /**
   * The views that clients may have seen, by their declarations: the last announced one, and those requested since, even if a later change has
   * replaced them. A place is in this table after its first request.
   */
  readonly #seen = new Map<Place, Map<string, Seen>>();
  /** How many of them are of callers that do not see everything, and how many there may be before unused ones are looked for. */
  #seenCount = 0;
  #seenLimit = maxSeen;
  #definitions: Definitions;
  readonly #callerViews: CallerViews;
  /** Set while changes wait to be announced. */
  #announcement: Deadline | undefined;

  constructor(definitions: Definitions, options: ViewsOptions) {
    this.#definitions = definitions;
    this.#options = options;
    this.#callerViews = new CallerViews(options.maxPreparedLength);
    this.#sweep = new CatalogSweep({
      wheel: options.wheel,
      remove: options.remove,
      absent: () =>
        new Set(
          [...this.#replicas].flatMap(([server, replicas]) => replicas.absent.map((each) => catalogKey(server, each))),
        ),
    });
  }

  /** The invalid entries, as text, for the requested endpoints. */
  get leftOut(): readonly string[] {
    const all = [...this.#computed.values()].flatMap(({ common: { problems } }) =>
      problems.map(({ server, problem }) => `${server}: ${problem}`),
    );
    return [...new Set(all)];
  }

  /** Characters of the lists that are prepared for callers that see only a part. */
  get preparedLength(): number {
    return this.#callerViews.length;
  }

  /**
   * The view at a place.
   * @param declared the client's declarations, if its lists may depend on them; the client then gets notifications.
   * @param sight what its caller may see; undefined for everything.
   * @returns undefined when there is no such endpoint.
   */
  get(place: Place, declared?: Declared, sight?: Sight): View | undefined {
    const views = this.#views.get(place) ?? this.#viewsAt(place);
    if (views === undefined) return undefined;
    if (sight === undefined && views.offered.common.dependsOnCaller !== 'owner') {
      // The key of `seenKey` for a client with lists that depend on its declarations alone.
      const same = views.shown.get(declared?.key ?? '');
      if (same !== undefined) return same;
    }
    const isOwned = views.offered.common.dependsOnCaller === 'owner';
    const who = seenKey(declared, undefined, isOwned);
    const part = sight === undefined ? undefined : views.parts.get(who)?.get(sight);
    if (part?.isKept === true) return this.#callerViews.use(part);
    const present = sight === undefined ? views.shown.get(who) : undefined;
    if (present !== undefined) return present;
    const key = seenKey(declared, sight, isOwned);
    const whole = this.#whole(views, declared);
    const before = this.#seen.get(place)?.get(key);
    const view =
      sight === undefined
        ? whole
        : this.#partOf(
            views,
            who,
            sight,
            this.#callerViews.get(`${place}\n${key}`, whole, () => before?.views.get(whole) ?? whole.seenBy(sight)),
          );
    if (views.shown.size >= maxSeenAtPlace) views.shown.clear();
    if (sight === undefined) views.shown.set(key, view);
    this.#remember(place, views, key, { declared, sight, views: new Map([[whole, view]]) });
    return view;
  }

  /** Remembers what clients have seen at a place, within bounds. @param now the view that they see now, by the whole one. */
  #remember(place: Place, { parts, shown }: PlaceViews, key: string, now: Seen): void {
    const seen = this.#seen.get(place) ?? new Map<string, Seen>();
    const before = seen.get(key);
    if (this.#seen.size >= maxPlaces && !this.#seen.has(place)) this.#forget(this.#seen.keys().next().value as Place);
    this.#seen.set(place, seen);
    if (before !== undefined) {
      for (const [whole, view] of now.views) before.views.set(whole, view);
      return;
    }
    if (now.sight !== undefined) this.#countSeen();
    if (seen.size >= maxSeenAtPlace) {
      seen.delete(seen.keys().next().value as string);
      parts.clear();
      shown.clear();
    }
    seen.set(key, now);
  }

  /** Remembers the view of a caller with fewer rights. @param who a key of its client's declarations. */
  #partOf({ parts }: PlaceViews, who: string, sight: Sight, kept: CallerView): View {
    if (parts.size >= maxSeenAtPlace && !parts.has(who)) parts.clear();
    parts.set(who, (parts.get(who) ?? new WeakMap<Sight, CallerView>()).set(sight, kept));
    return kept.view;
  }

  /** Forgets which views of a place clients have seen; clients there get notifications again after a request. */
  #forget(place: Place): void {
    this.#seen.delete(place);
    this.#views.delete(place);
  }

  /** Forgets what no connected client sees, when there is much of it. The next change of the catalogue would do the same, and may be far off. */
  #countSeen(): void {
    this.#seenCount += 1;
    if (this.#seenCount <= this.#seenLimit) return;
    const inUse = this.#options.sightsInUse();
    this.#seenCount = 1;
    for (const { parts } of this.#views.values()) parts.clear();
    for (const seen of this.#seen.values()) {
      for (const [key, { sight }] of [...seen]) {
        if (sight === undefined) continue;
        if (inUse.has(sight.name)) this.#seenCount += 1;
        else seen.delete(key);
      }
    }
    // When all of many are in use, they are not looked through again for each new one.
    this.#seenLimit = Math.max(maxSeen, 2 * this.#seenCount);
  }

  /** The view for clients with these declared capabilities, before the rights of the caller are applied. */
  #whole({ offered: { common, special }, shown, whole }: PlaceViews, declared: Declared | undefined): View {
    const key = seenKey(declared, undefined, common.dependsOnCaller === 'owner');
    const known = shown.get(key) ?? whole.get(key);
    if (known !== undefined) return known;
    const differing = declared === undefined ? undefined : common.differing(declared);
    const view = differing === undefined ? common : (special.get(differing.name) ?? differing.make());
    if (differing !== undefined) special.set(differing.name, view);
    if (whole.size >= maxSeenAtPlace) whole.clear();
    whole.set(key, view);
    return view;
  }

  /** Like `get`, for a single request without a session; its client gets no notifications. @param capabilities as its client declares them. */
  getAlone(place: Place, capabilities: JsonObject, principal: Principal, sight?: Sight): View | undefined {
    const common = this.get(place, undefined, sight);
    const { extensions } = capabilities;
    const wantsSearch = isObject(extensions) && searchExtension in extensions;
    return wantsSearch || (common?.dependsOnCaller ?? false) !== false
      ? this.get(place, declaredBy(capabilities, false, principal), sight)
      : common;
  }

  #viewsAt(place: Place): PlaceViews | undefined {
    const definition = this.#definitions.get(place);
    if (definition === undefined) return undefined;
    const views: PlaceViews = {
      offered: this.#computed.get(definition) ?? this.#compute(definition),
      shown: new Map(),
      whole: new Map(),
      parts: new Map(),
    };
    return setLast(this.#views, place, views, maxPlaces);
  }

  #compute(definition: EndpointDefinition): Offered {
    const { endpoint } = definition;
    const offered: Offered = { common: new View(definition, this.#records), special: new Map() };
    this.#computed.set(definition, offered);
    const { problems } = offered.common;
    const words = JSON.stringify(problems);
    if (words !== (this.#told.get(endpoint) ?? '[]')) this.#options.tell(endpoint, problems);
    this.#told.set(endpoint, words);
    return offered;
  }

  catalogChanged(change: KeyValueChange<CatalogRecord>): void {
    const parsed = parseCatalogKey(change.key);
    if (parsed === undefined) {
      this.#sweep.foreignChanged(change);
      return;
    }
    const { server, worker } = parsed;
    const replicas = this.#replicas.get(server) ?? new Replicas(this.#options.isLost, this.#options.guarded);
    this.#replicas.set(server, replicas);
    if (change.kind === 'put') replicas.set(worker, change.value);
    else replicas.delete(worker);
    this.#chooseAnew(server, replicas);
  }

  /** Backend workers have appeared or gone. */
  workersChanged(): void {
    for (const [server, replicas] of this.#replicas) this.#chooseAnew(server, replicas);
  }

  /** Of the given workers with an adapter of a server, those that are connected to it; all of them when none is. */
  reaching(server: ServerName, workers: readonly WorkerId[]): readonly WorkerId[] {
    const replicas = this.#replicas.get(server);
    const reaching = replicas === undefined ? [] : workers.filter((worker) => replicas.isUpAt(worker));
    return reaching.length === 0 ? workers : reaching;
  }

  /** The backend workers that have not left, by their records. */
  get backends(): ReadonlySet<WorkerId> {
    return new Set([...this.#replicas.values()].flatMap((replicas) => replicas.present));
  }

  /** See `Replicas.mustHear`. */
  mustHear(server: ServerName, there: readonly WorkerId[]): boolean {
    return this.#replicas.get(server)?.mustHear(there) ?? false;
  }

  #chooseAnew(server: ServerName, replicas: Replicas): void {
    const isOther = replicas.choose();
    if (replicas.isEmpty) this.#replicas.delete(server);
    if (!isOther) return;
    if (replicas.record === undefined) this.#records.delete(server);
    else this.#records.set(server, replicas.record);
    for (const definition of this.#computed.keys())
      if (definition.servers.includes(server)) this.#computed.delete(definition);
    for (const [
      place,
      {
        offered: { common },
      },
    ] of this.#views)
      if (common.definition.servers.includes(server)) this.#views.delete(place);
    this.#announceSoon();
  }

  redefine(definitions: Definitions): void {
    this.#definitions = definitions;
    for (const [server, replicas] of this.#replicas) replicas.showAnew((record) => this.#records.set(server, record));
    this.#views.clear();
    this.#computed.clear();
    this.#announceSoon();
  }

  #announceSoon(): void {
    if (this.#announcement !== undefined) return;
    this.#announcement = this.#options.wheel.schedule(announceDelayMs, () => {
      this.#announcement = undefined;
      const inUse = this.#options.sightsInUse();
      for (const [place, seen] of [...this.#seen]) {
        const changes = new Map<string, readonly ChangeKind[]>();
        for (const [key, { declared, sight, views }] of [...seen]) {
          if (sight !== undefined && !inUse.has(sight.name)) {
            seen.delete(key);
            this.#views.get(place)?.parts.clear();
            continue;
          }
          const view = this.get(place, declared, sight);
          if (view === undefined) {
            this.#seen.delete(place);
            break;
          }
          seen.set(key, { declared, sight, views: new Map([...views].filter(([, each]) => each === view)) });
          const kinds = new Set(
            [...views.values()].filter((before) => before !== view).flatMap((before) => view.changesSince(before)),
          );
          if (kinds.size > 0) changes.set(key, [...kinds]);
        }
        if (changes.size > 0)
          this.#options.announce(
            place,
            (declared, sight) =>
              changes.get(seenKey(declared, sight, true)) ?? changes.get(seenKey(declared, sight, false)) ?? [],
          );
      }
    });
  }
}
