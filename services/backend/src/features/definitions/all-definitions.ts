/** Definitions of all servers of one process: the approved ones, and those that wait for an approval. */
import type { Bus } from '@omnibus/bus';
import { definitionDigest, type Deviation } from '@omnibus/catalog';
import type { ServerConfig } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { ProcessFeature, ServerMeans } from '../../feature.ts';
import { openApprovedStore, type ApprovedStore } from './approved-store.ts';
import { Definitions, type DefinitionsOptions } from './definitions.ts';

export interface AllDefinitionsOptions {
  readonly bus: Bus;
  /** The store of approved definitions of one process. */
  readonly file: string;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly definitionChanged?: DefinitionsOptions['definitionChanged'];
}

/** What `omnibus definitions` shows of one server. */
export interface ServerDefinitions {
  readonly server: string;
  readonly mode: 'pin' | 'warn';
  readonly problem: string | undefined;
  readonly deviations: readonly Deviation[];
}

export class AllDefinitions implements ProcessFeature {
  readonly #options: AllDefinitionsOptions;
  readonly #byServer = new Map<string, Definitions>();
  #store: Promise<ApprovedStore> | undefined;

  constructor(options: AllDefinitionsOptions) {
    this.#options = options;
  }

  /**
   * @throws {Error} where it cannot be known what was approved.
   */
  async of(server: ServerName, { definitions: mode, url, command, args }: ServerConfig): Promise<ServerMeans> {
    this.#byServer.delete(server);
    if (mode === 'off') return {};
    const { wheel, log, metrics, definitionChanged } = this.#options;
    const address = url === undefined ? undefined : new URL(url);
    const reached = definitionDigest(
      address === undefined ? [command, ...args] : [`${address.origin}${address.pathname}`],
    );
    const found = new Definitions({
      server,
      mode,
      reached,
      store: await this.#opened(),
      wheel,
      log: log.child({ server }),
      metrics,
      definitionChanged,
    });
    this.#byServer.set(server, found);
    return { filter: found };
  }

  forget(server: string): void {
    this.#byServer.delete(server);
  }

  get shown(): readonly ServerDefinitions[] {
    return [...this.#byServer]
      .map(([server, { mode, problem, deviations }]) => ({ server, mode, problem, deviations }))
      .toSorted((one, other) => (one.server < other.server ? -1 : 1));
  }

  /** @throws {Error} in words for the operator. */
  async approve(server: string, digests: ReadonlySet<string>): Promise<void> {
    const found = this.#byServer.get(server);
    if (found === undefined)
      throw new Error(
        `there is no server ${JSON.stringify(server)} with \`definitions: pin\` or \`warn\` in this process`,
      );
    await found.approve(digests);
  }

  async stop(): Promise<void> {
    // The caller of a failed opening has got its error.
    (await this.#store?.catch(() => undefined))?.stop();
  }

  /** Opened when the first server asks for it. A waiting caller gets a failure; the next one tries again. */
  #opened(): Promise<ApprovedStore> {
    const opening = (this.#store ??= openApprovedStore(this.#options.bus, this.#options.file).then(async (store) => {
      await store.watch((server, kept) => this.#byServer.get(server)?.heard(kept));
      return store;
    }));
    opening.catch(() => {
      if (this.#store === opening) this.#store = undefined;
    });
    return opening;
  }
}
