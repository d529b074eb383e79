/**
 * Decides whether a call may be made now by all limits that apply to it, and records the taken units, which return if the call was not executed.
 *
 * Error bounds, with R session workers. Rates: if all workers get calls at once, at most (R - 1) bursts more within one interval between messages;
 * the excess becomes debt, so that over time the rate holds. Concurrency: the calls that begin at other workers within one interval. Quotas:
 * never exceeded, and lower by what workers that died had leased. Bytes: the results of calls that were running when the quota was used up.
 */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  errorTable,
  fault,
  type ExchangeOutcome,
  type Facts,
  type GatewayFault,
  type LimitsNews,
  type WorkerId,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { Charge, type Settling, type Taken } from './charge.ts';
import type { Quota, Quotas } from './quotas.ts';
import { Rates } from './rates.ts';
import type { LimitedRequest, LimitRule } from './rules.ts';
import { Running, sayAgainMs } from './running.ts';

/** Interval between two messages to other workers about units taken here. */
const tellMs = 100;
/** Bound on the entries of one message; the rest is sent with the next. */
const maxTold = 5_000;
const sweepMs = 5_000;

export interface LimiterOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly worker: WorkerId;
  readonly metrics: Pick<Metrics, 'limited'>;
  readonly quotas: Quotas;
  /** Whether there may be other workers. */
  readonly isShared: boolean;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

type News = LimitsNews['taken'];

/** What a call took; undefined if no limit applies to it. */
type Begun = Charge | GatewayFault | undefined;

export class Limiter implements Settling {
  readonly #options: LimiterOptions;
  readonly rates: Rates;
  readonly running: Running;
  hasRules = false;
  #rules: readonly LimitRule[] = [];
  #byId: ReadonlyMap<string, LimitRule> = new Map();
  /** Cache of a caller's rules, by the object of facts, which each new token replaces. */
  #ofFacts = new WeakMap<Facts, readonly LimitRule[]>();
  #ofNobody: readonly LimitRule[] = [];
  #telling: Deadline | undefined;
  #saying: Deadline | undefined;
  #sweeping: Deadline | undefined;
  #later: [News[number][], News[number][]] = [[], []];
  #subscription: Subscription | undefined;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.rates = new Rates(options.isShared, options.now);
    this.running = new Running(options.isShared, options.now);
  }

  async start(): Promise<void> {
    const { bus, worker, isShared } = this.#options;
    if (isShared)
      this.#subscription = await bus.subscribe(subjects.limits, (news) => {
        if (news.worker !== worker) this.#hear(news);
      });
    this.#sweepLater();
  }

  apply(rules: readonly LimitRule[]): void {
    this.#rules = rules;
    this.hasRules = rules.length > 0;
    this.#byId = new Map(rules.map((rule) => [rule.id, rule]));
    this.#ofFacts = new WeakMap();
    this.#ofNobody = rules.filter(({ who }) => who(undefined));
  }

  async stop(): Promise<void> {
    for (const each of [this.#telling, this.#saying, this.#sweeping]) each?.cancel();
    this.#subscription?.close();
    await this.#options.quotas.stop();
  }

  /** @returns undefined when no limit applies; a promise only when a part of a quota must be leased first. */
  begin(request: LimitedRequest): Begun | Promise<Charge | GatewayFault> {
    if (!this.hasRules) return undefined;
    const rules = request.facts === undefined ? this.#ofNobody : this.#rulesOf(request.facts);
    return this.#take(rules, request, undefined);
  }

  #rulesOf(facts: Facts): readonly LimitRule[] {
    let rules = this.#ofFacts.get(facts);
    if (rules === undefined) {
      rules = this.#rules.filter(({ who }) => who(facts));
      this.#ofFacts.set(facts, rules);
    }
    return rules;
  }

  /** Takes what the request needs by each rule. Of a fetch of a task's result, only the size counts. */
  #take(
    rules: readonly LimitRule[],
    request: LimitedRequest,
    begun: Charge | undefined,
  ): Begun | Promise<Charge | GatewayFault> {
    let charge = begun;
    for (const [index, rule] of rules.entries()) {
      if (rule.covers === undefined ? request.isRun === true : !rule.covers(request)) continue;
      if (request.isFetch === true && rule.bytes === undefined) continue;
      charge ??= new Charge(this);
      const taken = charge.add(rule, rule.keyOf(request));
      const refusal = request.isFetch === true ? undefined : this.#takeNow(rule, taken, charge);
      if (refusal !== undefined) return this.#refused(charge, refusal);
      if (rule.quota === undefined && rule.bytes === undefined) continue;
      charge.countsBytes ||= rule.bytes !== undefined;
      const later = this.#takeQuotas(taken, request.isFetch === true ? undefined : rule.quota);
      if (later instanceof Promise) return this.#takeLater(later, rules.slice(index + 1), request, charge);
      if (later !== undefined) return this.#refused(charge, later);
    }
    return charge;
  }

  async #takeLater(
    refused: Promise<GatewayFault | undefined>,
    rules: readonly LimitRule[],
    request: LimitedRequest,
    charge: Charge,
  ): Promise<Charge | GatewayFault> {
    const refusal = await refused;
    return refusal === undefined
      ? ((await this.#take(rules, request, charge)) ?? charge)
      : this.#refused(charge, refusal);
  }

  #refused(charge: Charge, refusal: GatewayFault): GatewayFault {
    charge.takeBack();
    return refusal;
  }

  #takeNow({ id, rate, concurrency, words }: LimitRule, taken: Taken, charge: Charge): GatewayFault | undefined {
    const { metrics, isShared } = this.#options;
    if (rate !== undefined) {
      const retryAfterMs = this.rates.take(taken.key, rate);
      if (retryAfterMs > 0) {
        metrics.limited(id, 'rate');
        return fault('limit.rate', `${words} is reached; try again in ${inWords(retryAfterMs)}`, {
          limit: id,
          retryAfterMs,
        });
      }
      taken.rate = true;
    }
    if (concurrency !== undefined) {
      if (!this.running.take(taken.key, concurrency)) {
        metrics.limited(id, 'concurrency');
        return fault('limit.concurrency', `${words} lets ${concurrency} run at once; try again when one has ended`, {
          limit: id,
          retryAfterMs: 1_000,
        });
      }
      taken.place = true;
      charge.holdsPlace = true;
      if (isShared) this.#sayAgain();
    }
    if (isShared) this.#tellSoon();
    return undefined;
  }

  #takeQuotas(taken: Taken, quota: Quota | undefined): GatewayFault | undefined | Promise<GatewayFault | undefined> {
    const { rule, key } = taken;
    const { bytes } = rule;
    const { quotas } = this.#options;
    const calls = quota === undefined ? undefined : quotas.take(`${key} calls`, quota, 1);
    const rest = (refusal: Awaited<typeof calls>): GatewayFault | undefined | Promise<GatewayFault | undefined> => {
      if (typeof refusal === 'object') return this.#overQuota(rule, 'quota', refusal);
      taken.quota = quota !== undefined && refusal === undefined;
      if (bytes === undefined) return undefined;
      taken.bytes = true;
      const left = quotas.take(`${key} bytes`, bytes, 0);
      if (left instanceof Promise)
        return left.then((found) => (typeof found === 'object' ? this.#overQuota(rule, 'bytes', found) : undefined));
      return typeof left === 'object' ? this.#overQuota(rule, 'bytes', left) : undefined;
    };
    return calls instanceof Promise ? calls.then(rest) : rest(calls);
  }

  // --- the end of a call -------------------------------------------------------------------------------------------------------------

  leave(all: readonly Taken[]): void {
    for (const { place, key } of all) if (place) this.running.leave(key);
    if (this.#options.isShared) this.#tellSoon();
  }

  giveBack(all: readonly Taken[]): void {
    for (const { rule, key, rate, quota } of all) {
      if (rate && rule.rate !== undefined) this.rates.giveBack(key, rule.rate);
      if (quota && rule.quota !== undefined) this.#options.quotas.spend(`${key} calls`, rule.quota, -1);
    }
    if (this.#options.isShared) this.#tellSoon();
  }

  countBytes(all: readonly Taken[], size: number): void {
    for (const { rule, key, bytes } of all)
      if (bytes && rule.bytes !== undefined) this.#options.quotas.spend(`${key} bytes`, rule.bytes, size);
  }

  #overQuota(
    { id, words }: LimitRule,
    kind: 'quota' | 'bytes',
    { retryAfterMs, isUnknown }: { readonly retryAfterMs: number; readonly isUnknown?: boolean },
  ): GatewayFault {
    this.#options.metrics.limited(id, isUnknown === true ? 'unknown' : kind);
    const why =
      isUnknown === true
        ? 'cannot be asked how much is left now'
        : `is used up${kind === 'bytes' ? ' by the results of calls' : ''}`;
    return fault('limit.quota', `${words} ${why}; try again in ${inWords(retryAfterMs)}`, { limit: id, retryAfterMs });
  }

  // --- other workers ---------------------------------------------------------------------------------------------------------------

  #tellSoon(): void {
    this.#telling ??= this.#options.wheel.schedule(tellMs, () => this.#tell(false));
  }

  /** Sends the running calls again and again, since a message may be lost. */
  #sayAgain(): void {
    this.#saying ??= this.#options.wheel.schedule(sayAgainMs, () => {
      this.#saying = undefined;
      // They are sent once more after the last call has ended.
      const isLast = this.running.size === 0;
      this.#tell(true);
      if (!isLast) this.#sayAgain();
    });
  }

  #tell(all: boolean): void {
    const { bus, worker } = this.#options;
    this.#telling?.cancel();
    this.#telling = undefined;
    const [taken, running] = [
      [...this.#later[0], ...this.rates.told()],
      [...this.#later[1], ...this.running.told(all)],
    ];
    this.#later = [taken.splice(maxTold), running.splice(maxTold)];
    const isAll = all && this.#later[1].length === 0;
    if (isAll || taken.length + running.length > 0)
      bus.publish(subjects.limits, { kind: 'taken', worker, taken, running, ...(isAll ? { isAll } : {}) });
    if (this.#later[0].length + this.#later[1].length > 0) this.#tellSoon();
  }

  /** Applies the counts of another worker, using this worker's rules: entries for unknown rules are ignored. */
  #hear({ worker, taken, running, isAll }: LimitsNews): void {
    for (const [key, count] of taken) {
      const rate = this.#byId.get(key.split(' ', 1)[0] as string)?.rate;
      if (rate !== undefined) this.rates.hear(key, count, rate);
    }
    this.running.hear(worker, running, isAll);
  }

  #sweepLater(): void {
    this.#sweeping = this.#options.wheel.schedule(sweepMs, () => {
      void this.#options.quotas.sweep();
      this.#sweepLater();
    });
  }
}

/** Whether a call was or may have been executed; otherwise it does not count. */
export function wasExecuted(outcome: ExchangeOutcome): boolean {
  return (
    outcome.kind !== 'fault' ||
    !Object.hasOwn(errorTable, outcome.fault.reason) ||
    errorTable[outcome.fault.reason].retry !== 'same'
  );
}

function inWords(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 120
    ? `${seconds} s`
    : seconds < 7_200
      ? `${Math.ceil(seconds / 60)} minutes`
      : `${Math.ceil(seconds / 3_600)} hours`;
}
