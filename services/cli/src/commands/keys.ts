/** Makes, lists and revokes API keys: lines of a file that the gateway follows. A new key appears once, at its creation. */
import type { KeyRecord } from '@omnibus/identity';
import { printable } from '@omnibus/protocol';
import { addKey, readKeys, revokeKeyIn, UnknownKey } from '@omnibus/admin/keys';
import { CommandProblem } from '@omnibus/client';
import { answerEither, answerJson, answerList, notice } from '../output/outcome.ts';
import { inNamedFile, type NamedFileOptions } from './named-file.ts';

export interface CreateOptions extends NamedFileOptions {
  readonly subject: string;
  readonly tenant?: string;
  readonly group?: readonly string[];
  readonly endpoint?: readonly string[];
  readonly tool?: readonly string[];
  /** A number of days such as `90d`, or a date. */
  readonly expires?: string;
  readonly note?: string;
}

/** Prints the new key on stdout, which carries nothing else, and a message about it on stderr. */
export function createKey({
  subject,
  tenant,
  group = [],
  endpoint,
  tool,
  expires,
  note,
  ...where
}: CreateOptions): Promise<void> {
  return inFile(where, async (file) => {
    const { id, key } = await addKey(file, {
      subject,
      tenant,
      groups: group,
      endpoints: endpoint,
      tools: tool,
      expires,
      note,
    });
    if (where.json !== true)
      notice(
        `omnibus: key ${id} of ${printable(subject)} was added to ${file}, as a digest. The key itself is shown only now:`,
      );
    answerEither(where.json, { id, key, subject, file }, `${key}\n`);
  });
}

export function listKeys(where: NamedFileOptions): Promise<void> {
  return inFile(where, (file) => {
    const keys = readKeys(file);
    const rows = keys.map((key) => [
      key.id,
      key.subject,
      stateOf(key),
      key.endpoints?.map((name) => (name === '' ? '/mcp' : name)).join(', ') ?? 'all',
      key.tools?.map((pattern) => printable(pattern)).join(', ') ?? 'all',
      key.groups.map((group) => printable(group)).join(', ') || '-',
      key.tenant ?? '-',
      key.created ?? '-',
      key.note ?? '',
    ]);
    answerList(
      where.json,
      keys.map(({ hash: _digest, ...rest }) => rest),
      { head: ['ID', 'SUBJECT', 'STATE', 'ENDPOINTS', 'TOOLS', 'GROUPS', 'TENANT', 'CREATED', 'NOTE'], rows },
    );
  });
}

/** @param given the id of the key, or the whole key. */
export function revokeKey(given: string, where: NamedFileOptions): Promise<void> {
  return inFile(where, async (file) => {
    // Where there is no file, none is made.
    readKeys(file);
    const id = await revokeKeyIn(file, given).catch((error: unknown) => {
      throw error instanceof UnknownKey
        ? new CommandProblem('unknown', error.message, { advice: '"omnibus keys list" shows their ids.' })
        : error;
    });
    if (where.json === true) answerJson({ id, file, isRevoked: true });
    else
      notice(
        `omnibus: key ${id} is revoked in ${file}; a running gateway refuses it from now on, and ends the streams that were opened with it`,
      );
  });
}

function inFile(where: NamedFileOptions, work: (file: string) => void | Promise<void>): Promise<void> {
  return inNamedFile(
    where,
    { of: ({ keys }) => keys?.file, missing: 'a file of keys: add "auth: { keys: { file: keys.yaml } }"' },
    work,
  );
}

function stateOf({ revoked, expires }: KeyRecord): string {
  if (revoked !== undefined) return `revoked ${revoked}`;
  if (expires === undefined) return 'good';
  return Date.parse(expires) <= Date.now() ? `expired ${expires}` : `until ${expires}`;
}
