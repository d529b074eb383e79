/** All adapters of one process, kept in step with the configuration. */
import { Heartbeat, subjects, type Bus } from '@omnibus/bus';
import { diffServers, enabledServers, type Config, type ServerConfig } from '@omnibus/config';
import { inTurn, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  newWorkerId,
  parseServerName,
  type BackendPresence,
  type CatalogRecord,
  type Limits,
  type RepairRow,
  type ServerName,
  type WorkerId,
} from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { Adapter } from './adapter.ts';
import { noIdentities, type FeatureMaker, type ProcessFeature, type ServerMeans } from './feature.ts';
import { SharedMeans } from './connection/shared-means.ts';
import { Inlet } from './call/inlet.ts';
import { SessionLeases } from './session-leases.ts';

export interface BackendOptions {
  readonly config: Config;
  readonly baseFolder: string;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly features: FeatureMaker;
}

/** The state of one server, other than its lists. */
export interface ServerLoad {
  readonly record: CatalogRecord;
  readonly running: number;
  readonly waiting: number;
  readonly connections: number;
  /** The last line on stderr of its program; of one that is down, the line that says why, as far as a line does. */
  readonly lastWords: string | undefined;
  /** Number of times that it sent something that is no message. */
  readonly strays: number;
  /** Repairs of its messages. */
  readonly repairs: readonly RepairRow[];
}

/** One configured server. */
interface Served {
  readonly adapter: Adapter;
  readonly inlet: Inlet;
}

export class Backend {
  readonly #options: BackendOptions;
  readonly #served = new Map<string, Served>();
  /** Adapters that finish the calls they have begun. */
  readonly #leavers = new Set<Promise<void>>();
  readonly #means: SharedMeans;
  readonly #limits: Limits;
  readonly #worker = newWorkerId('backend');
  readonly #heart: Heartbeat<Pick<BackendPresence, 'servers'>>;
  readonly #leases: SessionLeases;
  readonly #features: readonly ProcessFeature[];
  readonly #sleeping = new Set<string>();
  /** When servers are tried again for which something could not be opened. */
  readonly #retries = new Map<string, Deadline>();
  #isStopping = false;
  /** Called when a server falls asleep or wakes. */
  #slept: (server: string, isAsleep: boolean) => void = () => undefined;
  /** Servers that had adapters before the backend stopped. */
  #leaving: readonly ServerName[] = [];
  #config: Config;
  /** Configurations are applied one after the other. */
  readonly #next = inTurn();

  constructor(options: BackendOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#limits = options.config.limits;
    this.#means = new SharedMeans(this.#limits, options.metrics);
    this.#features = options.features.ofProcess({
      agents: this.#means.agents,
      adapterOf: (server) => this.#served.get(server)?.adapter,
      sessionWorkers: () => [...this.#leases.workers, ...this.#leases.vanished],
    });
    this.#heart = new Heartbeat<Pick<BackendPresence, 'servers'>>({
      bus: options.bus,
      clock: options.wheel,
      subject: subjects.backendPresence,
      sign: (isLeaving) => ({
        worker: this.#worker,
        servers: isLeaving ? this.#leaving : [...this.#served.keys()].map(parseServerName),
        isLeaving,
        reconnects: options.bus.reconnects,
      }),
      returned: () => {
        for (const { adapter } of this.#served.values()) void adapter.catalog.sayAgain();
      },
    });
    this.#leases = new SessionLeases({
      bus: options.bus,
      wheel: options.wheel,
      log: options.log,
      idleSessionMs: () => this.#config.timeouts.idleSession,
      kept: () => new Set([...this.#served.values()].flatMap(({ adapter }) => [...adapter.sessions])),
      forget: (session) => {
        for (const { adapter } of this.#served.values()) adapter.forgetSession(session);
      },
      // A session worker that starts waits for this sign: it can miss only a worker that it has heard of.
      joined: () => this.#heart.beat(),
    });
    options.metrics.beforeScrape(() => {
      for (const { adapter } of this.#served.values())
        options.metrics.upstream.load(adapter.catalog.record.server, adapter.load);
    });
  }

  /** Subscribes for every server and begins to connect. `settled()` waits for the outcome. */
  async start(): Promise<void> {
    for (const feature of this.#features) await feature.start?.(this.#worker);
    await Promise.all([...enabledServers(this.#config).keys()].map((name) => this.#add(name)));
    // In one process no session worker can be gone alone. It listens before its first sign: so of two workers that start together, the later one is heard.
    if (this.#options.bus.isShared) await this.#leases.start();
    await this.#heart.start();
  }

  /** Servers that are asleep. */
  get sleeping(): ReadonlySet<string> {
    return this.#sleeping;
  }

  /** @param slept called when a server falls asleep or wakes. */
  onSleep(slept: (server: string, isAsleep: boolean) => void): void {
    this.#slept = slept;
  }

  /** Resolves when every server is up or has failed its first attempt. */
  async settled(): Promise<void> {
    await Promise.all([...this.#served.values()].map(({ adapter }) => adapter.firstAttempt));
  }

  get records(): readonly CatalogRecord[] {
    return [...this.#served.values()].map(({ adapter }) => adapter.catalog.record);
  }

  /** The name of this worker in its signs of life. */
  get worker(): WorkerId {
    return this.#worker;
  }

  /** Session workers that are there, or were until a moment ago. */
  get sessionWorkers(): readonly WorkerId[] {
    return this.#leases.workers;
  }

  /** The load of each server, for administrators. */
  get loads(): readonly ServerLoad[] {
    return [...this.#served.values()].map(({ adapter }) => {
      const { record } = adapter.catalog;
      const { lastWords: last, reason, strays } = this.#means.diaryOf(record.server);
      const repairs = this.#means.repairsOf(record.server).rows;
      const lastWords = record.status === 'up' ? last : reason;
      return { record, ...adapter.load, lastWords, strays, repairs };
    });
  }

  /** The last events of a server's connections; undefined when it is not served here. */
  diaryOf(name: string): Pick<ReturnType<SharedMeans['diaryOf']>, 'lines' | 'written'> | undefined {
    return this.#served.has(name) ? this.#means.diaryOf(name) : undefined;
  }

  /** Number of users so far that must sign in before a server shows them its lists. */
  waitingFor(server: ServerName): number {
    return this.#served.get(server)?.adapter.catalog.waiting ?? 0;
  }

  /** Applies a changed configuration; servers that did not change are not touched. Resolves when it is in force; calls that previous adapters have begun go on. */
  apply(config: Config): Promise<void> {
    return this.#next(() => this.#apply(config)).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a changed configuration could not be applied');
    });
  }

  /** Reconnects to one server; its running calls end on the previous connection. @returns false when the server is not served here. */
  async restart(name: string): Promise<boolean> {
    const restarting = this.#next(async () => {
      if (this.#isStopping || !this.#served.has(name)) return false;
      await this.#add(name);
      return true;
    });
    restarting.catch((error: unknown) =>
      this.#options.log.error({ err: error, server: name }, 'a server could not be connected to again'),
    );
    return restarting;
  }

  async #apply(config: Config): Promise<void> {
    const { added, removed, changed } = diffServers(this.#config, config);
    this.#config = config;
    await Promise.all(removed.map((name) => this.#remove(name)));
    await Promise.all([...added, ...changed].map((name) => this.#add(name)));
  }

  /** Stops all parts, even if one of them fails. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#next(() => Promise.resolve());
    for (const retry of this.#retries.values()) retry.cancel();
    const served = [...this.#served];
    await Promise.all(
      served.map(([, { adapter, inlet }]) =>
        this.#stopping(async () => {
          await adapter.catalog.leave();
          await inlet.drain();
          await adapter.stop(this.#config.timeouts.drain);
          inlet.leave(adapter);
        }),
      ),
    );
    for (const feature of this.#features) await this.#stopping(() => feature.stop());
    await Promise.all(this.#leavers);
    this.#leaving = served.map(([name]) => parseServerName(name));
    this.#served.clear();
    this.#leases.stop();
    this.#heart.stop();
    await this.#means.close();
  }

  async #stopping(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.error({ err: error }, 'a part of the backend could not be stopped');
    }
  }

  /** Connects to a server, or continues with it under a changed configuration. */
  async #add(name: string): Promise<void> {
    const configured = enabledServers(this.#config).get(name);
    if (configured === undefined) return;
    this.#retries.get(name)?.cancel();
    this.#retries.delete(name);
    const { bus, wheel, metrics, baseFolder, log, features } = this.#options;
    const server = parseServerName(name);
    const before = this.#served.get(name);
    const { config, means } = await this.#prepare(server, configured);
    const { identities = noIdentities, feature, filter, shape, transports } = means;
    const repairs = config.validation === 'enforce' ? undefined : this.#means.repairsOf(server);
    const adapter = new Adapter({
      server,
      worker: this.#worker,
      config,
      baseFolder,
      limits: this.#limits,
      budget: this.#means.budget,
      reading: this.#means.reading,
      dispatcher: this.#means.dispatcherOf(server, config, baseFolder),
      bus,
      wheel,
      metrics,
      features: (parts) => features.ofServer({ added: feature === undefined ? [] : [feature(parts)], repairs }, parts),
      log: log.child({ server }),
      filter,
      shape,
      transports,
      identities,
      isWaitedFor: bus.isShared ? (call) => this.#leases.isWaitedFor(call) : undefined,
      diary: this.#means.diaryOf(name),
      repairs,
      // Its earlier record is dropped, since its permitted callers are unknown.
      ...(before === undefined || config !== configured ? {} : { before: before.adapter }),
      slept: (isAsleep) => this.#noteSleep(name, adapter, isAsleep),
    });
    this.#sleeping.delete(name);
    const inlet = before?.inlet ?? new Inlet();
    this.#served.set(name, { adapter, inlet });
    await adapter.start();
    inlet.turnTo(adapter);
    if (before === undefined) await inlet.open(bus, server, this.#worker);
    else {
      before.adapter.catalog.retire();
      this.#letLeave(before.adapter.stop(this.#config.timeouts.drain).then(() => inlet.leave(before.adapter)));
    }
    // Sessions send their subscriptions and levels again: the previous adapter took them with it, also that of a server that was removed and is back.
    bus.publish(subjects.notices, { kind: 'adapter-changed', server });
  }

  /** Opens what features keep for a server. While that cannot be opened, this server is not connected to, and the others are not affected. */
  async #prepare(
    server: ServerName,
    config: ServerConfig,
  ): Promise<{ readonly config: ServerConfig; readonly means: ServerMeans }> {
    const { log, wheel } = this.#options;
    try {
      const means: ServerMeans = {};
      for (const feature of this.#features) Object.assign(means, await feature.of?.(server, config));
      return { config, means };
    } catch (error) {
      const problem = `what it takes to call the server could not be opened: ${error instanceof Error ? error.message : String(error)}`;
      log.error({ err: error, server }, 'a server is not connected to, because what it takes could not be opened');
      this.#retries.set(
        server,
        wheel.schedule(config.restart.maxDelay, () => {
          if (!this.#isStopping) void this.restart(server).catch(() => undefined); // The failure was logged.
        }),
      );
      return { config: { ...config, problem }, means: {} };
    }
  }

  async #remove(name: string): Promise<void> {
    this.#retries.get(name)?.cancel();
    this.#retries.delete(name);
    const served = this.#served.get(name);
    if (served === undefined) return;
    this.#served.delete(name);
    this.#sleeping.delete(name);
    for (const feature of this.#features) feature.forget?.(parseServerName(name));
    this.#means.forget(parseServerName(name));
    await served.inlet.drain();
    await served.adapter.catalog.remove();
    this.#letLeave(
      served.adapter.stop(this.#config.timeouts.drain).then(() => {
        served.inlet.leave(served.adapter);
        if (!this.#served.has(name)) this.#options.metrics.upstream.forget(parseServerName(name));
      }),
    );
  }

  #noteSleep(name: string, adapter: Adapter, isAsleep: boolean): void {
    if (this.#served.get(name)?.adapter !== adapter) return;
    this.#sleeping[isAsleep ? 'add' : 'delete'](name);
    this.#slept(name, isAsleep);
  }

  #letLeave(work: Promise<void>): void {
    const left = work
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'the adapter of a server could not be stopped');
      })
      .finally(() => this.#leavers.delete(left));
    this.#leavers.add(left);
  }
}
