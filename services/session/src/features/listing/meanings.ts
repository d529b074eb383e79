/**
 * The meaning of questions, where a configuration names an embedding model. A question waits for its own vector at most for the time limit. While the model fails
 * or is busy, answers are ranked by words, and the failure is logged once.
 */
import type { View } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { isObject, type CatalogRecord, type JsonObject } from '@omnibus/protocol';
import {
  maxQueryLength,
  openModel,
  questionTexts,
  toolText,
  ToolVectors,
  type EmbeddingModel,
  type Meaning,
  type PackedVector,
} from '@omnibus/search';
import { searchable, type IndexedTools, type Indexes } from '../../call/tool-indexes.ts';
import type { WorkerParts } from '../../feature.ts';
import { digestOf, Vectors } from './vectors.ts';

const usualTimeoutMs = 500;
/** The model is asked again after this time when it has failed. */
const pauseMs = 30_000;
/** Questions in a row that may be without an answer before the model counts as failed. */
const maxMissed = 3;
/** Bound on questions that wait for the model at once; others are ranked by words. */
const maxOpen = 64;

export type MeaningsOptions = Omit<WorkerParts, 'config'>;

interface Opened {
  readonly model: EmbeddingModel;
  readonly vectors: Vectors;
  readonly timeoutMs: number;
  missed: number;
  isAway: boolean;
  /** Whether it is asked a plain text now, since it did not answer questions. */
  isDoubted: boolean;
  open: number;
}

export class Meanings {
  readonly #options: MeaningsOptions;
  /** The texts of records that were read, since a model may come with a later configuration. */
  readonly #records = new Map<string, CatalogRecord>();
  /** The vectors of a question by the arguments of its request, so that no question depends on another caller's; undefined: there are none. */
  readonly #questions = new WeakMap<JsonObject, readonly PackedVector[] | undefined>();
  readonly #tools = new WeakMap<
    IndexedTools,
    { readonly digests: readonly string[]; made?: ToolVectors; of?: number }
  >();
  #settings = '';
  #opened: Opened | undefined;
  /** Opening and closing one after another. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: MeaningsOptions) {
    this.#options = options;
    const { metrics } = options;
    metrics.beforeScrape(() => {
      metrics.search.vectors.set({ state: 'known' }, this.#opened?.vectors.size ?? 0);
      metrics.search.vectors.set({ state: 'wanted' }, this.#opened?.vectors.wanted ?? 0);
    });
  }

  /** Opens the model of a configuration, if it has another one. */
  apply({ searchModel }: Pick<Config, 'searchModel'>): void {
    const settings = JSON.stringify(searchModel ?? null);
    if (settings === this.#settings) return;
    this.#settings = settings;
    this.#last = this.#last.then(async () => {
      await this.#close();
      if (searchModel === undefined) return;
      try {
        this.#open(await openModel(searchModel), searchModel.timeout ?? usualTimeoutMs);
      } catch (error) {
        this.#options.log.warn({ err: error }, 'the model of searchModel cannot be used; tools are ranked by words');
      }
    });
  }

  async stop(): Promise<void> {
    this.#settings = '';
    this.#last = this.#last.then(() => this.#close());
    await this.#last;
  }

  /** Wants vectors for the tools of a server. */
  learn(record: CatalogRecord): void {
    this.#records.set(record.server, record);
    if (this.#opened !== undefined) want(this.#opened, record);
  }

  /**
   * Asks for the vectors of a question.
   * @param given the arguments of the request; they are the same object when the request is served again.
   * @returns when they are known or never will be; undefined if there is nothing to wait for.
   */
  settling(indexes: Indexes, view: View, given: JsonObject): Promise<void> | undefined {
    const opened = this.#opened;
    const { query } = given;
    if (opened === undefined || this.#questions.has(given)) return undefined;
    if (typeof query !== 'string' || query.trim() === '' || query.length > maxQueryLength) return undefined;
    this.#questions.set(given, undefined);
    if (
      opened.isAway ||
      opened.isDoubted ||
      opened.open >= maxOpen ||
      this.#vectorsOf(opened, indexes.of(view)).known === 0
    )
      return undefined;
    opened.open += 1;
    return opened.model
      .embed(questionTexts(query), AbortSignal.timeout(opened.timeoutMs))
      .then(
        (vectors) => {
          this.#questions.set(given, vectors);
          this.#went(opened, undefined);
        },
        () => this.#missed(opened),
      )
      .finally(() => (opened.open -= 1));
  }

  /** The meaning of a question that has settled; undefined if it is ranked by words. */
  of(indexed: IndexedTools, given: JsonObject): Meaning | undefined {
    const question = this.#questions.get(given);
    const opened = this.#opened;
    if (opened === undefined) return undefined;
    this.#options.metrics.search.questions.inc({ ranking: question === undefined ? 'words' : 'meaning' });
    return question === undefined ? undefined : { question, tools: this.#vectorsOf(opened, indexed) };
  }

  #vectorsOf({ vectors }: Opened, indexed: IndexedTools): ToolVectors {
    let known = this.#tools.get(indexed);
    if (known === undefined) {
      const texts = indexed.texts();
      known = { digests: texts.map(digestOf) };
      this.#tools.set(indexed, known);
      // Texts that are no server's own: descriptions that the operator wrote.
      vectors.want(known.digests.map((digest, at) => [digest, texts[at] as string] as const));
    }
    if (known.made === undefined || known.of !== vectors.generation) {
      known.of = vectors.generation;
      known.made = new ToolVectors(
        indexed.tools.map(({ server }) => server),
        known.digests.map((digest) => vectors.get(digest)),
      );
    }
    return known.made;
  }

  #open(model: EmbeddingModel, timeoutMs: number): void {
    const { bus, log } = this.#options;
    let isStored = true;
    const opened: Opened = {
      model,
      timeoutMs,
      missed: 0,
      isAway: false,
      isDoubted: false,
      open: 0,
      vectors: new Vectors({
        bus,
        model,
        went: (problem) => this.#went(opened, problem),
        isWell: () => this.#isWell(opened, pauseMs),
        unstored: (error) => {
          if (isStored)
            log.warn({ err: error }, 'vectors of tools cannot be shared on the bus; this worker has its own');
          isStored = false;
        },
      }),
    };
    this.#opened = opened;
    for (const record of this.#records.values()) want(opened, record);
  }

  async #close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    opened?.vectors.close();
    await opened?.model.close();
  }

  /** A question got no vectors in time. Questions that the model refuses do not stop those of other callers. */
  #missed(opened: Opened): void {
    this.#options.metrics.search.failures.inc();
    opened.missed += 1;
    if (opened.missed < maxMissed || opened.isDoubted) return;
    opened.isDoubted = true;
    void this.#isWell(opened, opened.timeoutMs).then(() => (opened.isDoubted = false));
  }

  /** Whether the model answers a plain text within a time limit. If it does not, it is away. */
  #isWell(opened: Opened, limitMs: number): Promise<boolean> {
    return opened.model.embed(['tool'], AbortSignal.timeout(limitMs)).then(
      () => {
        this.#went(opened, undefined);
        return true;
      },
      (error: unknown) => {
        this.#went(opened, error as Error);
        return false;
      },
    );
  }

  #went(opened: Opened, problem: Error | undefined): void {
    const { wheel, log, metrics } = this.#options;
    if (problem !== undefined) metrics.search.failures.inc();
    if (this.#opened !== opened) return;
    if (problem === undefined) {
      opened.missed = 0;
      if (opened.isAway) log.info('the model of searchModel answers again; tools are ranked by meaning too');
      opened.isAway = false;
      return;
    }
    if (!opened.isAway)
      log.warn({ err: problem }, 'the model of searchModel does not answer; tools are ranked by words until it does');
    opened.isAway = true;
    wheel.schedule(pauseMs, () => void this.#again(opened));
  }

  /** Asks a model that has failed again. */
  async #again(opened: Opened): Promise<void> {
    if (this.#opened !== opened || !opened.isAway) return;
    if (await this.#isWell(opened, pauseMs)) await opened.vectors.work();
  }
}

function want({ vectors }: Pick<Opened, 'vectors'>, record: CatalogRecord): void {
  vectors.want(
    record.lists.tools.flatMap((tool) => {
      if (!isObject(tool) || typeof tool['name'] !== 'string') return [];
      const text = toolText(searchable(record.server, tool['name'], tool, record));
      return [[digestOf(text), text] as const];
    }),
  );
}
