/** The views of all endpoints, kept in step with the catalogue. A view is computed when it is first asked for after a change. */
import { View, type EndpointDefinition, type Sight, type ViewProblem } from '@omnibus/catalog';
import type { KeyValueChange } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { catalogKey, declaredBy, parseCatalogKey, type CatalogRecord, type ChangeKind, type Declared, type EndpointName, type JsonObject, type ServerName, type WorkerId } from '@omnibus/protocol';
import { CallerViews } from './caller-views.ts';
import type { Place } from './place.ts';
import { Replicas } from './replicas.ts';

/** Changes that come together, as at a start, are told together. */
const announceDelayMs = 50;
/** What a worker wrote that was not there for so long is removed. Where it comes back, it writes it again. */
const forgottenMs = 10 * 60_000;
const sweepMs = 60_000;
/**
 * A record under a key that no version of ours writes is removed when it was not written for so long: longer than a change of versions takes,
 * during which it may be another version's that runs beside this one.
 */
const foreignMs = 60 * 60_000;
/** Places that are followed; clients at one that is forgotten hear of changes again once they have asked something. Tenants are what issuers say. */
const maxPlaces = 10_000;
/** Of such keys as many are remembered; the others come with the next start. */
const maxForeign = 1_000;

export interface ViewsOptions {
  readonly wheel: DeadlineWheel;
  /** Clients at a place are to be told that lists changed. @param changesFor which, for those that declared certain capabilities and may see certain things. */
  readonly announce: (place: Place, changesFor: (declared?: Declared, sight?: Sight) => readonly ChangeKind[]) => void;
  /** What those may see who are told of changes now, by name. */
  readonly sightsInUse: () => ReadonlySet<string>;
  /** Characters of lists that are kept for those who do not see everything. */
  readonly maxPreparedLength: () => number;
  /** Whether it is proven that a backend worker is not there. */
  readonly isLost: (worker: WorkerId) => boolean;
  /** Hears what servers offer and clients cannot be shown, when that changes. */
  readonly tell: (endpoint: EndpointName, problems: readonly ViewProblem[]) => void;
  /** Removes a record from the catalogue. */
  readonly remove: (key: string) => void;
}

/** What is at a place; the same object wherever it is the same. */
export interface Definitions {
  /** @returns undefined where nothing is. */
  get(place: Place): EndpointDefinition | undefined;
}

/** What is offered where the same servers are seen. */
interface Offered {
  readonly common: View;
  /** For clients that are offered something else, by what differs. */
  readonly special: Map<string, View>;
}

/** What one place offers now. */
interface PlaceViews {
  readonly offered: Offered;
  /** Which of them clients see, by what they declared. */
  readonly shown: Map<string, View>;
}

interface Seen {
  readonly declared: Declared | undefined;
  readonly sight: Sight | undefined;
  /** By everybody's view of which each is a part, so that there is one of each, also where it is made again. */
  readonly views: Map<View, View>;
}

export class Views {
  readonly #options: ViewsOptions;
  readonly #replicas = new Map<ServerName, Replicas>();
  /** Keys of records whose workers are not there, and since when. */
  readonly #absent = new Map<string, number>();
  /** Keys of the catalogue that name no server and worker, and when each was written last. */
  readonly #foreign = new Map<string, number>();
  /** What was told of each endpoint last, so that a server that says the same again is not heard again. */
  readonly #told = new Map<EndpointName, string>();
  readonly #records = new Map<ServerName, CatalogRecord>();
  /** What is computed for each place; nothing, when a change has put an end to it. */
  readonly #views = new Map<Place, PlaceViews>();
  /** The same by what is there: tenants that see the same servers are shown the same lists. */
  readonly #computed = new Map<EndpointDefinition, Offered>();
  /**
   * What clients may have seen, by what they declared: the view that was announced last, and those that were asked for since, also when a
   * further change has put an end to them. An endpoint is here once it was asked for.
   */
  readonly #seen = new Map<Place, Map<string, Seen>>();
  #definitions: Definitions;
  readonly #callerViews: CallerViews;
  /** Set while changes wait to be told. */
  #announcement: Deadline | undefined;

  constructor(definitions: Definitions, options: ViewsOptions) {
    this.#definitions = definitions;
    this.#options = options;
    this.#callerViews = new CallerViews(options.maxPreparedLength);
    this.#sweepLater();
  }

  /** What clients cannot be shown now, in words: of those endpoints that were asked for. */
  get leftOut(): readonly string[] {
    const all = [...this.#computed.values()].flatMap(({ common: { problems } }) => problems.map(({ server, problem }) => `${server}: ${problem}`));
    return [...new Set(all)];
  }

  /** Characters of lists that are kept for those who do not see everything. */
  get preparedLength(): number {
    return this.#callerViews.length;
  }

  /**
   * @param declared what the client did, where what it is offered may depend on it; it is told of changes then.
   * @param sight what its caller may see; undefined for everything.
   * @returns undefined when there is no such endpoint.
   */
  get(place: Place, declared?: Declared, sight?: Sight): View | undefined {
    const key = seenKey(declared, sight);
    const present = sight === undefined ? this.#views.get(place)?.shown.get(key) : undefined;
    if (present !== undefined) return present;
    const views = this.#viewsAt(place);
    if (views === undefined) return undefined;
    const whole = this.#whole(views, declared);
    const seen = this.#seen.get(place) ?? new Map<string, Seen>();
    const before = seen.get(key);
    const view = sight === undefined ? whole : this.#callerViews.get(`${place}\n${key}`, whole, () => before?.views.get(whole) ?? whole.seenBy(sight));
    if (sight === undefined) views.shown.set(key, view);
    if (this.#seen.size >= maxPlaces && !this.#seen.has(place)) this.#seen.delete(this.#seen.keys().next().value as Place);
    this.#seen.set(place, seen);
    if (before === undefined) seen.set(key, { declared, sight, views: new Map([[whole, view]]) });
    else before.views.set(whole, view);
    return view;
  }

  /** What clients are offered that declared something, whatever they may see of it. */
  #whole({ offered: { common, special }, shown }: PlaceViews, declared: Declared | undefined): View {
    const known = shown.get(declared?.key ?? '');
    if (known !== undefined) return known;
    const differing = declared === undefined ? undefined : common.differing(declared);
    if (differing === undefined) return common;
    const view = special.get(differing.name) ?? differing.make();
    special.set(differing.name, view);
    return view;
  }

  /** The same for a request that stands alone and hears of no changes. @param capabilities as its client declares them. */
  getAlone(place: Place, capabilities: JsonObject, sight?: Sight): View | undefined {
    const common = this.get(place, undefined, sight);
    return common?.dependsOnCaller === true ? this.get(place, declaredBy(capabilities, false), sight) : common;
  }

  #viewsAt(place: Place): PlaceViews | undefined {
    const present = this.#views.get(place);
    if (present !== undefined) return present;
    const definition = this.#definitions.get(place);
    if (definition === undefined) return undefined;
    const views: PlaceViews = { offered: this.#computed.get(definition) ?? this.#compute(definition), shown: new Map() };
    if (this.#views.size >= maxPlaces) this.#views.delete(this.#views.keys().next().value as Place);
    this.#views.set(place, views);
    return views;
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
      if (change.kind === 'delete') this.#foreign.delete(change.key);
      else if (this.#foreign.size < maxForeign || this.#foreign.has(change.key)) this.#foreign.set(change.key, performance.now());
      return;
    }
    const { server, worker } = parsed;
    const replicas = this.#replicas.get(server) ?? new Replicas(this.#options.isLost);
    this.#replicas.set(server, replicas);
    if (change.kind === 'put') replicas.set(worker, change.value);
    else replicas.delete(worker);
    this.#chooseAnew(server, replicas);
  }

  /** Backend workers have come or gone. */
  workersChanged(): void {
    for (const [server, replicas] of this.#replicas) this.#chooseAnew(server, replicas);
  }

  /** Of workers that have an adapter of a server, those that reach it; all, when none does. */
  reaching(server: ServerName, workers: readonly WorkerId[]): readonly WorkerId[] {
    const replicas = this.#replicas.get(server);
    const reaching = replicas === undefined ? [] : workers.filter((worker) => replicas.isUpAt(worker));
    return reaching.length === 0 ? workers : reaching;
  }

  #chooseAnew(server: ServerName, replicas: Replicas): void {
    const isOther = replicas.choose();
    if (replicas.isEmpty) this.#replicas.delete(server);
    if (!isOther) return;
    if (replicas.record === undefined) this.#records.delete(server);
    else this.#records.set(server, replicas.record);
    for (const definition of this.#computed.keys()) if (definition.servers.includes(server)) this.#computed.delete(definition);
    for (const [place, { offered: { common } }] of this.#views) if (common.definition.servers.includes(server)) this.#views.delete(place);
    this.#announceSoon();
  }

  #sweepLater(): void {
    this.#options.wheel.schedule(sweepMs, () => {
      const now = performance.now();
      const absent = new Set([...this.#replicas].flatMap(([server, replicas]) => replicas.absent.map((worker) => catalogKey(server, worker))));
      for (const key of this.#absent.keys()) if (!absent.has(key)) this.#absent.delete(key);
      for (const key of absent) {
        const since = this.#absent.get(key) ?? now;
        this.#absent.set(key, since);
        if (now - since >= forgottenMs) this.#options.remove(key);
      }
      for (const [key, writtenAt] of this.#foreign) if (now - writtenAt >= foreignMs) this.#options.remove(key);
      this.#sweepLater();
    });
  }

  redefine(definitions: Definitions): void {
    this.#definitions = definitions;
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
            continue;
          }
          const view = this.get(place, declared, sight);
          if (view === undefined) {
            this.#seen.delete(place);
            break;
          }
          seen.set(key, { declared, sight, views: new Map([...views].filter(([, each]) => each === view)) });
          const kinds = new Set([...views.values()].filter((before) => before !== view).flatMap((before) => view.changesSince(before)));
          if (kinds.size > 0) changes.set(key, [...kinds]);
        }
        if (changes.size > 0) this.#options.announce(place, (declared, sight) => changes.get(seenKey(declared, sight)) ?? []);
      }
    });
  }
}

const seenKey = (declared: Declared | undefined, sight: Sight | undefined): string => (sight === undefined ? declared?.key ?? '' : `${declared?.key ?? ''}\n${sight.name}`);
