/** The views of all endpoints, kept in step with the catalogue. A view is computed when it is first asked for after a change. */
import { View, type EndpointDefinition, type ViewProblem } from '@omnibus/catalog';
import type { KeyValueChange } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { catalogKey, declaredBy, parseCatalogKey, type CatalogRecord, type ChangeKind, type Declared, type EndpointName, type JsonObject, type ServerName, type WorkerId } from '@omnibus/protocol';
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
/** Of such keys as many are remembered; the others come with the next start. */
const maxForeign = 1_000;

export interface ViewsOptions {
  readonly wheel: DeadlineWheel;
  /** Clients of an endpoint are to be told that lists changed. @param changesFor which, for those that declared certain capabilities. */
  readonly announce: (endpoint: EndpointName, changesFor: (declared?: Declared) => readonly ChangeKind[]) => void;
  /** Whether it is proven that a backend worker is not there. */
  readonly isLost: (worker: WorkerId) => boolean;
  /** Hears what servers offer and clients cannot be shown, when that changes. */
  readonly tell: (endpoint: EndpointName, problems: readonly ViewProblem[]) => void;
  /** Removes a record from the catalogue. */
  readonly remove: (key: string) => void;
}

/** What one endpoint offers now. */
interface EndpointViews {
  readonly common: View;
  /** For clients that are offered something else, by what differs. */
  readonly special: Map<string, View>;
  /** Which of them clients see, by what they declared. */
  readonly shown: Map<string, View>;
}

interface Seen {
  readonly declared: Declared | undefined;
  readonly views: Set<View>;
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
  /** What is computed of each endpoint; nothing, when a change has put an end to it. */
  readonly #views = new Map<EndpointName, EndpointViews>();
  /**
   * What clients may have seen, by what they declared: the view that was announced last, and those that were asked for since, also when a
   * further change has put an end to them. An endpoint is here once it was asked for.
   */
  readonly #seen = new Map<EndpointName, Map<string, Seen>>();
  #definitions: ReadonlyMap<EndpointName, EndpointDefinition>;
  /** Set while changes wait to be told. */
  #announcement: Deadline | undefined;

  constructor(definitions: ReadonlyMap<EndpointName, EndpointDefinition>, options: ViewsOptions) {
    this.#definitions = definitions;
    this.#options = options;
    this.#sweepLater();
  }

  /** What clients cannot be shown now, in words: of those endpoints that were asked for. */
  get leftOut(): readonly string[] {
    const all = [...this.#views.values()].flatMap(({ common: { problems } }) => problems.map(({ server, problem }) => `${server}: ${problem}`));
    return [...new Set(all)];
  }

  /**
   * @param declared what the client did, where what it is offered may depend on it; it is told of changes then.
   * @returns undefined when there is no such endpoint.
   */
  get(endpoint: EndpointName, declared?: Declared): View | undefined {
    const key = declared?.key ?? '';
    const present = this.#views.get(endpoint)?.shown.get(key);
    if (present !== undefined) return present;
    const views = this.#compute(endpoint);
    if (views === undefined) return undefined;
    const differing = declared === undefined ? undefined : views.common.differing(declared);
    let view = views.common;
    if (differing !== undefined) {
      view = views.special.get(differing.name) ?? differing.make();
      views.special.set(differing.name, view);
    }
    views.shown.set(key, view);
    const seen = this.#seen.get(endpoint) ?? new Map<string, Seen>();
    this.#seen.set(endpoint, seen);
    const before = seen.get(key);
    if (before === undefined) seen.set(key, { declared, views: new Set([view]) });
    else before.views.add(view);
    return view;
  }

  /** The same for a request that stands alone and hears of no changes. @param capabilities as its client declares them. */
  getAlone(endpoint: EndpointName, capabilities: JsonObject): View | undefined {
    const common = this.get(endpoint);
    return common?.dependsOnCaller === true ? this.get(endpoint, declaredBy(capabilities, false)) : common;
  }

  #compute(endpoint: EndpointName): EndpointViews | undefined {
    const present = this.#views.get(endpoint);
    if (present !== undefined) return present;
    const definition = this.#definitions.get(endpoint);
    if (definition === undefined) return undefined;
    const view = new View(definition, this.#records);
    const views: EndpointViews = { common: view, special: new Map(), shown: new Map() };
    this.#views.set(endpoint, views);
    const words = JSON.stringify(view.problems);
    if (words !== (this.#told.get(endpoint) ?? '[]')) this.#options.tell(endpoint, view.problems);
    this.#told.set(endpoint, words);
    return views;
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
    for (const [endpoint, { servers }] of this.#definitions) if (servers.includes(server)) this.#views.delete(endpoint);
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

  redefine(definitions: ReadonlyMap<EndpointName, EndpointDefinition>): void {
    this.#definitions = definitions;
    this.#views.clear();
    this.#announceSoon();
  }

  #announceSoon(): void {
    if (this.#announcement !== undefined) return;
    this.#announcement = this.#options.wheel.schedule(announceDelayMs, () => {
      this.#announcement = undefined;
      for (const [endpoint, seen] of [...this.#seen]) {
        const changes = new Map<string, readonly ChangeKind[]>();
        for (const [key, { declared, views }] of [...seen]) {
          const view = this.get(endpoint, declared);
          if (view === undefined) {
            this.#seen.delete(endpoint);
            break;
          }
          seen.set(key, { declared, views: new Set([view]) });
          views.delete(view);
          const kinds = new Set([...views].flatMap((before) => view.changesSince(before)));
          if (kinds.size > 0) changes.set(key, [...kinds]);
        }
        if (changes.size > 0) this.#options.announce(endpoint, (declared) => changes.get(declared?.key ?? '') ?? []);
      }
    });
  }
}
