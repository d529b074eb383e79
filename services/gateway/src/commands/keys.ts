/** Makes, lists and revokes API keys: lines of a file that the gateway follows. A key is shown once, when it is made. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatKeys, newKey, parseKeys, type KeyRecord } from '@omnibus/identity';
import { printable } from '@omnibus/protocol';
import { alignColumns } from '../table.ts';
import { rewrite } from './rewrite.ts';
import { fail, findSettings } from './settings.ts';

export interface KeysOptions {
  readonly config?: string;
  readonly file?: string;
}

export interface CreateOptions extends KeysOptions {
  readonly subject: string;
  readonly group?: readonly string[];
  readonly endpoint?: readonly string[];
  /** A number of days, or a date. */
  readonly expires?: string;
  readonly note?: string;
}

const dayMs = 86_400_000;

/** Prints the new key on stdout, alone, and what it is on stderr. */
export function createKey({ subject, group = [], endpoint, expires, note, ...where }: CreateOptions): void {
  const until = expires === undefined ? undefined : dateOf(expires);
  if (expires !== undefined && until === undefined) {
    fail([`--expires: expected a number of days such as "90d", or a date such as "2027-01-31", not ${JSON.stringify(expires)}`]);
    return;
  }
  change(where, (keys) => {
    // `/mcp` itself has no name.
    const made = newKey({ subject, groups: [...group], endpoints: endpoint?.map((name) => (name === '/mcp' ? '' : name)), expires: until, note });
    return {
      keys: [...keys, made.record],
      said(file) {
        process.stderr.write(`omnibus: key ${made.record.id} of ${subject} is in ${file}, as a digest. The key itself is shown this once:\n`);
        process.stdout.write(`${made.key}\n`);
      },
    };
  });
}

export function listKeys({ json = false, ...where }: KeysOptions & { readonly json?: boolean }): void {
  const file = findFile(where);
  if (file === undefined) return;
  const keys = read(file);
  if (keys === undefined) return;
  if (json) {
    process.stdout.write(`${JSON.stringify(keys.map(({ hash: _digest, ...rest }) => rest), null, 2)}\n`);
    return;
  }
  const rows = keys.map((key) => [key.id, printable(key.subject), stateOf(key), key.endpoints?.map((name) => (name === '' ? '/mcp' : name)).join(', ') ?? 'all', key.groups.map((group) => printable(group)).join(', ') || '-', key.created ?? '-', printable(key.note ?? '')]);
  process.stdout.write(`${alignColumns([['ID', 'SUBJECT', 'STATE', 'ENDPOINTS', 'GROUPS', 'CREATED', 'NOTE'], ...rows])}\n`);
}

/** A revoked key stays in the file, so that its id is never given again and the list shows what became of it. */
export function revokeKey(id: string, where: KeysOptions): void {
  change(where, (keys) => {
    if (!keys.some((key) => key.id === id)) return { problem: `there is no key ${JSON.stringify(id)}; omnibus keys list shows those there are` };
    const now = new Date().toISOString();
    return {
      keys: keys.map((key) => (key.id === id ? { ...key, revoked: key.revoked ?? now } : key)),
      said: (file) => process.stderr.write(`omnibus: key ${id} is revoked in ${file}; gateways that follow it end what was opened with it\n`),
    };
  });
}

type Change = { readonly keys: readonly KeyRecord[]; readonly said: (file: string) => void } | { readonly problem: string };

/** Changes the file of keys, which nobody else changes meanwhile. */
function change(where: KeysOptions, make: (keys: readonly KeyRecord[]) => Change): void {
  const file = findFile(where);
  if (file === undefined) return;
  rewrite(file, () => {
    const keys = existsSync(file) ? read(file) : [];
    if (keys === undefined) return undefined;
    const changed = make(keys);
    if ('problem' in changed) return changed;
    const text = formatKeys(changed.keys);
    parseKeys(text); // What the gateway would not take is not written.
    return { text, said: () => changed.said(file) };
  });
}

function read(file: string): readonly KeyRecord[] | undefined {
  try {
    return parseKeys(readFileSync(file, 'utf8'));
  } catch (error) {
    fail([(error as NodeJS.ErrnoException).code === 'ENOENT' ? `there is no ${file}; make a key with: omnibus keys create --subject NAME` : `${file}: ${(error as Error).message}`]);
    return undefined;
  }
}

/** The file that is named, else that of the configuration. */
function findFile({ file, config }: KeysOptions): string | undefined {
  if (file !== undefined) return resolve(file);
  const settings = findSettings(config, {});
  if (settings === undefined) return undefined;
  const { auth } = settings.config;
  if (auth !== undefined && auth !== 'none' && auth.keys !== undefined) return resolve(settings.baseFolder, auth.keys.file);
  fail([`${settings.file} names no file of keys: add "auth: { keys: { file: keys.yaml } }", or give --file`]);
  return undefined;
}

/** @returns undefined when it is neither. */
function dateOf(text: string): string | undefined {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return new Date(Date.now() + Number(days) * dayMs).toISOString();
  return /^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text) && !Number.isNaN(Date.parse(text)) ? new Date(text).toISOString() : undefined;
}

function stateOf({ revoked, expires }: KeyRecord): string {
  if (revoked !== undefined) return `revoked ${revoked}`;
  if (expires === undefined) return 'good';
  return Date.parse(expires) <= Date.now() ? `expired ${expires}` : `until ${expires}`;
}
