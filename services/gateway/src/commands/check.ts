import { enabledServers, formatProblem, type ConfigProblem } from '@omnibus/config';
import { accessProblems, accessWarnings } from '../access.ts';
import { busProblem } from '../open-bus.ts';
import { exposureProblem, exposureWarning } from '../exposure.ts';
import { missingPrograms } from '../programs.ts';
import { sharingWarning } from '../sharing.ts';
import { tlsFilesProblem } from '../tls-files.ts';
import { defaultFiles, exitConfig, findConfigFile, readSettings } from './settings.ts';

interface CheckOptions {
  readonly json?: boolean;
}

/** What was found, as `--json` prints it. */
interface Checked {
  readonly file: string;
  readonly isGood: boolean;
  /** The program whose file it is, when it is not one of Omnibus. */
  readonly client?: string | undefined;
  readonly problems: readonly Partial<ConfigProblem>[];
  readonly warnings: readonly string[];
  readonly notes: readonly ConfigProblem[];
  readonly servers: readonly string[];
  readonly profiles: readonly string[];
}

/** Checks a configuration without starting anything. */
export async function check(given: string | undefined, { json = false }: CheckOptions): Promise<void> {
  const file = findConfigFile(given);
  const checked = file === undefined ? noFile : await examine(file);
  if (!checked.isGood) process.exitCode = exitConfig;
  if (json) process.stdout.write(`${JSON.stringify(checked, null, 2)}\n`);
  else print(checked);
}

const noFile: Checked = {
  file: '', isGood: false, problems: [{ message: `there is no configuration in this folder: name a file, or create ${defaultFiles.join(' or ')}; "omnibus import" creates one from the servers of your MCP clients` }],
  warnings: [], notes: [], servers: [], profiles: [],
};

async function examine(file: string): Promise<Checked> {
  const settings = readSettings(file, {});
  const nothing = { file, isGood: false, warnings: [], notes: [], servers: [], profiles: [] };
  if ('problems' in settings) return { ...nothing, problems: settings.found ?? settings.problems.map((message) => ({ file, message })) };
  const { config, baseFolder, faults, notes, client, problemAt } = settings;
  const rules = await accessProblems(config, problemAt);
  const outside = [['bus', await busProblem(config, baseFolder)], ['listen', exposureProblem(config)], ['tls', await tlsFilesProblem(config, baseFolder)]] as const;
  const others = outside.flatMap(([option, problem]) => (problem === undefined ? [] : [problemAt([option], problem)]));
  return {
    file, client, notes,
    problems: [...faults, ...others, ...rules.map((message) => ({ message }))],
    isGood: faults.length === 0 && others.length === 0 && rules.length === 0,
    warnings: [exposureWarning(config), sharingWarning(config), ...accessWarnings(config), enabledServers(config).size === 0 ? 'there are no servers: name some under mcpServers, or run "omnibus import" or "omnibus add"' : undefined, ...missingPrograms(config, baseFolder).map(({ server, problem: missing }) => formatProblem(problemAt(['mcpServers', server, 'command'], missing)))].filter((warning) => warning !== undefined),
    servers: [...enabledServers(config).keys()], profiles: Object.keys(config.profiles),
  };
}

function print({ file, isGood, client, problems, warnings, notes, servers, profiles }: Checked): void {
  process.stderr.write(problems.map((each) => `${isWhole(each) ? formatProblem(each) : each.file === undefined ? (each.message ?? '') : `${each.file === '' ? 'omnibus' : each.file}: ${each.message ?? ''}`}\n`).join(''));
  if (isGood) process.stdout.write(`${file} is good: ${servers.length} servers (${servers.join(', ') || 'none'}), ${profiles.length} profiles\n`);
  if (client !== undefined && isGood) process.stdout.write(`note: this is a file of ${client}, which works as it is; "omnibus import ${file}" copies its servers into a configuration of Omnibus\n`);
  for (const note of notes) process.stdout.write(`note: ${formatProblem(note)}\n`);
  for (const warning of warnings) process.stdout.write(`warning: ${warning}\n`);
}

function isWhole(problem: Partial<ConfigProblem>): problem is ConfigProblem {
  return problem.line !== undefined;
}
