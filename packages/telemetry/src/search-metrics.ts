/** Metrics of the embedding model by which tools are found (`searchModel`). */
import { Instruments } from './instruments.ts';

export class SearchMetrics extends Instruments {
  readonly questions = this.counter(
    'omnibus_search_questions_total',
    'Answers of find_tools at a gateway with a `searchModel`, by their ranking: meaning (words and meaning) or words (the model had no answer in time, or has not read the tools yet).',
    ['ranking'],
  );
  readonly failures = this.counter(
    'omnibus_search_model_failures_total',
    'Requests to the embedding model (`searchModel`) that failed or took too long.',
  );
  readonly vectors = this.gauge(
    'omnibus_search_vectors',
    'Texts of tools for the embedding model (`searchModel`), by state: known (the vector is in memory) or wanted (the model has yet to read it).',
    ['state'],
  );
}
