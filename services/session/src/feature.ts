/**
 * What one feature adds to a session worker. The worker gets a list of features, and knows this interface only. Each feature is one folder under `features/`
 * with one `feature.ts`; `features/index.ts` has the list; its order is that of gates, transforms and watchers.
 */
import type { Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Guardrails, Policy } from '@omnibus/policy';
import type { CatalogRecord, ExchangeId, ServerNotice, SessionKey } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { AccessSource } from './call/access.ts';
import type { Adapters } from './call/adapters.ts';
import { noBarrier, type Barrier } from './call/barrier.ts';
import { Gates, type Gate } from './call/gates.ts';
import { ownToolsOf, type OwnTools } from './call/own-tools.ts';
import type { OwnTasks } from './call/own-tasks.ts';
import type { OwnResults } from './call/own-results.ts';
import type { ResultGate } from './call/result-gate.ts';
import type { CallTransformer } from './call/transforms.ts';
import { Watchers, type CallWatcher } from './call/watchers.ts';
import type { GuestMaker } from './stateful/session-parts.ts';
import type { ListFilter } from './call/list-filter.ts';

/** What each part of a worker may use. */
export interface WorkerParts {
  readonly config: Config;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The compiled rules and guardrails of a configuration; each undefined where it has none. */
export interface Compiled {
  readonly policy: Policy | undefined;
  readonly guardrails: Guardrails | undefined;
}

/** What a feature gets when its worker starts. */
export interface FeatureStart {
  readonly adapters: Adapters;
  readonly nextExchangeId: () => ExchangeId;
  /** Must be called when `isOn` changes other than by a configuration. */
  readonly changed: () => void;
  /** Must be called when the barrier lets less through than before: it ends what callers may not reach any more. */
  readonly barred: () => void;
  /** Runs an act that changes what callers may see other than by a configuration; callers with changed lists get a notification. */
  readonly rightsChange: (act: () => void) => void;
}

/** Members that a feature leaves out are not called. */
export interface SessionFeature {
  readonly name: string;
  /** Whether it is on. A feature that is off adds nothing to the lists. Default: it is. */
  readonly isOn?: boolean;
  readonly gates?: readonly Gate[];
  readonly transforms?: readonly CallTransformer[];
  readonly watchers?: readonly CallWatcher[];
  /** One feature at most has it. */
  readonly barrier?: Barrier;
  /** One feature at most has it. */
  readonly access?: AccessSource;
  /** Whether a configuration changes what callers see, other than by rules. */
  changesLists?(config: Config): boolean;
  /** Of the features that are on, one at most has it. */
  readonly listFilter?: ListFilter | undefined;
  readonly ownTools?: OwnTools;
  /** One feature at most has it. */
  readonly ownTasks?: OwnTasks;
  /** One feature at most has it. */
  readonly resultGate?: ResultGate;
  /** One feature at most has it. */
  readonly runGate?: ResultGate;
  /** One feature at most has it. */
  readonly ownResults?: OwnResults;
  readonly guests?: readonly GuestMaker[];
  /** Calls that wait for people. */
  readonly waiting?: number;
  start?(parts: FeatureStart): Promise<void> | void;
  /** Applies a changed configuration. */
  apply?(config: Config, compiled: Compiled): void;
  /** A server has sent something outside calls. */
  hear?(notice: ServerNotice): void;
  sessionEnded?(key: SessionKey): void;
  /** An adapter has written the lists of its server. */
  listsRead?(record: CatalogRecord): void;
  stop?(): Promise<void> | void;
}

/** The features of one worker, and the lists that calls pass. */
export class Features {
  readonly all: readonly SessionFeature[];
  readonly gates: Gates;
  readonly watchers: Watchers;
  readonly barrier: Barrier;
  /** The rules that are on; undefined if every caller may see and do everything. */
  readonly access: { on: AccessSource | undefined } = { on: undefined };
  /** Narrows lists beyond the rules; undefined if nothing does. */
  readonly listFilter: { on: ListFilter | undefined } = { on: undefined };
  readonly ownTools: OwnTools;
  readonly ownTasks: OwnTasks | undefined;
  readonly resultGate: ResultGate | undefined;
  readonly runGate: ResultGate | undefined;
  readonly ownResults: OwnResults | undefined;
  readonly guests: readonly GuestMaker[];
  /** The transforms of features that are on. */
  readonly transforms: { on: readonly CallTransformer[] } = { on: [] };

  constructor(all: readonly SessionFeature[]) {
    this.all = all;
    this.gates = new Gates(all.flatMap(({ gates = [] }) => gates));
    this.watchers = new Watchers([]);
    this.resultGate = all.find(({ resultGate }) => resultGate !== undefined)?.resultGate;
    this.runGate = all.find(({ runGate }) => runGate !== undefined)?.runGate;
    this.ownResults = all.find(({ ownResults }) => ownResults !== undefined)?.ownResults;
    this.guests = all.flatMap(({ guests = [] }) => guests);
    this.barrier = all.find(({ barrier }) => barrier !== undefined)?.barrier ?? noBarrier;
    this.ownTasks = all.find(({ ownTasks }) => ownTasks !== undefined)?.ownTasks;
    this.ownTools = ownToolsOf(all.flatMap(({ ownTools }) => ownTools ?? []));
    this.choose();
  }

  /** Calls that wait for people. */
  get waiting(): number {
    return this.all.reduce((sum, { waiting = 0 }) => sum + waiting, 0);
  }

  /** Puts the parts of active features into the lists. */
  choose(): void {
    const on = this.all.filter(({ isOn }) => isOn !== false);
    this.gates.set(on.flatMap(({ gates = [] }) => gates));
    this.transforms.on = on.flatMap(({ transforms = [] }) => transforms);
    this.watchers.all = on.flatMap(({ watchers = [] }) => watchers);
    this.access.on = on.find(({ access }) => access !== undefined)?.access;
    this.listFilter.on = on.find(({ listFilter }) => listFilter !== undefined)?.listFilter;
  }

  async start(parts: FeatureStart): Promise<void> {
    for (const feature of this.all) await feature.start?.(parts);
    this.choose();
  }

  apply(config: Config, compiled: Compiled): void {
    for (const feature of this.all) feature.apply?.(config, compiled);
    this.choose();
  }

  /** Whether a configuration changes what callers may see and do. */
  changesAccess(config: Config, policy: Policy | undefined): boolean {
    return this.all.some(
      (feature) => feature.access?.isOther(config, policy) === true || feature.changesLists?.(config) === true,
    );
  }

  hear(notice: ServerNotice): void {
    for (const feature of this.all) feature.hear?.(notice);
  }

  sessionEnded(key: SessionKey): void {
    for (const feature of this.all) feature.sessionEnded?.(key);
  }

  listsRead(record: CatalogRecord): void {
    for (const feature of this.all) feature.listsRead?.(record);
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map(async (feature) => feature.stop?.()));
  }
}
