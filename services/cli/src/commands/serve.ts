import { setTimeout as delay } from 'node:timers/promises';
import {
  formatProblem,
  restartOptions,
  watchConfigFile,
  type Config,
  type ConfigProblem,
  type LoadedConfig,
  type SecretReader,
  type Role,
} from '@omnibus/config';
import { growYoungGenerationFaster, stopOnSignal, surviveFaults } from '@omnibus/lifecycle';
import { createLogger } from '@omnibus/telemetry';
import { accessProblems, accessWarnings } from '@omnibus/setup/rules';
import { identityWarnings } from '@omnibus/setup/warnings';
import { findSealingKeys } from '@omnibus/setup/sealing-key';
import { busProblem } from '@omnibus/setup/bus';
import type { Reloaded } from '@omnibus/admin';
import { ConfigHistory } from '@omnibus/admin/history';
import { banner, isConnecting, laterLines } from '../serving/banner.ts';
import { exposureProblem, exposureWarning } from '../findings/exposure.ts';
import { makeFirstKey } from '../serving/first-key.ts';
import { sharingWarning } from '../findings/sharing.ts';
import type { Discovered, KubernetesDiscovery, KubernetesDiscoveryOptions } from '@omnibus/kubernetes';
import type { Gateway, Starting } from '../gateway.ts';
import { showingPages } from '../desktop/page-shower.ts';
import { opensPages } from '../desktop/browser.ts';
import { nameChanges } from '../findings/name-changes.ts';
import { hideEnvironment } from '../serving/hide-environment.ts';
import { FollowedSecrets } from '../secrets/followed.ts';
import type { SealingKeys } from '@omnibus/identity';
import { changedSince, consentProblem } from '../starts/consent.ts';
import { digestOfAll, startsOf, type Start } from '../starts/starts.ts';
import { applyOverrides, fail, findSettings, keysFileOf, overridesIn, readingOf, type Overrides } from './settings.ts';

export interface ServeOptions extends Overrides, Starting {
  readonly config?: string;
  readonly role: Role;
  /** Agrees to what servers start, without asking. */
  readonly yes?: boolean;
  /** The digest of all that may be started. */
  readonly consent?: string;
  /** False with `--no-input`. */
  readonly input?: boolean;
  /** Whether pages of sign-ins are opened in a browser; undefined: where one is seen. */
  readonly browser?: boolean;
}

/** Milliseconds beyond `timeouts.drain` that child processes have to end in order. */
const stopSlackMs = 10_000;
/** Milliseconds that servers have to connect before the banner is printed. */
const bannerMs = 3_000;

export async function serve(options: ServeOptions): Promise<void> {
  growYoungGenerationFaster();
  const followed = new FollowedSecrets();
  const settings = await findSettings(options.config, options, followed);
  if (settings === undefined) return;
  const { config, file, baseFolder } = settings;
  if (options.role !== 'all' && config.bus === 'memory') {
    fail([`--role ${options.role} needs a bus between processes: give --bus nats://host:port`]);
    return;
  }
  const rules = await accessProblems(config, settings.problemAt);
  if (rules.length > 0) {
    fail(rules);
    return;
  }
  const problemOfBus = await busProblem(config, baseFolder);
  if (problemOfBus !== undefined) {
    fail([problemOfBus]);
    return;
  }
  const isReached = options.role === 'all' || options.role === 'edge';
  const exposure = isReached ? exposureProblem(config) : undefined;
  if (exposure !== undefined) {
    fail([exposure]);
    return;
  }
  // Only a process with backends starts programs.
  const startsPrograms = options.role === 'all' || options.role === 'backend';
  const starts = startsPrograms ? startsOf(settings) : [];
  const refused = startsPrograms
    ? await consentProblem({
        file,
        starts,
        isOfClient: settings.client !== undefined,
        yes: options.yes,
        digest: options.consent,
        input: options.input,
      })
    : undefined;
  if (refused !== undefined) {
    fail([refused]);
    return;
  }
  let sealingKeys: SealingKeys | undefined;
  try {
    if (isReached) showFirstKey(config);
    sealingKeys = findSealingKeys(options.role, { config, baseFolder, env: process.env });
  } catch (error) {
    fail([(error as Error).message]);
    return;
  }
  const log = createLogger(config.log);
  followed.warnWith((problem) => log.warn({ problem }, 'the secret store'));
  const problem = hideEnvironment();
  if (problem !== undefined)
    log.warn({ problem }, 'servers that run as this user can read the environment this process was started with');
  const history = new ConfigHistory(file, settings, overridesIn(options));
  let gateway: Gateway | undefined;
  let watcher: Followed | undefined;
  stopOnSignal({
    limitMs: config.timeouts.leave + config.timeouts.drain + stopSlackMs,
    onForced: (reason) => log.error({ reason }, 'stopped by force'),
    async stop(signal) {
      log.info({ signal }, 'stopping');
      await watcher?.close();
      await followed.close();
      // A gateway that still waits for its bus has nothing to finish.
      await gateway?.stop();
      log.info('stopped');
    },
  });
  try {
    gateway = await options.start({
      config,
      baseFolder,
      role: options.role,
      isServing: true,
      log,
      sealingKeys,
      history,
      showPage: showingPages(opensPages(options.browser), (text) => void process.stderr.write(`omnibus: ${text}\n`)),
      reload: async () =>
        watcher === undefined ? { problems: ['the process is starting'], later: [] } : watcher.reload(),
    });
  } catch (error) {
    process.stderr.write(`omnibus: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
  const { faults } = gateway;
  surviveFaults((kind, error) => faults.bug(kind, 'an error was caught nowhere else', error));
  watcher = await followConfig({
    file,
    secrets: followed,
    started: config,
    starts,
    overrides: options,
    gateway,
    log,
    history,
  });
  const running = watcher;
  followed.follow(() => running.reload());
  if (gateway.endpoint === undefined) log.info({ part: options.role, admin: gateway.adminAddress }, 'serving');
  else log.info({ endpoint: gateway.endpoint, admin: gateway.adminAddress }, 'listening');
  sayFindings(settings, log);
  const unseen = changedSince(file, starts);
  if (unseen.length > 0)
    log.warn(
      { servers: unseen.map(({ server }) => server) },
      'these servers start something else than what somebody agreed to last; "omnibus check" shows it',
    );
  const warnings = [
    isReached ? exposureWarning(config) : undefined,
    sharingWarning(config),
    ...accessWarnings(config),
    ...identityWarnings(config).map(({ path, message }) => `${path.join('.')}: ${message}`),
  ].filter((warning) => warning !== undefined);
  for (const warning of warnings) log.warn(warning);
  const settled = gateway.settled().then(() => log.info({ part: options.role }, 'ready'));
  if (gateway.endpoint !== undefined && options.role === 'all') await showBanner(gateway, config, settled, warnings);
  await settled;
}

/** Prints the banner once all servers are settled, or after `bannerMs`; servers that were still connecting get a line of their own later. */
async function showBanner(
  gateway: Gateway,
  config: Config,
  settled: Promise<void>,
  warnings: readonly string[],
): Promise<void> {
  await Promise.race([settled, delay(bannerMs, undefined, { ref: false })]);
  const records = gateway.records();
  const late = new Set(records.filter(isConnecting).map(({ server }) => server));
  process.stdout.write(
    `${banner({ endpoint: gateway.endpoint ?? '', config, consoleUrl: gateway.consoleUrl, records, warnings })}\n`,
  );
  if (late.size === 0) return;
  await settled;
  process.stdout.write(`${laterLines(gateway.records(), late)}\n`);
}

async function problemsOfVault(config: Config): Promise<readonly string[]> {
  return config.vault === undefined || config.vault.keys.length === 0
    ? []
    : (await import('@omnibus/setup/vault')).vaultProblems(config);
}

/** Logs findings in the configuration that do not prevent the start. */
function sayFindings(
  { faults, notes }: { readonly faults: readonly ConfigProblem[]; readonly notes: readonly ConfigProblem[] },
  log: ReturnType<typeof createLogger>,
): void {
  for (const fault of faults)
    log.warn({ problem: formatProblem(fault) }, 'a server of the configuration cannot be connected to');
  for (const note of notes)
    log.info({ note: formatProblem(note) }, 'an option of the configuration may not do what was meant');
}

/** Logs which servers start something else now than before, by a change of the file. @returns what they start now. */
function sayStarts(
  before: readonly Start[],
  now: readonly Start[],
  log: ReturnType<typeof createLogger>,
): readonly Start[] {
  const known = new Set(before.map(({ server, digest }) => `${server} ${digest}`));
  const changed = now.filter(({ server, digest }) => !known.has(`${server} ${digest}`));
  if (changed.length > 0)
    log.warn(
      { servers: changed.map(({ server }) => server), risks: changed.flatMap(({ risks }) => risks) },
      'the changed configuration has servers start other programs',
    );
  return now;
}

/** Makes and prints a first API key where the environment names the file of keys, as that of the container image does, and the file has none yet. */
function showFirstKey({ auth }: Config): void {
  const file = keysFileOf(process.env);
  if (file === undefined || auth === undefined || auth === 'none' || auth.keys?.file !== file) return;
  const key = makeFirstKey(file);
  if (key !== undefined)
    process.stdout.write(
      `omnibus: the first API key was made, and is shown only now; clients send it as "Authorization: Bearer ...":\n${key}\n`,
    );
}

interface Followed {
  /** Reads the file again, and resolves when its configuration is in use. */
  reload(): Promise<Reloaded>;
  close(): Promise<void>;
}

interface FollowOptions {
  readonly file: string;
  readonly secrets: SecretReader;
  readonly started: Config;
  /** What its servers start on this machine. */
  readonly starts: readonly Start[];
  readonly overrides: ServeOptions;
  readonly gateway: Gateway;
  readonly log: ReturnType<typeof createLogger>;
  readonly history: ConfigHistory;
}

/** Applies changes of the configuration file, and of the servers found in Kubernetes, to the gateway. */
async function followConfig({
  file,
  secrets,
  started,
  starts: startsAtFirst,
  overrides,
  gateway,
  log,
  history,
}: FollowOptions): Promise<Followed> {
  let current = started;
  let starts = startsAtFirst;
  let discovered: Discovered = { mcpServers: {}, profiles: {} };
  /** What is served, with discovered servers. */
  let serving = started;
  /** The change that is being applied; the next one waits for it. */
  let applying: Promise<void> = Promise.resolve();
  /** Why the configuration that was read last is not in use; empty where it is. */
  let refused: readonly string[] = [];
  /** Options in which it differs from what the process was started with, and which are not followed. */
  let later: readonly string[] = [];
  const next = (work: () => Promise<void>): void => {
    applying = applying.then(work).catch((error: unknown) => {
      log.error({ err: error }, 'the changed configuration could not be applied');
      refused = [(error as Error).message];
      history.rejected(refused);
    });
  };
  const apply = async (): Promise<void> => {
    // Servers of the configuration come before discovered ones, and keep that order in lists.
    const all = {
      ...current,
      mcpServers: { ...current.mcpServers, ...discovered.mcpServers },
      profiles: { ...current.profiles, ...discovered.profiles },
    };
    await gateway.apply(all);
    log.info('the changed configuration is applied');
    const changes = nameChanges(serving, all);
    serving = all;
    if (changes !== undefined) log.warn(changes);
    gateway.audit?.record({
      name: 'config.reloaded',
      weight: 'always',
      outcome: 'ok',
      more: { servers: Object.keys({ ...current.mcpServers, ...discovered.mcpServers }) },
    });
  };
  const refuse = (problems: readonly string[], loaded?: LoadedConfig): void => {
    log.error({ problems }, 'the changed configuration is not applied');
    history.rejected(problems, loaded === undefined ? undefined : { before: current, loaded });
    gateway.audit?.record({
      name: 'config.reloaded',
      weight: 'always',
      outcome: 'fault',
      more: { problems: problems.length },
    });
  };
  const refuseInTurn = (problems: readonly string[]): void =>
    next(() => {
      refused = problems;
      refuse(problems);
      return Promise.resolve();
    });
  const take = async (config: Config, loaded: LoadedConfig): Promise<void> => {
    refused = [...(await accessProblems(config, loaded.problemAt)), ...(await problemsOfVault(config))];
    if (refused.length > 0) {
      refuse(refused, { ...loaded, config });
      return;
    }
    const before = current;
    const waiting = restartOptions(started, config);
    const ignored = restartOptions(before, config).filter((option) => waiting.includes(option));
    current = config;
    if (ignored.length > 0) log.warn({ options: ignored }, 'these options take effect with the next start');
    try {
      await apply();
    } catch (error) {
      current = before;
      await apply(); // All of it or none: what was applied already is taken back.
      throw error;
    }
    later = waiting;
    history.applied(before, { ...loaded, config }, later);
  };
  const { kubernetes } = started.discovery;
  const discovery =
    kubernetes.enabled && overrides.role !== 'edge'
      ? await startDiscovery({
          settings: kubernetes,
          isTaken: (name) => Object.hasOwn(current.mcpServers, name) || Object.hasOwn(current.profiles, name),
          changed: (found) => {
            discovered = found;
            history.discovered([...Object.keys(found.mcpServers), ...Object.keys(found.profiles)]);
            log.info(
              {
                servers: Object.keys(found.mcpServers),
                ...(Object.keys(found.profiles).length === 0 ? {} : { profiles: Object.keys(found.profiles) }),
              },
              'servers were discovered',
            );
            next(apply);
          },
          servers: gateway.servers,
          wheel: gateway.wheel,
          log,
        })
      : undefined;
  const watcher = await watchConfigFile(
    file,
    {
      rejected: (problems) => refuse(problems.map(formatProblem)),
      unfollowed: (problem) =>
        log.error({ problem }, 'changes of the configuration are not noticed; "omnibus reload" applies them'),
      changed: (read, loaded) => {
        sayFindings(loaded, log);
        if (overrides.role === 'all' || overrides.role === 'backend') {
          const now = startsOf({ config: read, given: loaded.given });
          if (overrides.consent !== undefined && digestOfAll(now) !== overrides.consent) {
            refuseInTurn(['it would start something else than --consent allows; "omnibus check" shows what']);
            return;
          }
          starts = sayStarts(starts, now, log);
        }
        const applied = applyOverrides(read, overrides);
        if ('problems' in applied) refuseInTurn(applied.problems);
        else next(() => take(applied.config, loaded));
      },
    },
    { ...readingOf(overrides.role), secrets },
  );
  return {
    async reload() {
      const problems = (await watcher.reload()).map(formatProblem);
      await applying;
      return { problems: problems.length > 0 ? problems : refused, later };
    },
    async close() {
      await watcher.close();
      await discovery?.stop();
    },
  };
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
