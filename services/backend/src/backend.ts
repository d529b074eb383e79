/** All adapters of one process, kept in step with the configuration. */
import { Agent } from 'undici';
import { Heart, subjects, type Bus } from '@omnibus/bus';
import { diffServers, enabledServers, type Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { newWorkerId, parseServerName, type BackendPresence, type CatalogRecord, type Limits, type ServerName } from '@omnibus/protocol';
import type { Logger, Metrics, Tracing } from '@omnibus/telemetry';
import { Adapter } from './adapter.ts';

export interface BackendOptions {
  readonly config: Config;
  readonly baseFolder: string;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
}

const connectTimeoutMs = 10_000;

export class Backend {
  readonly #options: BackendOptions;
  readonly #adapters = new Map<string, Adapter>();
  readonly #limits: Limits;
  /** Time limits are each call's own, so the wire has none but for connecting. */
  readonly #dispatcher = new Agent({ bodyTimeout: 0, headersTimeout: 0, connect: { timeout: connectTimeoutMs } });
  readonly #worker = newWorkerId('backend');
  readonly #heart: Heart<BackendPresence>;
  /** Servers it had adapters of before it stopped. */
  #leaving: readonly ServerName[] = [];
  #config: Config;

  constructor(options: BackendOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#limits = options.config.limits;
    this.#heart = new Heart<BackendPresence>({
      bus: options.bus,
      clock: options.wheel,
      subject: subjects.backendPresence,
      sign: (isLeaving) => ({ worker: this.#worker, servers: isLeaving ? this.#leaving : [...this.#adapters.keys()].map(parseServerName), isLeaving, reconnects: options.bus.reconnects }),
    });
    options.metrics.beforeScrape(() => {
      for (const adapter of this.#adapters.values()) adapter.reportLoad();
    });
  }

  /** Subscribes for every server and begins to connect. `settled()` waits for the outcome. */
  async start(): Promise<void> {
    await Promise.all([...enabledServers(this.#config).keys()].map((name) => this.#add(name)));
    await this.#heart.start();
  }

  /** Resolves when every server is up or has failed its first attempt. */
  async settled(): Promise<void> {
    await Promise.all([...this.#adapters.values()].map(({ firstAttempt }) => firstAttempt));
  }

  get records(): readonly CatalogRecord[] {
    return [...this.#adapters.values()].map(({ record }) => record);
  }

  /** Applies a changed configuration; servers that did not change are not touched. */
  async apply(config: Config): Promise<void> {
    const { added, removed, changed } = diffServers(this.#config, config);
    this.#config = config;
    await Promise.all([...removed, ...changed].map((name) => this.#remove(name, removed.includes(name))));
    await Promise.all([...added, ...changed].map((name) => this.#add(name)));
  }

  async stop(): Promise<void> {
    const names = [...this.#adapters.keys()];
    await Promise.all(names.map((name) => this.#remove(name, false)));
    this.#leaving = names.map(parseServerName);
    this.#heart.stop();
    await this.#dispatcher.destroy();
  }

  async #add(name: string): Promise<void> {
    const config = enabledServers(this.#config).get(name);
    if (config === undefined) return;
    const { bus, wheel, metrics, tracing, baseFolder, log } = this.#options;
    const server = parseServerName(name);
    const adapter = new Adapter({ server, worker: this.#worker, config, baseFolder, limits: this.#limits, dispatcher: this.#dispatcher, bus, wheel, metrics, tracing, log: log.child({ server }) });
    this.#adapters.set(name, adapter);
    await adapter.start();
  }

  async #remove(name: string, isRemoved: boolean): Promise<void> {
    const adapter = this.#adapters.get(name);
    this.#adapters.delete(name);
    await adapter?.stop(this.#config.timeouts.drain, isRemoved);
  }
}
