/** The views of all endpoints, kept in step with the catalogue. A view is computed when it is first asked for after a change. */
import { View, type EndpointDefinition, type ViewProblem } from '@omnibus/catalog';
import type { KeyValueChange } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { parseServerName, type CatalogRecord, type ChangeKind, type EndpointName, type ServerName } from '@omnibus/protocol';

/** Changes that come together, as at a start, are told together. */
const announceDelayMs = 50;

export class Views {
  readonly #wheel: DeadlineWheel;
  readonly #announce: (endpoint: EndpointName, changes: readonly ChangeKind[]) => void;
  readonly #tell: (endpoint: EndpointName, problems: readonly ViewProblem[]) => void;
  /** What was told of each endpoint last, so that a server that says the same again is not heard again. */
  readonly #told = new Map<EndpointName, string>();
  readonly #records = new Map<ServerName, CatalogRecord>();
  readonly #views = new Map<EndpointName, View>();
  /**
   * What clients may have seen: the view that was announced last, and those that were asked for since, also when a further change has
   * put an end to them. An endpoint is here once it was asked for.
   */
  readonly #seen = new Map<EndpointName, Set<View>>();
  #definitions: ReadonlyMap<EndpointName, EndpointDefinition>;
  /** Set while changes wait to be told. */
  #announcement: Deadline | undefined;

  /** @param tell hears what servers offer and clients cannot be shown, when that changes. */
  constructor(
    definitions: ReadonlyMap<EndpointName, EndpointDefinition>, wheel: DeadlineWheel, announce: (endpoint: EndpointName, changes: readonly ChangeKind[]) => void,
    tell: (endpoint: EndpointName, problems: readonly ViewProblem[]) => void,
  ) {
    this.#definitions = definitions;
    this.#wheel = wheel;
    this.#announce = announce;
    this.#tell = tell;
  }

  /** What clients cannot be shown now, in words: of those endpoints that were asked for. */
  get leftOut(): readonly string[] {
    const all = [...this.#views.values()].flatMap(({ problems }) => problems.map(({ server, problem }) => `${server}: ${problem}`));
    return [...new Set(all)];
  }

  /** Undefined when there is no such endpoint. */
  get(endpoint: EndpointName): View | undefined {
    const present = this.#views.get(endpoint);
    if (present !== undefined) return present;
    const definition = this.#definitions.get(endpoint);
    if (definition === undefined) return undefined;
    const view = new View(definition, this.#records);
    this.#views.set(endpoint, view);
    const words = JSON.stringify(view.problems);
    if (words !== (this.#told.get(endpoint) ?? '[]')) this.#tell(endpoint, view.problems);
    this.#told.set(endpoint, words);
    const seen = this.#seen.get(endpoint);
    if (seen === undefined) this.#seen.set(endpoint, new Set([view]));
    else seen.add(view);
    return view;
  }

  catalogChanged(change: KeyValueChange<CatalogRecord>): void {
    const server = parseServerName(change.key);
    if (change.kind === 'put') this.#records.set(server, change.value);
    else this.#records.delete(server);
    for (const [endpoint, { servers }] of this.#definitions) if (servers.includes(server)) this.#views.delete(endpoint);
    this.#announceSoon();
  }

  redefine(definitions: ReadonlyMap<EndpointName, EndpointDefinition>): void {
    this.#definitions = definitions;
    this.#views.clear();
    this.#announceSoon();
  }

  #announceSoon(): void {
    if (this.#announcement !== undefined) return;
    this.#announcement = this.#wheel.schedule(announceDelayMs, () => {
      this.#announcement = undefined;
      for (const [endpoint, seen] of [...this.#seen]) {
        const view = this.get(endpoint);
        if (view === undefined) {
          this.#seen.delete(endpoint);
          continue;
        }
        this.#seen.set(endpoint, new Set([view]));
        seen.delete(view);
        const changes = new Set([...seen].flatMap((before) => view.changesSince(before)));
        if (changes.size > 0) this.#announce(endpoint, [...changes]);
      }
    });
  }
}
