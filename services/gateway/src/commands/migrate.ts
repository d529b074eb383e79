import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { migrateConfig } from '@omnibus/config';
import { fail } from './settings.ts';

/** Brings a configuration to what options are called now; shown, or with `write` written in one step, with the permissions that the file has. */
export function migrate(file: string, { write = false }: { readonly write?: boolean }): void {
  try {
    const { text, outdated } = migrateConfig(readFileSync(file, 'utf8'));
    if (outdated.length === 0) {
      process.stderr.write(`${file} has no outdated options\n`);
      return;
    }
    for (const { line, path, instead } of outdated) process.stderr.write(`${file}:${line}: ${path.join('.')} -> ${instead}\n`);
    if (!write) {
      process.stdout.write(text);
      return;
    }
    const target = realpathSync(file);
    const written = `${target}.new`;
    writeFileSync(written, text, { mode: statSync(target).mode });
    renameSync(written, target);
  } catch (error) {
    fail([(error as NodeJS.ErrnoException).code === 'ENOENT' ? `${file}: there is no such file` : String(error)]);
  }
}
