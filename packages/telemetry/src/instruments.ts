import { Gauge, type Registry } from 'prom-client';
import { Histogram, TalliedCounter } from './series.ts';

/** Seconds: from an answer out of the catalogue to a call that runs for minutes. */
export const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** A group of metrics in one registry. */
export abstract class Instruments {
  readonly registry: Registry;

  constructor(registry: Registry) {
    this.registry = registry;
  }

  protected counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ): TalliedCounter<Label> {
    return new TalliedCounter({ name, help, labelNames, registers: [this.registry] });
  }

  protected gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  /** A histogram of durations, in seconds. */
  protected histogram<Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: durationBuckets, registers: [this.registry] });
  }
}
