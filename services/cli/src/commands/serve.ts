import { setTimeout as delay } from 'node:timers/promises';
import type { Config, Role } from '@omnibus/config';
import { growYoungGenerationFaster, stopOnSignal, surviveFaults } from '@omnibus/lifecycle';
import { createLogger, type Logger } from '@omnibus/telemetry';
import { accessProblems, accessWarnings } from '@omnibus/setup/rules';
import { identityWarnings } from '@omnibus/setup/warnings';
import { findSealingKeys } from '@omnibus/setup/sealing-key';
import { busProblem } from '@omnibus/setup/bus';
import { ConfigHistory } from '@omnibus/admin/history';
import { banner, isConnecting, laterLines } from '../serving/banner.ts';
import { exposureProblem, exposureWarning } from '../findings/exposure.ts';
import { makeFirstKey } from '../serving/first-key.ts';
import { FollowedConfig, logFindings } from '../serving/followed-config.ts';
import { serverEditor } from '../serving/server-editor.ts';
import { sharingWarning } from '../findings/sharing.ts';
import type { Gateway, Starting } from '../gateway.ts';
import { notice } from '../output/outcome.ts';
import { showingPages } from '../desktop/page-shower.ts';
import { opensPages } from '../desktop/browser.ts';
import { hideEnvironment } from '../serving/hide-environment.ts';
import { FollowedSecrets } from '../secrets/followed.ts';
import type { SealingKeys } from '@omnibus/identity';
import { changedSince, consentProblem, isAtTerminal } from '../starts/consent.ts';
import { startsOf, type Start } from '../starts/starts.ts';
import { fail, findConfigFile, findSettings, keysFileOf, overridesIn, type Overrides } from './settings.ts';

type Settings = NonNullable<Awaited<ReturnType<typeof findSettings>>>;

export interface ServeOptions extends Overrides, Starting {
  readonly config?: string;
  readonly role: Role;
  /** Approves the programs of servers, without a question. */
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
  if (findConfigFile(options.config) === undefined && isAtTerminal(options)) await askFirst(options);
  const followed = new FollowedSecrets();
  const settings = await findSettings(options.config, options, followed);
  if (settings === undefined) return;
  const { config, file, baseFolder } = settings;
  const starts = startsPrograms(options) ? startsOf(settings) : [];
  const problems = await startProblems(options, settings, starts);
  if (problems.length > 0) {
    fail(problems);
    return;
  }
  let sealingKeys: SealingKeys | undefined;
  try {
    if (isReached(options)) showFirstKey(config);
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
  const running: Running = {};
  stopWhenAsked(config, running, followed, log);
  const gateway = await started(options, {
    config,
    baseFolder,
    log,
    sealingKeys,
    history,
    editor: serverEditor({ file, client: settings.client, consent: options.consent }),
    running,
  });
  const watcher = await FollowedConfig.open({
    file,
    secrets: followed,
    started: config,
    starts,
    overrides: options,
    gateway,
    log,
    history,
  });
  running.watcher = watcher;
  followed.follow(() => watcher.reload());
  await announce(gateway, options, settings, starts, log);
}

/** Asks for the first servers of this folder; without an answer, the gateway names the missing part. */
async function askFirst(options: Starting): Promise<void> {
  const { askForServers } = await import('../serving/first-servers.ts');
  await askForServers(options).catch((error: unknown) => notice(`omnibus: ${(error as Error).message}`));
}

/** The processes that a signal stops. */
interface Running {
  gateway?: Gateway;
  watcher?: FollowedConfig;
}

function stopWhenAsked({ timeouts }: Config, running: Running, followed: FollowedSecrets, log: Logger): void {
  stopOnSignal({
    limitMs: timeouts.leave + timeouts.drain + stopSlackMs,
    onForced: (reason) => log.error({ reason }, 'stopped by force'),
    async stop(signal) {
      log.info({ signal }, 'stopping');
      await running.watcher?.close();
      await followed.close();
      // A gateway that still waits for its bus has nothing to finish.
      await running.gateway?.stop();
      log.info('stopped');
    },
  });
}

/** Whether clients connect to this process. */
function isReached({ role }: ServeOptions): boolean {
  return role === 'all' || role === 'edge';
}

function startsPrograms({ role }: ServeOptions): boolean {
  return role === 'all' || role === 'backend';
}

/** Why the gateway cannot start with this configuration; the first kind of problem only. */
async function startProblems(
  options: ServeOptions,
  { config, baseFolder, file, problemAt, client }: Settings,
  starts: readonly Start[],
): Promise<readonly string[]> {
  const { role, yes, consent, input } = options;
  if (role !== 'all' && config.bus === 'memory')
    return [`--role ${role} needs a bus between processes: give --bus nats://host:port`];
  const rules = await accessProblems(config, problemAt);
  if (rules.length > 0) return rules;
  const ofBus = await busProblem(config, baseFolder);
  if (ofBus !== undefined) return [ofBus];
  const exposure = isReached(options) ? exposureProblem(config) : undefined;
  if (exposure !== undefined) return [exposure];
  if (!startsPrograms(options)) return [];
  const asked = { file, starts, isOfClient: client !== undefined, yes, digest: consent, input };
  const refused = await consentProblem(asked);
  return refused === undefined ? [] : [refused];
}

/** Starts the gateway. Ends the process if that fails. */
async function started(
  { start, role, browser }: ServeOptions,
  {
    running,
    ...needs
  }: Pick<
    Parameters<ServeOptions['start']>[0],
    'config' | 'baseFolder' | 'log' | 'sealingKeys' | 'history' | 'editor'
  > & {
    readonly running: Running;
  },
): Promise<Gateway> {
  try {
    const gateway = await start({
      ...needs,
      role,
      isServing: true,
      showPage: showingPages(opensPages(browser), (text) => void process.stderr.write(`omnibus: ${text}\n`)),
      reload: async () =>
        running.watcher === undefined ? { problems: ['the process is starting'], later: [] } : running.watcher.reload(),
    });
    running.gateway = gateway;
    const { faults } = gateway;
    surviveFaults((kind, error) => faults.bug(kind, 'an error was caught nowhere else', error));
    return gateway;
  } catch (error) {
    process.stderr.write(`omnibus: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}

/** Logs addresses and warnings, and prints the banner. Resolves when all servers are settled. */
async function announce(
  gateway: Gateway,
  options: ServeOptions,
  settings: Settings,
  starts: readonly Start[],
  log: Logger,
): Promise<void> {
  const { config, file } = settings;
  const { role } = options;
  if (gateway.endpoint === undefined) log.info({ part: role, admin: gateway.adminAddress }, 'serving');
  else log.info({ endpoint: gateway.endpoint, admin: gateway.adminAddress }, 'listening');
  logFindings(settings, log);
  const unseen = changedSince(file, starts);
  if (unseen.length > 0)
    log.warn(
      { servers: unseen.map(({ server }) => server) },
      'these servers start something else than what somebody agreed to last; "omnibus check" shows it',
    );
  const warnings = [
    isReached(options) ? exposureWarning(config) : undefined,
    sharingWarning(config),
    ...accessWarnings(config),
    ...identityWarnings(config).map(({ path, message }) => `${path.join('.')}: ${message}`),
  ].filter((warning) => warning !== undefined);
  for (const warning of warnings) log.warn(warning);
  const settled = gateway.settled().then(() => log.info({ part: role }, 'ready'));
  if (gateway.endpoint !== undefined && role === 'all') await showBanner(gateway, config, settled, warnings);
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
