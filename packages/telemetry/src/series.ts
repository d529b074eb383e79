/**
 * Metrics that are counted for each call. A look at the labels costs more than counting, so their series are plain numbers behind a handle.
 * The registry reads them when it is scraped.
 */
import { Counter, type LabelValues, type MetricValueWithName } from 'prom-client';

/** One series of a counter. */
export class Tally {
  /** Counted since the last scrape. */
  pending = 0;

  inc(): void {
    this.pending += 1;
  }
}

/** A counter with handles for single series. */
export class TalliedCounter<Label extends string> extends Counter<Label> {
  readonly #tallies = new Map<string, { readonly labels: LabelValues<Label>; readonly tally: Tally }>();

  /** @returns the handle of a series. The series exists from its first count on. */
  tally(labels: LabelValues<Label>): Tally {
    const key = JSON.stringify(labels);
    const known = this.#tallies.get(key)?.tally;
    if (known !== undefined) return known;
    const tally = new Tally();
    this.#tallies.set(key, { labels, tally });
    return tally;
  }

  /**
   * Removes a series. Its handle counts no more: a new handle begins a new series.
   * @param labels by name; the form of the registry with values alone is refused.
   */
  override remove(labels: LabelValues<Label> | string): void {
    if (typeof labels === 'string') throw new TypeError('the labels of a series need their names');
    this.#tallies.delete(JSON.stringify(labels));
    super.remove(labels);
  }

  override get(): ReturnType<Counter<Label>['get']> {
    for (const { labels, tally } of this.#tallies.values()) {
      if (tally.pending > 0) this.inc(labels, tally.pending);
      tally.pending = 0;
    }
    return super.get();
  }
}

/** One series of a histogram. */
export class Observed {
  readonly #bounds: readonly number[];
  /** How many values are at most as great as the bound of the same place, and greater than the one before it. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.count += 1;
    this.sum += value;
    for (let at = 0; at < this.counts.length; at += 1)
      if (value <= (this.#bounds[at] as number)) {
        this.counts[at] = (this.counts[at] as number) + 1;
        return;
      }
  }
}

/** A registry of the library. It uses `name` and `get` of a metric alone, although its type wants a class of the library. */
interface Registers {
  registerMetric(metric: { readonly get: () => Promise<unknown> }): void;
}

interface HistogramOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  /** Upper bounds, in ascending order. */
  readonly buckets: readonly number[];
  readonly registers: readonly Registers[];
}

/** A histogram as the registry reads it. */
interface HistogramValues<Label extends string> extends Pick<HistogramOptions<Label>, 'name' | 'help'> {
  readonly type: 'histogram';
  /** How values of several processes become one. */
  readonly aggregator: 'sum';
  readonly values: readonly MetricValueWithName<Label | 'le'>[];
}

/** A histogram in the form of the registry, with handles for single series. */
export class Histogram<Label extends string> {
  readonly name: string;
  readonly #options: HistogramOptions<Label>;
  readonly #series = new Map<string, { readonly labels: LabelValues<Label>; readonly observed: Observed }>();

  constructor(options: HistogramOptions<Label>) {
    this.name = options.name;
    this.#options = options;
    // Without labels there is one series, which is shown before its first value, too.
    if (options.labelNames.length === 0) this.labels({});
    for (const registry of options.registers) registry.registerMetric(this);
  }

  /** @returns the handle of a series. The series is shown from its first value on. */
  labels(labels: LabelValues<Label>): Observed {
    const key = JSON.stringify(labels);
    const known = this.#series.get(key)?.observed;
    if (known !== undefined) return known;
    const observed = new Observed(this.#options.buckets);
    this.#series.set(key, { labels, observed });
    return observed;
  }

  /** Observes a value of a histogram without labels. */
  observe(value: number): void {
    this.labels({}).observe(value);
  }

  remove(labels: LabelValues<Label>): void {
    this.#series.delete(JSON.stringify(labels));
  }

  get(): Promise<HistogramValues<Label>> {
    const { name, help, labelNames } = this.#options;
    const shown = [...this.#series.values()].filter(({ observed }) => observed.count > 0 || labelNames.length === 0);
    return Promise.resolve({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: shown.flatMap(({ labels, observed }) => this.#values(labels, observed)),
    });
  }

  /** The buckets, each with all smaller values, the sum and the count. */
  #values(labels: LabelValues<Label>, { counts, count, sum }: Observed): MetricValueWithName<Label | 'le'>[] {
    const { name, buckets } = this.#options;
    let below = 0;
    const bucket = (le: number | string, value: number): MetricValueWithName<Label | 'le'> => ({
      metricName: `${name}_bucket`,
      labels: { le, ...labels } as LabelValues<Label | 'le'>,
      value,
    });
    return [
      ...buckets.map((bound, at) => bucket(bound, (below += counts[at] as number))),
      bucket('+Inf', count),
      { metricName: `${name}_sum`, labels: labels as LabelValues<Label | 'le'>, value: sum },
      { metricName: `${name}_count`, labels: labels as LabelValues<Label | 'le'>, value: count },
    ];
  }
}
