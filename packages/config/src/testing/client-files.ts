/** Files of other programs as rows: the user's file, the gateway's reading of it, and the remarks. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { readClientFile } from '../clients/read.ts';
import { loadConfig } from '../load.ts';

export interface Row {
  readonly title: string;
  readonly file?: string;
  readonly content: string | object;
  readonly client: string;
  readonly servers: object;
  /** Parts of the remarks, one of each; the number of remarks is exact. */
  readonly remarks?: readonly string[];
}

export const text = (content: string | object): string =>
  typeof content === 'string' ? content : JSON.stringify(content);
export const here = (path: string): string => join(process.cwd(), path);

/** Reads the file of a row, compares it with the row, and loads the result as a configuration. */
export function expectImport({ file = 'some.json', content, client, servers, remarks = [] }: Row): void {
  const read = readClientFile(file, text(content), process.cwd());
  const said = read.remarks.map((remark) => remark.text);
  expect(read.client.id).toBe(client);
  expect(read.servers).toEqual(servers);
  expect(said).toEqual(remarks.map((part) => expect.stringContaining(part) as string));
  // The import is a valid configuration.
  const loaded = loadConfig({
    file: 'omnibus.json',
    text: JSON.stringify({ mcpServers: read.servers }),
    env: {},
    readFile: () => 'x',
  });
  expect('problems' in loaded ? loaded.problems : []).toEqual([]);
}
