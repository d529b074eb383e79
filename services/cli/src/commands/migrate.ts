import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { migrateConfig, ownerOf } from '@omnibus/config';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';

interface MigrateOptions {
  readonly write?: boolean;
  readonly json?: boolean;
}

/** Renames outdated options of a configuration. Prints the new text, or with `write` replaces the file in one step and keeps its permissions. */
export function migrate(file: string, { write = false, json = false }: MigrateOptions): Promise<void> {
  return runCommand(json, () => {
    const { text, outdated } = migrateFile(file, write);
    if (json)
      answerJson({
        file,
        outdated: outdated.map(({ line, path, instead }) => ({ line, path: path.join('.'), instead })),
        text,
        isWritten: write && outdated.length > 0,
      });
    else {
      if (outdated.length === 0) notice(`${file} has no outdated options`);
      for (const { line, path, instead } of outdated) notice(`${file}:${line}: ${path.join('.')} -> ${instead}`);
      if (!write) answer(text);
    }
    return Promise.resolve('done');
  });
}

/** @throws {CommandProblem} */
function migrateFile(file: string, write: boolean): ReturnType<typeof migrateConfig> {
  try {
    const given = readFileSync(file, 'utf8');
    refuseOthers(file, given);
    const migrated = migrateConfig(given);
    if (!write || migrated.outdated.length === 0) return migrated;
    const target = realpathSync(file);
    const written = `${target}.new`;
    writeFileSync(written, migrated.text, { mode: statSync(target).mode });
    renameSync(written, target);
    return migrated;
  } catch (error) {
    if (error instanceof CommandProblem) throw error;
    throw new CommandProblem(
      'config',
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? `${file}: there is no such file` : String(error),
    );
  }
}

/** @throws {CommandProblem} for a file that cannot be read, and for that of another program, which would no longer understand it. */
function refuseOthers(file: string, text: string): void {
  const owner = ownerOf(file, text);
  if ('problems' in owner) throw new CommandProblem('config', owner.problems.join('\n'));
  const { client } = owner;
  if (client === undefined || client.id === 'client') return;
  throw new CommandProblem('config', `${file} is a file of ${client.name}, which is not changed`, {
    advice: client.instead ?? `Copy its servers into a configuration of Omnibus: omnibus import ${file}`,
  });
}
