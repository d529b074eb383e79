/**
 * Which entries of lists a caller may see, by the decision point: asked in batches, and kept for a while. Until it has decided, and while it cannot be asked, the caller sees nothing.
 *
 * Decisions of callers that may see the same share one object, and so one view.
 */
import { hash } from 'node:crypto';
import { setLast } from '@omnibus/collections';
import type { Sight, View } from '@omnibus/catalog';
import type { Caller, Facts } from '@omnibus/protocol';
import { shareOf } from '../../call/client-of.ts';
import type { ListFilter } from '../../call/list-filter.ts';
import type { AuthZen, Evaluated, Evaluation } from './authzen.ts';
import { actionOf, resourceOf, subjectOf, usingMethods } from './question.ts';

export interface ListDecisionsOptions {
  /** Undefined while no decision point is configured. */
  readonly point: () => AuthZen | undefined;
  /** How long decisions are kept, in milliseconds. */
  readonly cacheMs: () => number;
  /** Questions of one request. */
  readonly batch: () => number;
  readonly counted: (outcome: 'permitted' | 'denied' | 'failed', problem: string | undefined, about: string) => void;
  /** Runs an act that changes what callers see. */
  readonly change: (act: () => void) => void;
}

type Kind = keyof typeof usingMethods;

interface Entry {
  readonly kind: Kind;
  readonly server: string;
  readonly name: string;
}

/** Decisions about some entries, shared by all callers with the same. */
interface Decided {
  readonly name: string;
  readonly entries: readonly Entry[];
  /** Keys of all entries that were asked about. */
  readonly asked: ReadonlySet<string>;
  readonly permitted: ReadonlySet<string>;
  /** Servers with a permitted entry, and those with a permitted template of resources. */
  readonly servers: ReadonlySet<string>;
  readonly templated: ReadonlySet<string>;
  /** By the sight of the rules. */
  readonly sights: WeakMap<object, Sight>;
}

interface Known {
  readonly decided: Decided;
  /** The end of the time for which requests use it. */
  readonly until: number;
}

/** Bound on callers with kept decisions. */
const maxKnown = 10_000;
/** How much longer notifications on open streams use decisions: each such use begins new ones. Requests wait for new ones. */
const staleMs = 60 * 60_000;
/** How long nothing is shown after a failure, before the decision point is asked again. */
const againMs = 2_000;
/** Stands for the rules where there are none. */
const noRules = {};
const nothing: Sight = { name: 'undecided', sees: () => false, seesServer: () => false, mayEverythingOf: () => false };

export class ListDecisions implements ListFilter {
  readonly #options: ListDecisionsOptions;
  readonly #known = new Map<string, Known>();
  readonly #asking = new Map<string, Promise<void>>();
  readonly #decided = new Map<string, Decided>();
  readonly #keys = new WeakMap<Facts, string>();

  constructor(options: ListDecisionsOptions) {
    this.#options = options;
  }

  narrowed(sight: Sight | undefined, caller: Caller, facts: Facts | undefined): Sight {
    const key = this.#keyOf(caller, facts);
    const known = this.#known.get(key);
    if (known === undefined) return nothing;
    const overMs = Date.now() - known.until;
    if (overMs < 0) return sightOf(known.decided, sight);
    const point = this.#options.point();
    if (point !== undefined && !this.#asking.has(key))
      void this.#ask(point, key, known.decided.entries, shareOf(caller, facts), facts);
    return overMs < staleMs ? sightOf(known.decided, sight) : nothing;
  }

  pending(view: View, sight: Sight | undefined, caller: Caller, facts: Facts | undefined): Promise<void> | undefined {
    const point = this.#options.point();
    if (point === undefined) return undefined;
    const key = this.#keyOf(caller, facts);
    const entries = entriesOf(view, sight);
    const known = this.#known.get(key);
    if (
      known !== undefined &&
      Date.now() < known.until &&
      entries.every((entry) => known.decided.asked.has(keyOf(entry)))
    )
      return undefined;
    const asking = this.#asking.get(key) ?? this.#ask(point, key, entries, shareOf(caller, facts), facts);
    return asking;
  }

  /** Forgets all decisions. */
  clear(): void {
    this.#known.clear();
    this.#decided.clear();
  }

  #ask(point: AuthZen, key: string, entries: readonly Entry[], owner: string, facts: Facts | undefined): Promise<void> {
    const asking = this.#decideAll(point, entries, owner, facts)
      .then(
        (answers) => {
          const permitted = entries.filter((_entry, index) => answers[index]?.isPermitted === true);
          return { entries, permitted, forMs: Math.max(1, this.#options.cacheMs()) };
        },
        (error: unknown) => {
          this.#options.counted('failed', (error as Error).message, 'lists');
          return { entries, permitted: [], forMs: againMs };
        },
      )
      .then(({ permitted, forMs }) => {
        this.#asking.delete(key);
        if (this.#options.point() === point) this.#keep(key, entries, permitted, forMs);
      });
    this.#asking.set(key, asking);
    return asking;
  }

  async #decideAll(
    point: AuthZen,
    entries: readonly Entry[],
    owner: string,
    facts: Facts | undefined,
  ): Promise<readonly Evaluated[]> {
    const subject = subjectOf(facts);
    const size = this.#options.batch();
    const all: Evaluated[] = [];
    for (let start = 0; start < entries.length; start += size) {
      const questions = entries
        .slice(start, start + size)
        .map(({ kind, server, name }): Omit<Evaluation, 'subject'> => ({
          action: actionOf(usingMethods[kind]),
          resource: resourceOf(kind, server, name),
        }));
      all.push(...(await point.evaluateAll(owner, subject, questions)));
    }
    for (const { isPermitted } of all) this.#options.counted(isPermitted ? 'permitted' : 'denied', undefined, 'lists');
    return all;
  }

  #keep(key: string, entries: readonly Entry[], permitted: readonly Entry[], forMs: number): void {
    const before = this.#known.get(key);
    const next: Known = { decided: this.#shared(entries, permitted), until: Date.now() + forMs };
    const keep = (): void => {
      setLast(this.#known, key, next, maxKnown);
    };
    // What a caller sees first is no change.
    if (before === undefined || before.decided === next.decided) keep();
    else this.#options.change(keep);
  }

  #shared(entries: readonly Entry[], permitted: readonly Entry[]): Decided {
    const asked = new Set(entries.map(keyOf));
    const seen = new Set(permitted.map(keyOf));
    const name = hash('sha256', JSON.stringify([[...asked].toSorted(), [...seen].toSorted()]), 'base64url').slice(
      0,
      20,
    );
    const known = this.#decided.get(name);
    if (known !== undefined) return known;
    if (this.#decided.size >= maxKnown) this.#decided.clear();
    const made: Decided = {
      name,
      entries,
      asked,
      permitted: seen,
      servers: new Set(permitted.map(({ server }) => server)),
      templated: new Set(
        permitted.filter(({ kind, name: uri }) => kind === 'resource' && uri.includes('{')).map(({ server }) => server),
      ),
      sights: new WeakMap(),
    };
    this.#decided.set(name, made);
    return made;
  }

  #keyOf({ endpoint, principal }: Caller, facts: Facts | undefined): string {
    if (facts === undefined) return `${endpoint} ${principal}`;
    const known = this.#keys.get(facts) ?? hash('sha256', JSON.stringify(subjectOf(facts)), 'base64url');
    this.#keys.set(facts, known);
    return `${endpoint} ${known}`;
  }
}

const keyOf = ({ kind, server, name }: Entry): string => `${kind} ${server}/${name}`;

/** The entries that the rules let a caller see, of servers in the view. */
function entriesOf(view: View, sight: Sight | undefined): readonly Entry[] {
  return view.records.flatMap(({ server, lists: { tools, prompts, resources, resourceTemplates } }) => {
    const of = (kind: Kind, names: readonly string[]): Entry[] => names.map((name) => ({ kind, server, name }));
    const shown = tools.filter((tool) => sight?.sees('tool', server, tool.name, tool) ?? true);
    return [
      ...of(
        'tool',
        shown.map(({ name }) => name),
      ),
      ...[
        ...of(
          'prompt',
          prompts.map(({ name }) => name),
        ),
        ...of('resource', [
          ...resources.map(({ uri }) => uri),
          ...resourceTemplates.map(({ uriTemplate }) => uriTemplate),
        ]),
      ].filter(({ kind, name }) => sight?.sees(kind, server, name) ?? true),
    ];
  });
}

/** What both the rules and the decision point let a caller see. */
function sightOf(decided: Decided, sight: Sight | undefined): Sight {
  const known = decided.sights.get(sight ?? noRules);
  if (known !== undefined) return known;
  const { name, asked, permitted, servers, templated } = decided;
  const made: Sight = {
    name: `${sight?.name ?? 'all'} ${name}`,
    sees: (kind, server, entryName, entry) => {
      if (sight?.sees(kind, server, entryName, entry) === false) return false;
      const key = keyOf({ kind, server, name: entryName });
      // A URI on no list may belong to a template; the call is asked about.
      return asked.has(key) ? permitted.has(key) : kind === 'resource' && templated.has(server);
    },
    seesServer: (server) => servers.has(server) && (sight?.seesServer(server) ?? true),
    // The decision point may deny any part of it.
    mayEverythingOf: () => false,
  };
  decided.sights.set(sight ?? noRules, made);
  return made;
}
