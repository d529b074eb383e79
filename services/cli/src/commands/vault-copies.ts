/**
 * Copies of the vault, in a file or in NATS. Their entries stay encrypted under the keys of the vault, which are not part of a copy. A restore adds
 * missing entries and changes no others, since a refresh token in use is newer than that of a copy.
 */
import { readFileSync } from 'node:fs';
import { vaultBuckets } from '@omnibus/bus';
import { FileStore, type VaultStore } from '@omnibus/credentials';
import { z } from 'zod';
import { type Exit, CommandProblem } from '@omnibus/client';
import { openBus } from '@omnibus/setup/bus';
import { fileOf } from '@omnibus/setup/vault';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { replaceFile } from '../output/write-file.ts';
import { needSettings } from './settings.ts';

export interface CopyOptions {
  readonly config?: string;
  readonly json?: boolean;
}

const connectMs = 10_000;
const copy = z.strictObject({ omnibusVault: z.literal(1), at: z.string(), entries: z.record(z.string(), z.string()) });
/** Keys of entries as this version and older ones write them (`vault.ts` of `packages/credentials`). The name of the current key is not restored. */
const entryKey = /^(?:connection|client)\.[\w-]{1,128}\.[\w-]{1,128}$/;

export function backUpVault(file: string, { config, json }: CopyOptions): Promise<void> {
  return runCommand(json, () =>
    withStore(config, async (store) => {
      const entries: Record<string, string> = {};
      const keys: string[] = [];
      (await store.watch(({ key }) => keys.push(key))).close();
      for (const key of keys.filter((each) => entryKey.test(each)).toSorted()) {
        const entry = await store.get(key);
        if (entry !== undefined) entries[key] = entry.value;
      }
      const made: z.output<typeof copy> = { omnibusVault: 1, at: new Date().toISOString(), entries };
      replaceFile(file, readBefore(file), `${JSON.stringify(made, null, 2)}\n`, 0o600);
      const count = Object.keys(entries).length;
      if (json === true) answerJson({ file, entries: count });
      else
        answer(
          `${count} entries were copied to ${file}, encrypted; the keys of the vault (vault.keys) are not in it, and it is of no use without them\n`,
        );
      return 'done';
    }),
  );
}

export function restoreVault(file: string, { config, json }: CopyOptions): Promise<void> {
  return runCommand(json, () =>
    withStore(config, async (store) => {
      const { entries } = read(file);
      let [restored, kept] = [0, 0];
      for (const [key, value] of Object.entries(entries)) {
        try {
          await store.create(key, value);
          restored += 1;
        } catch (error) {
          if ((error as { readonly kind?: unknown }).kind !== 'revision-conflict') throw error;
          kept += 1;
        }
      }
      if (json === true) answerJson({ file, restored, kept });
      else
        answer(
          `${restored} entries were restored${kept === 0 ? '' : `, and ${kept} are as they were, since they are there already`}\n`,
        );
      return 'done';
    }),
  );
}

async function withStore(config: string | undefined, work: (store: VaultStore) => Promise<Exit>): Promise<Exit> {
  const settings = await needSettings(config, {});
  if (settings.config.bus === 'memory') return work(new FileStore(fileOf(settings.config, settings.baseFolder)));
  const bus = await openBus(settings.config, {
    role: 'backend',
    baseFolder: settings.baseFolder,
    onFault: () => undefined,
    connectTimeoutMs: connectMs,
  });
  try {
    return await work(await bus.keyValue<string>(vaultBuckets.connections));
  } finally {
    await bus.drain();
  }
}

/** An existing file is replaced only if it is a copy of a vault too. */
function readBefore(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return '';
  }
  read(file);
  return text;
}

/** @throws {CommandProblem} */
function read(file: string): z.output<typeof copy> {
  let said: unknown;
  try {
    said = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandProblem(
      'usage',
      `${file} cannot be read as a copy of a vault: ${(error as NodeJS.ErrnoException).code ?? 'it is not JSON'}`,
    );
  }
  const parsed = copy.safeParse(said);
  if (!parsed.success || Object.keys(parsed.data.entries).some((key) => !entryKey.test(key)))
    throw new CommandProblem('usage', `${file} is not a copy that "omnibus vault backup" has made`);
  return parsed.data;
}
