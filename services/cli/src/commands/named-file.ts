/** Files of keys and users, which commands change: the one of `--file`, else the one that the configuration names. */
import { resolve } from 'node:path';
import type { Config } from '@omnibus/config';
import { CommandProblem } from '@omnibus/client';
import { runCommand } from '../output/outcome.ts';
import { needSettings } from './settings.ts';

export interface NamedFileOptions {
  readonly file?: string;
  readonly config?: string;
  readonly json?: boolean;
}

/** Options of `auth`, where the gateway knows its callers. */
type Auth = Exclude<Config['auth'], undefined | 'none'>;

/** @property of finds the file in the configuration. @property missing what the configuration lacks, with the line to add. */
interface NamedFile {
  readonly of: (auth: Auth) => string | undefined;
  readonly missing: string;
}

/** Runs a command on a file; a failure of the file is one of the configuration. */
export function inNamedFile(
  { file: given, config, json }: NamedFileOptions,
  { of, missing }: NamedFile,
  work: (file: string) => void | Promise<void>,
): Promise<void> {
  return runCommand(json, async () => {
    const file = given === undefined ? await configured(config, of, missing) : resolve(given);
    try {
      await work(file);
    } catch (error) {
      throw error instanceof CommandProblem ? error : new CommandProblem('config', (error as Error).message);
    }
  });
}

async function configured(config: string | undefined, of: NamedFile['of'], missing: string): Promise<string> {
  const settings = await needSettings(config, {});
  const { auth } = settings.config;
  const file = auth === undefined || auth === 'none' ? undefined : of(auth);
  if (file === undefined)
    throw new CommandProblem('config', `${settings.file} does not name ${missing}, or give --file`);
  return resolve(settings.baseFolder, file);
}
