/**
 * Decides which definitions of one server are served, by comparing them with the approved ones, and keeps those that wait for approval.
 *
 * Invariants
 *  G1  With `pin`, nothing is published that was not approved, or seen when the server, or that list of it, was seen first.
 *  G2  While the approved definitions are unknown, nothing counts as approved.
 */
import { isConflict } from '@omnibus/bus';
import {
  approve,
  atFirstSight,
  judge,
  type DefinitionsMode,
  type Deviation,
  type Judgement,
  type Said,
} from '@omnibus/catalog';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { definedKinds, type ApprovedDefinitions, type CatalogRecord, type ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { RecordFilter } from '../../catalog/record-of.ts';
import type { ApprovedStore, Kept } from './approved-store.ts';

/** A definition that was seen to differ from the approved one, for the record. */
interface DefinitionChange extends Pick<Deviation, 'kind' | 'name' | 'why' | 'facets' | 'risks' | 'digest'> {
  readonly server: ServerName;
  /** The entry for clients: none, the approved texts, or the server's own. */
  readonly effect: 'held' | 'old-words' | 'shown';
}

export interface DefinitionsOptions {
  readonly server: ServerName;
  readonly mode: DefinitionsMode;
  /** A digest of how the server is reached. */
  readonly reached: string;
  readonly store: ApprovedStore;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Called once for each definition that differs, in this process; left out where nothing is recorded. */
  readonly definitionChanged?: ((change: DefinitionChange) => void) | undefined;
}

/** Pause between two attempts to read or write the approved definitions. */
const retryMs = 2_000;
/** Bound on deviations that are logged; further ones, of a server that keeps changing, are only counted. */
const maxSaid = 1_000;

export class Definitions implements RecordFilter {
  readonly #options: DefinitionsOptions;
  /** Undefined where nothing was approved yet. */
  #approved: ApprovedDefinitions | undefined;
  #revision: number | undefined;
  /** Why the approved definitions are not known. */
  #problem: string | undefined = 'it is not known yet what was approved of it';
  #judged:
    | {
        readonly record: CatalogRecord;
        readonly approved: ApprovedDefinitions;
        readonly judgement: Judgement;
        readonly said: Said;
      }
    | undefined;
  readonly #said = new Set<string>();
  #isStopped = false;
  /** Called when other definitions are to be served. */
  changed: () => void = () => undefined;

  constructor(options: DefinitionsOptions) {
    this.#options = options;
  }

  /** Resolves when the approved definitions are known, or will be read again later. */
  async open(): Promise<void> {
    const { store, server, wheel, log } = this.#options;
    try {
      this.#take(await store.read(server));
    } catch (error) {
      this.#problem = `what was approved of it cannot be read: ${(error as Error).message}`;
      log.error({ err: error }, 'what was approved of the definitions of a server cannot be read; it is tried again');
      wheel.schedule(retryMs, () => {
        if (!this.#isStopped) void this.open().then(() => this.changed());
      });
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Another process has approved something. */
  heard(kept: Kept | undefined): void {
    if (kept?.revision === this.#revision && this.#problem === undefined) return;
    this.#take(kept);
    this.changed();
  }

  judged(record: CatalogRecord): CatalogRecord {
    const { mode, reached, metrics, server } = this.#options;
    if (this.#problem !== undefined) {
      if (mode === 'warn') return record;
      const { instructions: _instructions, offers: _offers, ...rest } = record; // G2
      return {
        ...rest,
        problem: this.#problem,
        lists: { ...record.lists, tools: [], prompts: [], resourceTemplates: [] },
      };
    }
    const unread = new Set<string>(record.unread);
    const said: Said = {
      reached,
      instructions: record.instructions,
      lists: record.lists,
      offers: record.offers ?? [],
      kinds: definedKinds.filter((kind) => !unread.has(kind)),
    };
    const approved = atFirstSight(this.#approved, said);
    if (approved !== this.#approved) this.#keep(approved);
    const before = this.#judged;
    const isSame =
      before?.approved === approved &&
      before.said.lists === said.lists &&
      before.said.instructions === said.instructions &&
      isEqual(before.said.offers, said.offers);
    const judgement = isSame ? before.judgement : judge(mode, approved, said); // G1
    this.#judged = { record, approved, judgement, said };
    if (!isSame) this.#report(judgement.deviations);
    metrics.upstream.definitionsHeld(server, judgement.held.length);
    const { instructions: _said, offers: _offered, ...rest } = record;
    const { lists, offers, instructions, held } = judgement;
    return {
      ...rest,
      lists,
      ...(instructions === undefined ? {} : { instructions }),
      ...(offers.length === 0 ? {} : { offers }),
      ...(held.length === 0 ? {} : { held }),
    };
  }

  /** Definitions that differ from the approved ones. */
  get deviations(): readonly Deviation[] {
    return this.#judged?.judgement.deviations ?? [];
  }

  /** Why the approved definitions are not known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get mode(): DefinitionsMode {
    return this.#options.mode;
  }

  /**
   * Approves definitions.
   * @param digests of the reviewed definitions.
   * @throws {Error} in words, when the server says something else by now, or it cannot be written.
   */
  async approve(digests: ReadonlySet<string>): Promise<void> {
    const { store, server } = this.#options;
    if (this.#judged === undefined || this.#problem !== undefined)
      throw new Error(this.#problem ?? `server "${server}" has said nothing of itself yet`);
    const { approved, said, judgement } = this.#judged;
    const known = new Set(judgement.deviations.map(({ digest }) => digest));
    if ([...digests].some((digest) => !known.has(digest)))
      throw new Error(
        `server "${server}" says something else by now, or it is approved already: look at the difference again`,
      );
    const next = approve(approved, said, judgement.deviations, digests);
    try {
      this.#revision = await store.write(server, next, this.#revision);
    } catch (error) {
      const hasChanged = isConflict(error);
      if (hasChanged) await this.open();
      throw new Error(
        hasChanged
          ? 'somebody else has approved something meanwhile: look at the difference again'
          : `it cannot be written: ${(error as Error).message}`,
        { cause: error },
      );
    }
    this.#approved = next;
    this.changed();
  }

  #take(kept: Kept | undefined): void {
    this.#approved = kept?.approved;
    this.#revision = kept?.revision;
    this.#problem = undefined;
  }

  /** Stores the first definitions. If another process was faster, its version counts. */
  #keep(approved: ApprovedDefinitions): void {
    const { store, server, wheel, log } = this.#options;
    this.#approved = approved;
    const again = (): void => {
      if (!this.#isStopped && this.#approved === approved) this.#keep(approved);
    };
    store
      .write(server, approved, this.#revision)
      .then(
        (revision) => {
          this.#revision = revision;
        },
        async (error: unknown) => {
          if (isConflict(error)) {
            await this.open();
            this.changed();
            return;
          }
          log.error({ err: error }, 'what was seen of a server first could not be written; it is tried again');
          wheel.schedule(retryMs, again);
        },
      )
      .catch((error: unknown) => log.error({ err: error }, 'what was seen of a server first could not be taken over'));
  }

  #report(deviations: readonly Deviation[]): void {
    const { log, metrics, server, mode, definitionChanged } = this.#options;
    for (const { kind, name, why, isHeld, risks, facets, digest } of deviations) {
      const key = `${kind} ${name} ${digest}`;
      if (this.#said.has(key)) continue;
      const effect = isHeld ? 'held' : mode === 'pin' ? 'old-words' : 'shown';
      metrics.upstream.definitionDeviated(server, effect);
      if (this.#said.size >= maxSaid) continue;
      this.#said.add(key);
      definitionChanged?.({ server, kind, name, why, facets, risks, digest, effect });
      log.warn(
        { kind, name, why, isHeld, facets, risks },
        'a definition of a server differs from the approved one: omnibus definitions shows the difference',
      );
    }
  }
}

function isEqual(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
