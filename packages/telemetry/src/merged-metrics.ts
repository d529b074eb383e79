/** The metrics of several processes as those of one, each with the label `worker`. */
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client';

/** Metrics of a process, which can be sent as JSON. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

interface OfWorker {
  /** Value of the label `worker`. */
  readonly worker: string;
  readonly metrics: MetricsSnapshot;
}

/** @param own metrics of the supervisor, which get the label value `supervisor`. @returns the text for Prometheus. */
export function mergedMetrics(own: MetricsSnapshot, workers: readonly OfWorker[]): Promise<string> {
  const all: readonly OfWorker[] = [{ worker: 'supervisor', metrics: own }, ...workers];
  return AggregatorRegistry.aggregate(all.map(labelled)).metrics();
}

function labelled({ worker, metrics }: OfWorker): MetricObjectWithValues<MetricValue<string>>[] {
  return metrics.map((metric) => ({
    ...metric,
    // The label tells all values apart, so none is summed. Of some metrics, the library would leave the values out.
    aggregator: 'sum',
    values: metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker } })),
  }));
}
