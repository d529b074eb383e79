/** Applies changes of the configuration file, and of the servers found in Kubernetes, to a running gateway. */
import {
  formatProblem,
  restartOptions,
  watchConfigFile,
  type Config,
  type ConfigProblem,
  type LoadedConfig,
  type Role,
  type SecretReader,
} from '@omnibus/config';
import type { Reloaded } from '@omnibus/admin';
import type { ConfigHistory } from '@omnibus/admin/history';
import type { Discovered, KubernetesDiscovery, KubernetesDiscoveryOptions } from '@omnibus/kubernetes';
import { accessProblems } from '@omnibus/setup/rules';
import type { createLogger } from '@omnibus/telemetry';
import { applyOverrides, readingOf, type Environment, type Overrides } from '../commands/settings.ts';
import { nameChanges } from '../findings/name-changes.ts';
import type { Gateway, Membership } from '../gateway.ts';
import { digestOfAll, startsOf, type Start } from '../starts/starts.ts';
import { workersProblem } from '../workers/fit.ts';

interface FollowOptions {
  readonly file: string;
  readonly secrets: SecretReader;
  readonly env: Environment;
  readonly started: Config;
  /** What its servers start on this machine. */
  readonly starts: readonly Start[];
  readonly overrides: Overrides & {
    readonly role: Role;
    /** The digest of all that may be started. */
    readonly consent?: string;
    /** Set in a gateway with several workers on one machine. */
    readonly member?: Membership;
  };
  readonly gateway: Gateway;
  readonly log: ReturnType<typeof createLogger>;
  readonly history: ConfigHistory;
}

export class FollowedConfig {
  readonly #options: FollowOptions;
  /** The configuration of the file that is in use. */
  #current: Config;
  #starts: readonly Start[];
  #discovered: Discovered = { mcpServers: {}, profiles: {} };
  /** The configuration in use, with discovered servers. */
  #serving: Config;
  /** The change that is being applied; the next one waits for it. */
  #applying: Promise<void> = Promise.resolve();
  /** Why the configuration that was read last is not in use; empty if it is. */
  #refused: readonly string[] = [];
  /** Options that differ from those at the start of the process, and take effect with the next start only. */
  #later: readonly string[] = [];
  #watcher: Awaited<ReturnType<typeof watchConfigFile>> | undefined;
  #discovery: KubernetesDiscovery | undefined;

  private constructor(options: FollowOptions) {
    this.#options = options;
    this.#current = options.started;
    this.#serving = options.started;
    this.#starts = options.starts;
  }

  static async open(options: FollowOptions): Promise<FollowedConfig> {
    const { file, secrets, env, started, overrides, log } = options;
    const followed = new FollowedConfig(options);
    if (started.discovery.kubernetes.enabled && overrides.role !== 'edge') await followed.#discover();
    followed.#watcher = await watchConfigFile(
      file,
      {
        rejected: (problems) => followed.#refuse(problems.map(formatProblem)),
        unfollowed: (problem) =>
          log.error({ problem }, 'changes of the configuration are not noticed; "omnibus reload" applies them'),
        changed: (read, loaded) => followed.#changed(read, loaded),
      },
      { ...readingOf(overrides.role), secrets, env },
    );
    return followed;
  }

  /** Reads the file again, and resolves when its configuration is in use. */
  async reload(): Promise<Reloaded> {
    const problems = ((await this.#watcher?.reload()) ?? []).map(formatProblem);
    await this.#applying;
    return { problems: problems.length > 0 ? problems : this.#refused, later: this.#later };
  }

  async close(): Promise<void> {
    await this.#watcher?.close();
    await this.#discovery?.stop();
  }

  async #discover(): Promise<void> {
    const { started, gateway, log, history } = this.#options;
    this.#discovery = await startDiscovery({
      settings: started.discovery.kubernetes,
      isTaken: (name) => Object.hasOwn(this.#current.mcpServers, name) || Object.hasOwn(this.#current.profiles, name),
      changed: (found) => {
        const [servers, profiles] = [Object.keys(found.mcpServers), Object.keys(found.profiles)];
        this.#discovered = found;
        history.discovered([...servers, ...profiles]);
        log.info({ servers, ...(profiles.length === 0 ? {} : { profiles }) }, 'servers were discovered');
        this.#next(() => this.#apply());
      },
      servers: gateway.servers,
      wheel: gateway.wheel,
      log,
    });
  }

  #changed(read: Config, loaded: LoadedConfig): void {
    const { overrides, env, log } = this.#options;
    logFindings(loaded, log);
    if (overrides.role === 'all' || overrides.role === 'backend') {
      const now = startsOf({ config: read, given: loaded.given });
      if (overrides.consent !== undefined && digestOfAll(now) !== overrides.consent) {
        this.#refuseInTurn(['it would start something else than --consent allows; "omnibus check" shows what']);
        return;
      }
      logStarts(this.#starts, now, log);
      this.#starts = now;
    }
    const applied = applyOverrides(read, overrides, env);
    if ('problems' in applied) this.#refuseInTurn(applied.problems);
    else this.#next(() => this.#take(applied.config, loaded));
  }

  /** Changes one after the other. */
  #next(work: () => Promise<void>): void {
    const { log, history } = this.#options;
    this.#applying = this.#applying.then(work).catch((error: unknown) => {
      log.error({ err: error }, 'the changed configuration could not be applied');
      this.#refused = [(error as Error).message];
      history.rejected(this.#refused);
    });
  }

  async #take(config: Config, loaded: LoadedConfig): Promise<void> {
    const { started, overrides, log, history } = this.#options;
    const ofWorkers = overrides.member === undefined ? undefined : workersProblem(config);
    this.#refused = [
      ...(ofWorkers === undefined ? [] : [ofWorkers]),
      ...(await accessProblems(config, loaded.problemAt)),
      ...(await problemsOfVault(config)),
    ];
    if (this.#refused.length > 0) {
      this.#refuse(this.#refused, { ...loaded, config });
      return;
    }
    const before = this.#current;
    const waiting = restartOptions(started, config);
    const ignored = restartOptions(before, config).filter((option) => waiting.includes(option));
    this.#current = config;
    if (ignored.length > 0) log.warn({ options: ignored }, 'these options take effect with the next start');
    try {
      await this.#apply();
    } catch (error) {
      this.#current = before;
      await this.#apply(); // All of it or none: parts that are applied already go back.
      throw error;
    }
    this.#later = waiting;
    history.applied(before, { ...loaded, config }, waiting);
  }

  async #apply(): Promise<void> {
    const { gateway, log } = this.#options;
    // Servers of the configuration come before discovered ones, and keep that order in lists.
    const all = {
      ...this.#current,
      mcpServers: { ...this.#current.mcpServers, ...this.#discovered.mcpServers },
      profiles: { ...this.#current.profiles, ...this.#discovered.profiles },
    };
    await gateway.apply(all);
    log.info('the changed configuration is applied');
    const changes = nameChanges(this.#serving, all);
    this.#serving = all;
    if (changes !== undefined) log.warn(changes);
    gateway.audit?.record({
      name: 'config.reloaded',
      weight: 'always',
      outcome: 'ok',
      more: { servers: Object.keys(all.mcpServers) },
    });
  }

  #refuse(problems: readonly string[], loaded?: LoadedConfig): void {
    const { gateway, log, history } = this.#options;
    log.error({ problems }, 'the changed configuration is not applied');
    history.rejected(problems, loaded === undefined ? undefined : { before: this.#current, loaded });
    gateway.audit?.record({
      name: 'config.reloaded',
      weight: 'always',
      outcome: 'fault',
      more: { problems: problems.length },
    });
  }

  #refuseInTurn(problems: readonly string[]): void {
    this.#next(() => {
      this.#refused = problems;
      this.#refuse(problems);
      return Promise.resolve();
    });
  }
}

/** Logs findings in the configuration that do not prevent the start. */
export function logFindings(
  { faults, notes }: { readonly faults: readonly ConfigProblem[]; readonly notes: readonly ConfigProblem[] },
  log: FollowOptions['log'],
): void {
  for (const fault of faults)
    log.warn({ problem: formatProblem(fault) }, 'a server of the configuration cannot be connected to');
  for (const note of notes)
    log.info({ note: formatProblem(note) }, 'an option of the configuration may not do what was meant');
}

/** Logs which servers start something else now than before, by a change of the file. */
function logStarts(before: readonly Start[], now: readonly Start[], log: FollowOptions['log']): void {
  const known = new Set(before.map(({ server, digest }) => `${server} ${digest}`));
  const changed = now.filter(({ server, digest }) => !known.has(`${server} ${digest}`));
  if (changed.length > 0)
    log.warn(
      { servers: changed.map(({ server }) => server), risks: changed.flatMap(({ risks }) => risks) },
      'the changed configuration has servers start other programs',
    );
}

async function problemsOfVault(config: Config): Promise<readonly string[]> {
  return config.vault === undefined || config.vault.keys.length === 0
    ? []
    : (await import('@omnibus/setup/vault')).vaultProblems(config);
}

async function startDiscovery(options: KubernetesDiscoveryOptions): Promise<KubernetesDiscovery | undefined> {
  try {
    const { KubernetesDiscovery: Discovery } = await import('@omnibus/kubernetes');
    return await Discovery.start(options);
  } catch (error) {
    options.log.error({ err: error }, 'servers in Kubernetes are not looked for');
    return undefined;
  }
}
