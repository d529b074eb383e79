import { enabledServers } from '@omnibus/config';
import { accessProblems, accessWarnings } from '../access.ts';
import { busProblem } from '../open-bus.ts';
import { exposureProblem, exposureWarning } from '../exposure.ts';
import { sharingWarning } from '../sharing.ts';
import { tlsFilesProblem } from '../tls-files.ts';
import { exitConfig, readSettings } from './settings.ts';

/** Checks a configuration without starting anything. */
export async function check(file: string): Promise<void> {
  const settings = readSettings(file, {});
  if ('problems' in settings) {
    process.stderr.write(`${settings.problems.join('\n')}\n`);
    process.exitCode = exitConfig;
    return;
  }
  const rules = await accessProblems(settings.config, settings.problemAt);
  if (rules.length > 0) {
    process.stderr.write(`${rules.join('\n')}\n`);
    process.exitCode = exitConfig;
    return;
  }
  const problem = (await busProblem(settings.config, settings.baseFolder)) ?? exposureProblem(settings.config) ?? await tlsFilesProblem(settings.config, settings.baseFolder);
  if (problem !== undefined) {
    process.stderr.write(`${file}: ${problem}\n`);
    process.exitCode = exitConfig;
    return;
  }
  const servers = [...enabledServers(settings.config).keys()];
  const profiles = Object.keys(settings.config.profiles);
  process.stdout.write(`${file} is good: ${servers.length} servers (${servers.join(', ') || 'none'}), ${profiles.length} profiles\n`);
  for (const warning of [exposureWarning(settings.config), sharingWarning(settings.config), ...accessWarnings(settings.config)]) if (warning !== undefined) process.stdout.write(`warning: ${warning}\n`);
}
