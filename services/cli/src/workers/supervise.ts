/**
 * The supervisor of `omnibus serve --workers`: the process that the user starts. It has the admin port and the hub of the bus, and starts the workers,
 * which serve clients at one address.
 */
import { randomBytes } from 'node:crypto';
import { LocalHub } from '@omnibus/bus';
import { boundYoungGeneration, stopOnSignal, surviveFaults } from '@omnibus/lifecycle';
import type { CatalogRecord } from '@omnibus/protocol';
import { mergedMetrics } from '@omnibus/telemetry';
import type { Reloaded } from '@omnibus/admin';
import { fail } from '../commands/settings.ts';
import type { Gateway, GatewayOptions, Membership } from '../gateway.ts';
import { hideEnvironment } from '../serving/hide-environment.ts';
import type { ServeOptions } from '../serving/serve-options.ts';
import { ServedGateway } from '../serving/served-gateway.ts';
import { Fleet } from './fleet.ts';

/** Milliseconds that the supervisor stops later than its workers may. */
const slackMs = 10_000;

/** Serves until a signal ends the process. SIGHUP replaces the workers, one after the other. */
export async function supervise(options: ServeOptions & { readonly workers: number }): Promise<void> {
  if (options.role !== 'all') return fail(['--workers: each worker has all roles; leave out --role']);
  const supervisor = new Supervisor(options);
  const served = await ServedGateway.prepare(
    { ...options, role: 'supervisor', member: supervisor.member, start: (given) => supervisor.start(given) },
    {
      env: process.env,
      print: (text) => void process.stdout.write(`${text}\n`),
      showPage: () => false,
    },
  );
  if (!(served instanceof ServedGateway)) return fail(served.problems);
  boundYoungGeneration();
  const { log } = served;
  hideEnvironment();
  stopOnSignal({
    limitMs: served.stopMs + slackMs,
    onForced: (reason) => log.error({ reason }, 'stopped by force'),
    stop(signal) {
      log.info({ signal }, 'stopping');
      return served.stop();
    },
  });
  process.on('SIGHUP', () => void supervisor.fleet?.replace());
  const gateway = await served.start().catch((error: unknown) => {
    process.stderr.write(`omnibus: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
  surviveFaults((kind, error) => gateway.faults.bug(kind, 'an error was caught nowhere else', error));
  await served.follow(gateway);
}

class Supervisor {
  readonly #options: ServeOptions & { readonly workers: number };
  #hub: LocalHub | undefined;
  fleet: Fleet | undefined;

  constructor(options: ServeOptions & { readonly workers: number }) {
    this.#options = options;
  }

  readonly member: Membership = {
    openBus: (onFault) => {
      this.#hub = new LocalHub(onFault);
      return this.#hub.connect({ onFault });
    },
    hasProgramOf: () => false,
    leaveMs: () => 0,
    notReady: () => this.fleet?.notReady() ?? [],
    metrics: async (own) => mergedMetrics(await own.snapshot(), await this.#metricsOfWorkers()),
    records: () => this.#recordsOfWorkers(),
  };

  /** Starts the admin port and the hub, and then the workers. */
  async start(given: GatewayOptions): Promise<Gateway> {
    const { start, workers } = this.#options;
    const { reload, sealingKeys, log } = given;
    const gateway = await start({
      ...given,
      reload: async () => joined([await reload?.(), ...(await this.#reloadWorkers())]),
    });
    const fleet = new Fleet({
      slots: workers,
      hub: this.#hub as LocalHub,
      sealingKeys: (sealingKeys ?? [randomBytes(32)]).map((key) => Buffer.from(key).toString('base64')).join(','),
      log,
      restarting: () => gateway.metrics.workers.restarts.inc(),
    });
    this.fleet = fleet;
    const stop = async (): Promise<void> => {
      await fleet.stop();
      await gateway.stop();
      await this.#hub?.close();
    };
    const endpoint = await fleet.start().catch(async (error: unknown) => {
      await stop();
      throw error;
    });
    return {
      ...gateway,
      endpoint,
      settled: () => fleet.settled(),
      stop,
    };
  }

  async #reloadWorkers(): Promise<readonly Reloaded[]> {
    return ((await this.fleet?.ask('reload')) ?? []).map(({ answer }) => answer);
  }

  /** One record for each server: that of a worker that reaches it, if one does. */
  async #recordsOfWorkers(): Promise<readonly CatalogRecord[]> {
    const records = new Map<string, CatalogRecord>();
    for (const { answer } of (await this.fleet?.ask('records')) ?? [])
      for (const record of answer) if (records.get(record.server)?.status !== 'up') records.set(record.server, record);
    return [...records.values()];
  }

  async #metricsOfWorkers(): Promise<Parameters<typeof mergedMetrics>[1]> {
    return ((await this.fleet?.ask('metrics')) ?? []).map(({ slot, answer }) => ({
      worker: String(slot),
      metrics: answer,
    }));
  }
}

/** Each process reads the same file, so most problems are those of all. */
function joined(all: readonly (Reloaded | undefined)[]): Reloaded {
  const of = (what: keyof Reloaded): readonly string[] => [...new Set(all.flatMap((each) => each?.[what] ?? []))];
  return { problems: of('problems'), later: of('later') };
}
