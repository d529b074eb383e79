/** An audit record as a row of a list. */
import type { AuditRow } from '@omnibus/admin-api';
import type { AnyRecord } from '@omnibus/audit';
import { printable } from '@omnibus/protocol';

/** Characters of a text in a row; the whole record has all of it. */
const maxText = 200;

/** The first of some members that a record has. */
export function wordOf(record: AnyRecord, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const { [name]: word } = record;
    if (typeof word === 'string' || typeof word === 'number') return String(word);
  }
  return undefined;
}

/** @param at where it is read again. */
export function rowOf(
  source: string,
  record: AnyRecord,
  { writer, seq }: { readonly writer: string; readonly seq: number },
  at: string,
): AuditRow {
  const shown = (...names: readonly string[]): string | undefined => {
    const word = wordOf(record, ...names);
    return word === undefined ? undefined : printable(word, maxText);
  };
  const { 'omnibus.duration_ms': ms } = record;
  const words = {
    who: shown('user.id', 'omnibus.principal', 'omnibus.by', 'client.address'),
    server: shown('omnibus.server'),
    what: shown('omnibus.tool', 'gen_ai.tool.name', 'mcp.resource.uri', 'mcp.method.name'),
    outcome: shown('omnibus.outcome'),
    why: shown('error.type', 'omnibus.rule'),
  };
  return {
    source,
    writer,
    seq,
    at,
    time: shown('time') ?? '',
    event: shown('event.name') ?? '',
    ...Object.fromEntries(Object.entries(words).filter(([, word]) => word !== undefined)),
    ...(typeof ms === 'number' ? { ms } : {}),
  };
}
