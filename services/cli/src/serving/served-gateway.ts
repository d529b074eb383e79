/**
 * What `omnibus serve` runs: a gateway that follows its configuration file. Signals, the end of the process, its streams and its environment belong to the
 * caller, so one process can serve several gateways.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Config, Role } from '@omnibus/config';
import type { Reloaded } from '@omnibus/admin';
import { ConfigHistory } from '@omnibus/admin/history';
import type { SealingKeys } from '@omnibus/identity';
import type { CatalogRecord } from '@omnibus/protocol';
import { busProblem } from '@omnibus/setup/bus';
import { accessProblems, accessWarnings } from '@omnibus/setup/rules';
import { findSealingKeys } from '@omnibus/setup/sealing-key';
import { identityWarnings } from '@omnibus/setup/warnings';
import { createLogger, type Logger } from '@omnibus/telemetry';
import {
  keysFileOf,
  needSettings,
  overridesIn,
  type Environment,
  type Overrides,
  type Settings,
} from '../commands/settings.ts';
import { exposureProblem, exposureWarning } from '../findings/exposure.ts';
import { sharingWarning } from '../findings/sharing.ts';
import type { Gateway, GatewayOptions, Membership, Starting } from '../gateway.ts';
import { FollowedSecrets } from '../secrets/followed.ts';
import { changedSince, consentProblem } from '../starts/consent.ts';
import { startsOf, type Start } from '../starts/starts.ts';
import { workersProblem } from '../workers/fit.ts';
import { banner, isConnecting, laterLines } from './banner.ts';
import { makeFirstKey } from './first-key.ts';
import { FollowedConfig, logFindings } from './followed-config.ts';
import { serverEditor } from './server-editor.ts';

export interface ServedOptions extends Overrides, Starting {
  /** The configuration file. Default: the first of `defaultFiles` in the working directory. */
  readonly config?: string;
  readonly role: Role;
  /** Set in a gateway with several workers on one machine. */
  readonly member?: Membership;
  /** Approves the programs of servers, without a question. */
  readonly yes?: boolean;
  /** The digest of all that may be started. */
  readonly consent?: string;
  /** False with `--no-input`. */
  readonly input?: boolean;
}

/** What the gateway uses of the process that it is in. */
export interface Surroundings extends Required<Pick<GatewayOptions, 'showPage'>> {
  /** Variables for references of the configuration, for overrides, and for keys. */
  readonly env: Environment;
  /** Takes lines of the log, each with its line break. Default: stderr. */
  readonly log?: { write(line: string): void };
  /** Shows text to the user who started the gateway: addresses, and a key that was made. */
  readonly print: (text: string) => void;
}

/** Milliseconds beyond `timeouts.drain` that child processes have to end in order. */
const stopSlackMs = 10_000;
/** Milliseconds that servers have to connect before the banner is printed. */
const bannerMs = 3_000;

export class ServedGateway {
  readonly log: Logger;
  /** Milliseconds that `stop` may take. */
  readonly stopMs: number;
  readonly #options: ServedOptions;
  readonly #surroundings: Surroundings;
  readonly #settings: Settings;
  readonly #starts: readonly Start[];
  readonly #sealingKeys: SealingKeys | undefined;
  readonly #history: ConfigHistory;
  readonly #secrets: FollowedSecrets;
  #gateway: Gateway | undefined;
  #followed: FollowedConfig | undefined;

  private constructor(
    options: ServedOptions,
    surroundings: Surroundings,
    { settings, starts, sealingKeys }: Read,
    secrets: FollowedSecrets,
  ) {
    const { config, file } = settings;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#settings = settings;
    this.#starts = starts;
    this.#sealingKeys = sealingKeys;
    this.#secrets = secrets;
    this.#history = new ConfigHistory(file, settings, overridesIn(options, surroundings.env));
    const { member } = options;
    const { leave, drain } = config.timeouts;
    // The edge of one of several workers waits for the calls of other workers before its sessions wait for theirs.
    this.stopMs = leave + (member === undefined ? drain : 2 * drain) + stopSlackMs;
    const log = createLogger(config.log, surroundings.log);
    this.log = member?.name === undefined ? log : log.child({ worker: member.name });
    secrets.warnWith((problem) => this.log.warn({ problem }, 'the secret store'));
  }

  /**
   * Reads and checks the configuration and keys. Nothing is started.
   * @returns the problems, in words for the operator, when the gateway cannot start with them.
   */
  static async prepare(
    options: ServedOptions,
    surroundings: Surroundings,
  ): Promise<ServedGateway | { readonly problems: readonly string[] }> {
    const secrets = new FollowedSecrets();
    const read = await readAll(options, surroundings, secrets);
    if (!('problems' in read)) return new ServedGateway(options, surroundings, read, secrets);
    await secrets.close();
    return read;
  }

  /** Starts the gateway. Its edge listens when this resolves. @throws {Error} in words for the operator. */
  async start(): Promise<Gateway> {
    const { config, baseFolder, file, client } = this.#settings;
    const { start, role, consent, member } = this.#options;
    this.#gateway = await start({
      config,
      baseFolder,
      log: this.log,
      sealingKeys: this.#sealingKeys,
      history: this.#history,
      editor: serverEditor({ file, client, consent }),
      role,
      member,
      isServing: true,
      showPage: this.#surroundings.showPage,
      reload: () => this.reload(),
    });
    return this.#gateway;
  }

  /** Follows the configuration file, logs addresses and warnings, and prints the banner. Resolves when all servers are settled. */
  async follow(gateway: Gateway): Promise<void> {
    const followed = await FollowedConfig.open({
      file: this.#settings.file,
      secrets: this.#secrets,
      env: this.#surroundings.env,
      started: this.#settings.config,
      starts: this.#starts,
      overrides: this.#options,
      gateway,
      log: this.log,
      history: this.#history,
    });
    this.#followed = followed;
    this.#secrets.follow(() => followed.reload());
    await this.#announce(gateway);
  }

  /** Reads the configuration again and applies it. */
  async reload(): Promise<Reloaded> {
    return this.#followed?.reload() ?? { problems: ['the process is starting'], later: [] };
  }

  /** Finishes running work and stops. A gateway that still waits for its bus has nothing to finish. */
  async stop(): Promise<void> {
    await this.#followed?.close();
    // Running work needs no login: values are only read for a configuration, which is no longer followed.
    await Promise.all([this.#gateway?.stop(), this.#secrets.close()]);
    this.log.info('stopped');
  }

  async #announce(gateway: Gateway): Promise<void> {
    const { log } = this;
    const { config, file } = this.#settings;
    const { role } = this.#options;
    if (gateway.endpoint === undefined) log.info({ part: role, admin: gateway.adminAddress }, 'serving');
    else log.info({ endpoint: gateway.endpoint, admin: gateway.adminAddress }, 'listening');
    logFindings(this.#settings, log);
    const unseen = changedSince(file, this.#starts);
    if (unseen.length > 0)
      log.warn(
        { servers: unseen.map(({ server }) => server) },
        'the programs that these servers start differ from those that a user has agreed to; "omnibus check" shows them',
      );
    const warnings = [
      isReached(this.#options) ? exposureWarning(config) : undefined,
      sharingWarning(config),
      ...accessWarnings(config),
      ...identityWarnings(config).map(({ path, message }) => `${path.join('.')}: ${message}`),
    ].filter((warning) => warning !== undefined);
    for (const warning of warnings) log.warn(warning);
    const settled = gateway.settled().then(() => log.info({ part: role }, 'ready'));
    if (gateway.endpoint !== undefined && (role === 'all' || role === 'supervisor'))
      await this.#showBanner(gateway, settled, warnings);
    await settled;
  }

  /** Prints the banner once all servers are settled, or after `bannerMs`; servers that were still connecting get a line of their own later. */
  async #showBanner(gateway: Gateway, settled: Promise<void>, warnings: readonly string[]): Promise<void> {
    const { config } = this.#settings;
    const { print } = this.#surroundings;
    const { member } = this.#options;
    const recordsNow = async (): Promise<readonly CatalogRecord[]> => (await member?.records?.()) ?? gateway.records();
    await Promise.race([settled, delay(bannerMs, undefined, { ref: false })]);
    const records = await recordsNow();
    const late = new Set(records.filter(isConnecting).map(({ server }) => server));
    print(banner({ endpoint: gateway.endpoint ?? '', config, consoleUrl: gateway.consoleUrl, records, warnings }));
    if (late.size === 0) return;
    await settled;
    print(laterLines(await recordsNow(), late));
  }
}

interface Read {
  readonly settings: Settings;
  /** What its servers start on this machine. */
  readonly starts: readonly Start[];
  readonly sealingKeys: SealingKeys | undefined;
}

async function readAll(
  options: ServedOptions,
  { env, print }: Surroundings,
  secrets: FollowedSecrets,
): Promise<Read | { readonly problems: readonly string[] }> {
  const { role } = options;
  let settings: Settings;
  try {
    settings = await needSettings(options.config, options, { connects: true, secrets, env });
  } catch (error) {
    return { problems: (error as Error).message.split('\n') };
  }
  const starts = startsPrograms(options) ? startsOf(settings) : [];
  const problems = await startProblems(options, settings, starts);
  if (problems.length > 0) return { problems };
  const { config, baseFolder } = settings;
  try {
    if (isReached(options)) showFirstKey(config, env, print);
    return { settings, starts, sealingKeys: findSealingKeys(role, { config, baseFolder, env }) };
  } catch (error) {
    return { problems: [(error as Error).message] };
  }
}

/** Whether clients connect to this process. */
function isReached({ role }: ServedOptions): boolean {
  return role === 'all' || role === 'edge' || role === 'supervisor';
}

function startsPrograms({ role }: ServedOptions): boolean {
  return role === 'all' || role === 'backend' || role === 'supervisor';
}

/** Why the gateway cannot start with this configuration; the first kind of problem only. */
async function startProblems(
  options: ServedOptions,
  { config, baseFolder, file, problemAt, client }: Settings,
  starts: readonly Start[],
): Promise<readonly string[]> {
  const { role, yes, consent, input, member } = options;
  const ofWorkers = member === undefined ? undefined : workersProblem(config);
  if (ofWorkers !== undefined) return [ofWorkers];
  if (member === undefined && role !== 'all' && config.bus === 'memory')
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

/** Makes and shows a first API key where the environment names the file of keys, as that of the container image does, and the file has none yet. */
function showFirstKey({ auth }: Config, env: Environment, print: Surroundings['print']): void {
  const file = keysFileOf(env);
  if (file === undefined || auth === undefined || auth === 'none' || auth.keys?.file !== file) return;
  const key = makeFirstKey(file);
  if (key !== undefined)
    print(
      `omnibus: the first API key was made, and is shown only now; clients send it as "Authorization: Bearer ...":\n${key}`,
    );
}
