/** Has a running process read its configuration again, and gives its holder of the sealing key a token for the admin port. */
import { base } from '@omnibus/admin-api';
import { recoveryProof } from '@omnibus/admin';
import { CommandProblem } from '@omnibus/client';
import { formatProblem, loadConfig } from '@omnibus/config';
import { findSealingKeys } from '@omnibus/setup/sealing-key';
import { answer, answerEither, answerJson, notice, runCommand } from '../output/outcome.ts';
import { baseOf } from './admin-port.ts';
import { askApi, type ApiOptions } from './api.ts';
import { findConfigFile, needSettings, type Settings } from './settings.ts';

export interface RecoverOptions {
  readonly admin: string;
  readonly config?: string;
  readonly json?: boolean;
}

export function reload(options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { later } = await askApi(options, 'reload', '/reload', 'POST').catch((error: unknown) => {
      throw error instanceof CommandProblem && error.reason === 'conflict'
        ? new CommandProblem('config', error.message)
        : error;
    });
    const rest = later.length === 0 ? '' : `; what differs in ${later.join(', ')} takes effect with the next start`;
    answerEither(options.json, { isReloaded: true }, `the configuration was read again, and is in use${rest}\n`);
  });
}

/** Proves to the admin port that this machine has the sealing key, and prints the token it gets; stdout carries nothing else. */
export function recover({ admin, config, json = false }: RecoverOptions): Promise<void> {
  return runCommand(json, async () => {
    const settings =
      config === undefined && findConfigFile(undefined) === undefined ? withoutFile() : await needSettings(config, {});
    const keys = findSealingKeys('session', { ...settings, env: process.env });
    if (keys === undefined)
      throw new CommandProblem(
        'config',
        'there is no sealing key here, neither in the environment nor as security.sealingKeyFile. Without one, add an administrator to auth.admin.roles in the configuration; a running gateway follows the change',
      );
    const { question } = await askApi({ admin }, 'recovery', '/recovery');
    const { token, until } = await askApi({ admin }, 'recover', '/recovery', 'POST', {
      question,
      proof: recoveryProof(keys[0], question),
    });
    if (json) answerJson({ token, until });
    else {
      notice(
        `omnibus: until ${until} this process, and no other, accepts this token as an administrator's: curl -H "Authorization: Bearer ..." ${baseOf(admin)}${base}/whoami`,
      );
      answer(`${token}\n`);
    }
  });
}

/** Default settings, for a machine that has a sealing key in its environment and no configuration. */
function withoutFile(): Settings {
  const loaded = loadConfig({ file: 'none', text: '{}', env: {}, readFile: () => '' });
  if ('problems' in loaded) throw new CommandProblem('config', loaded.problems.map(formatProblem).join('\n'));
  return { ...loaded, file: 'none', baseFolder: process.cwd(), client: undefined };
}
