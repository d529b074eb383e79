import { Counter, Histogram as Reference, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { durationBuckets } from './instruments.ts';
import { Histogram, TalliedCounter } from './series.ts';

const options = { name: 'took_seconds', help: 'How long it took.', buckets: durationBuckets };
/** Values on bounds, between them, and beyond the last. */
const values = [0, 0.001, 0.0011, 0.03, 0.05, 0.7, 60, 61, 10_000];

/** The texts for Prometheus of a histogram of ours and of one of the library, after the same values. */
async function textsOf(labelNames: readonly 'server'[], observed: readonly number[]): Promise<readonly string[]> {
  const [ours, theirs] = [new Registry(), new Registry()];
  const histogram = new Histogram({ ...options, labelNames, registers: [ours] });
  const reference = new Reference({ ...options, labelNames: [...labelNames], registers: [theirs] });
  const labels = labelNames.length === 0 ? {} : { server: 'jira' };
  const handle = histogram.labels(labels);
  for (const value of observed) {
    handle.observe(value);
    reference.observe(labels, value);
  }
  return [await ours.metrics(), await theirs.metrics()];
}

describe('a histogram', () => {
  it.each([
    { what: 'with a label', labelNames: ['server'], observed: values },
    { what: 'with a label and no value', labelNames: ['server'], observed: [] },
    { what: 'without labels', labelNames: [], observed: values },
    { what: 'without labels and values', labelNames: [], observed: [] },
  ] as const)('$what has the text that the library writes', async ({ labelNames, observed }) => {
    const [ours, theirs] = await textsOf(labelNames, observed);
    expect(ours).toBe(theirs);
  });

  it('begins a removed series again', async () => {
    const histogram = new Histogram({ ...options, labelNames: ['server'], registers: [] });
    histogram.labels({ server: 'jira' }).observe(1);
    histogram.remove({ server: 'jira' });
    expect((await histogram.get()).values).toEqual([]);
    histogram.labels({ server: 'jira' }).observe(2);
    expect((await histogram.get()).values).toContainEqual({
      metricName: 'took_seconds_sum',
      labels: { server: 'jira' },
      value: 2,
    });
  });
});

describe('a counter', () => {
  it('with handles has the counts of one that is asked with labels', async () => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const shape = { name: 'calls_total', help: 'Calls.', labelNames: ['server'] };
    const counter = new TalliedCounter({ ...shape, registers: [ours] });
    const reference = new Counter({ ...shape, registers: [theirs] });
    counter.tally({ server: 'unused' });
    for (const server of ['jira', 'mail', 'jira']) {
      counter.tally({ server }).inc();
      reference.inc({ server });
    }
    counter.inc({ server: 'jira' });
    reference.inc({ server: 'jira' });
    expect(await ours.metrics()).toBe(await theirs.metrics());
    // A second scrape counts nothing twice.
    expect(await ours.metrics()).toBe(await theirs.metrics());
  });
});
