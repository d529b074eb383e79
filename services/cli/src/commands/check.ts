import { accountOf, enabledServers, formatProblem, noServers, type Config, type ConfigProblem } from '@omnibus/config';
import { counted } from '../output/counted.ts';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { CommandProblem, type Exit } from '@omnibus/client';
import { accessProblems, accessWarnings } from '@omnibus/setup/rules';
import { busProblem } from '@omnibus/setup/bus';
import { identityWarnings } from '@omnibus/setup/warnings';
import { exposureProblem, exposureWarning } from '../findings/exposure.ts';
import { missingPrograms } from '../findings/programs.ts';
import { sharingWarning } from '../findings/sharing.ts';
import { digestOfAll, startsOf, type Start } from '../starts/starts.ts';
import { tlsFilesProblem } from '@omnibus/identity';
import { defaultFiles, findConfigFile, readSettings, type Settings } from './settings.ts';

interface CheckOptions {
  readonly config?: string | undefined;
  readonly json?: boolean;
}

/** The result of a check, as `--json` prints it. */
interface Checked {
  readonly file: string;
  readonly isGood: boolean;
  /** The MCP client that the file belongs to, where it is not a configuration of Omnibus. */
  readonly client?: string | undefined;
  readonly problems: readonly Partial<ConfigProblem>[];
  readonly warnings: readonly Partial<ConfigProblem>[];
  readonly notes: readonly ConfigProblem[];
  readonly servers: readonly string[];
  readonly profiles: readonly string[];
  /** The account for calls of each server with credentials. */
  readonly accounts: readonly { readonly server: string; readonly account: string }[];
  /** Programs that servers start on this machine. */
  readonly starts: readonly Start[];
  /** Of all of `starts`, for `--consent`. */
  readonly consent?: string;
}

/** Checks a configuration without starting anything. */
export function check(given: string | undefined, { config, json = false }: CheckOptions): Promise<void> {
  return runCommand(json, async (): Promise<Exit> => {
    if (given !== undefined && config !== undefined && given !== config)
      throw new CommandProblem(
        'usage',
        `two configurations are named, ${given} and ${config}: check one after the other`,
      );
    const file = findConfigFile(given ?? config);
    const checked = file === undefined ? noFile : await examine(file);
    if (json) answerJson(checked);
    else print(checked);
    return checked.isGood ? 'done' : 'config';
  });
}

const noFile: Checked = {
  file: '',
  isGood: false,
  problems: [
    {
      message: `there is no configuration in this folder: name a file, or create ${defaultFiles.join(' or ')}; "omnibus import" creates one from the servers of your MCP clients`,
    },
  ],
  warnings: [],
  notes: [],
  servers: [],
  profiles: [],
  accounts: [],
  starts: [],
};

async function examine(file: string): Promise<Checked> {
  const settings = await readSettings(file, {});
  const nothing = { file, isGood: false, warnings: [], notes: [], servers: [], profiles: [], accounts: [], starts: [] };
  if ('problems' in settings)
    return { ...nothing, problems: settings.found ?? settings.problems.map((message) => ({ file, message })) };
  const { config, baseFolder, faults, notes, client, problemAt } = settings;
  const rules = await accessProblems(config, problemAt);
  const starts = startsOf(settings);
  const outside = [
    ['bus', await busProblem(config, baseFolder)],
    ['listen', exposureProblem(config)],
    ['tls', await tlsFilesProblem(config, baseFolder)],
  ] as const;
  const others = outside.flatMap(([option, problem]) => (problem === undefined ? [] : [problemAt([option], problem)]));
  return {
    file,
    client,
    notes,
    problems: [...faults, ...others, ...rules.map((message) => ({ message }))],
    isGood: faults.length === 0 && others.length === 0 && rules.length === 0,
    warnings: warningsOf(settings, starts),
    servers: [...enabledServers(config).keys()],
    profiles: Object.keys(config.profiles),
    accounts: [...enabledServers(config)].flatMap(([server, settings]) =>
      [accountOf(settings, config) ?? []].flat().map((account) => ({ server, account })),
    ),
    starts,
    ...(starts.length === 0 ? {} : { consent: digestOfAll(starts) }),
  };
}

/** Remarks about a server's command; that a package or image is not pinned only if its definitions are. */
function startWarnings(
  config: Config,
  starts: readonly Start[],
): readonly { readonly server: string; readonly warning: string }[] {
  return starts.flatMap(({ server, risks, unpinned }) => [
    ...risks.map((warning) => ({ server, warning })),
    ...(unpinned === undefined || config.mcpServers[server]?.definitions !== 'pin'
      ? []
      : [{ server, warning: `its definitions are pinned, and what it runs is not: ${unpinned}` }]),
  ]);
}

function warningsOf(
  { config, baseFolder, problemAt, given }: Settings,
  starts: readonly Start[],
): Partial<ConfigProblem>[] {
  const [exposure, sharing, nothing] = [exposureWarning(config), sharingWarning(config), noServers(config)];
  return [
    ...(exposure === undefined ? [] : [problemAt(['listen'], exposure)]),
    ...[...(sharing === undefined ? [] : [sharing]), ...accessWarnings(config)].map((message) => ({ message })),
    ...identityWarnings(config).map(({ path, message }) => problemAt(path, message)),
    ...(nothing === undefined ? [] : [{ message: `${nothing.problem}: ${nothing.advice}` }]),
    ...missingPrograms({ config, given }, baseFolder).map(({ server, problem }) =>
      problemAt(['mcpServers', server, 'command'], problem),
    ),
    ...startWarnings(config, starts).map(({ server, warning }) =>
      problemAt(['mcpServers', server, 'command'], warning),
    ),
  ];
}

function print({
  file,
  isGood,
  client,
  problems,
  warnings,
  notes,
  servers,
  profiles,
  accounts,
  starts,
  consent,
}: Checked): void {
  process.stderr.write(problems.map((each) => `${textOf(each)}\n`).join(''));
  if (isGood)
    answer(
      `${file} is good: ${counted(servers.length, 'server')} (${servers.join(', ') || 'none'}), ${counted(profiles.length, 'profile')}\n`,
    );
  if (isGood && accounts.length > 0)
    answer(
      `on whose account servers are called:\n${accounts.map(({ server, account }) => `  ${server}: ${account}\n`).join('')}`,
    );
  if (isGood && consent !== undefined)
    answer(
      `it starts on this machine (serve --consent ${consent} starts this and nothing else):\n${starts.map(({ server, line }) => `  ${server}: ${line}\n`).join('')}`,
    );
  if (client !== undefined && isGood)
    answer(
      `note: this is a file of ${client}, which works as it is; "omnibus import ${file}" copies its servers into a configuration of Omnibus\n`,
    );
  for (const note of notes) answer(`note: ${formatProblem(note)}\n`);
  for (const warning of warnings) answer(`warning: ${textOf(warning)}\n`);
}

function textOf(each: Partial<ConfigProblem>): string {
  if (isWhole(each)) return formatProblem(each);
  return each.file === undefined
    ? (each.message ?? '')
    : `${each.file === '' ? 'omnibus' : each.file}: ${each.message ?? ''}`;
}

function isWhole(problem: Partial<ConfigProblem>): problem is ConfigProblem {
  return problem.line !== undefined;
}
