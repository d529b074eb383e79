/** Makes, lists and revokes API keys: lines of a file that the gateway follows. A key is shown once, when it is made. */
import { resolve } from 'node:path';
import type { KeyRecord } from '@omnibus/identity';
import { printable } from '@omnibus/protocol';
import { addKey, readKeys, revokeKeyIn } from '../key-records.ts';
import { alignColumns } from '../table.ts';
import { fail, findSettings } from './settings.ts';

export interface KeysOptions {
  readonly config?: string;
  readonly file?: string;
}

export interface CreateOptions extends KeysOptions {
  readonly subject: string;
  readonly tenant?: string;
  readonly group?: readonly string[];
  readonly endpoint?: readonly string[];
  /** A number of days, or a date. */
  readonly expires?: string;
  readonly note?: string;
}

/** Prints the new key on stdout, alone, and what it is on stderr. */
export function createKey({ subject, tenant, group = [], endpoint, expires, note, ...where }: CreateOptions): void {
  inFile(where, (file) => {
    const { id, key } = addKey(file, { subject, tenant, groups: group, endpoints: endpoint, expires, note });
    process.stderr.write(`omnibus: key ${id} of ${subject} was added to ${file}, as a digest. The key itself is shown only now:\n`);
    process.stdout.write(`${key}\n`);
  });
}

export function listKeys({ json = false, ...where }: KeysOptions & { readonly json?: boolean }): void {
  inFile(where, (file) => {
    const keys = readKeys(file);
    if (json) {
      process.stdout.write(`${JSON.stringify(keys.map(({ hash: _digest, ...rest }) => rest), null, 2)}\n`);
      return;
    }
    const rows = keys.map((key) => [key.id, printable(key.subject), stateOf(key), key.endpoints?.map((name) => (name === '' ? '/mcp' : name)).join(', ') ?? 'all', key.groups.map((group) => printable(group)).join(', ') || '-', printable(key.tenant ?? '-'), key.created ?? '-', printable(key.note ?? '')]);
    process.stdout.write(`${alignColumns([['ID', 'SUBJECT', 'STATE', 'ENDPOINTS', 'GROUPS', 'TENANT', 'CREATED', 'NOTE'], ...rows])}\n`);
  });
}

export function revokeKey(id: string, where: KeysOptions): void {
  inFile(where, (file) => {
    revokeKeyIn(file, id);
    process.stderr.write(`omnibus: key ${id} is revoked in ${file}; a running gateway refuses it from now on, and ends the streams that were opened with it\n`);
  });
}

function inFile(where: KeysOptions, work: (file: string) => void): void {
  const file = findFile(where);
  if (file === undefined) return;
  try {
    work(file);
  } catch (error) {
    fail([(error as Error).message]);
  }
}

/** The file that is named, else that of the configuration. */
function findFile({ file, config }: KeysOptions): string | undefined {
  if (file !== undefined) return resolve(file);
  const settings = findSettings(config, {});
  if (settings === undefined) return undefined;
  const { auth } = settings.config;
  if (auth !== undefined && auth !== 'none' && auth.keys !== undefined) return resolve(settings.baseFolder, auth.keys.file);
  fail([`${settings.file} does not name a file of keys: add "auth: { keys: { file: keys.yaml } }", or give --file`]);
  return undefined;
}

function stateOf({ revoked, expires }: KeyRecord): string {
  if (revoked !== undefined) return `revoked ${revoked}`;
  if (expires === undefined) return 'good';
  return Date.parse(expires) <= Date.now() ? `expired ${expires}` : `until ${expires}`;
}
