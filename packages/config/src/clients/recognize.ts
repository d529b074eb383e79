/** Recognizes the program of a file: by an option that only one program has, else by the name of the file, else by options of its entries. */
import { isMap, type Values } from '../values.ts';
import type { Client } from './client.ts';
import { anyClient, programs } from './table.ts';

/**
 * @param isOwn whether an option at the top of the file is one of Omnibus. A program may have an option of the same name (`shares`).
 * @returns undefined for a file of Omnibus, and for an unknown file.
 */
export function recognize(
  file: string,
  written: 'yaml' | 'json' | 'toml',
  value: unknown,
  isOwn: (option: string) => boolean,
): Client | undefined {
  const path = file.replaceAll('\\', '/');
  // JSON in a file of YAML belongs to no program.
  const format = /\.ya?ml$/.test(path) ? 'yaml' : written;
  // A source without such an ending is not a client's file, but an object of Kubernetes or a configuration that a program has put together.
  if (/(^|\/)omnibus[^/]*\.(ya?ml|json)$/.test(path) || !/\.(ya?ml|json[c5]?|toml)$/.test(path)) return undefined;
  if (!isMap(value)) return undefined;
  const own = Object.keys(value).filter((option) => option !== 'mcpServers' && option !== '$schema' && isOwn(option));
  const marked = programs.filter(({ marks }) => marks?.(value, format) === true);
  const found =
    // Programs with files of one form are told apart by their paths.
    marked.find(({ known }) => known.test(path)) ??
    programs.find(({ known, hasOwnPath }) => hasOwnPath === true && known.test(path)) ??
    marked[0] ??
    programs.find(({ known }) => known.test(path)) ??
    (format === 'json' ? byEntries(value) : undefined);
  // Omnibus writes no TOML.
  if (found === undefined || (format !== 'toml' && !own.every((option) => found.shares?.includes(option) === true)))
    return undefined;
  return found;
}

function byEntries(value: Values): Client | undefined {
  const { mcpServers } = value;
  const entries = isMap(mcpServers) ? Object.values(mcpServers).filter(isMap) : [];
  const found = programs.find(({ entryMarks }) => entries.some((entry) => entryMarks?.(entry) === true));
  return found ?? (Object.hasOwn(value, 'mcpServers') ? anyClient : undefined);
}
