/** Configurations for the previous version start with this one. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { configJsonSchema, formatProblem, readConfigFile } from '@omnibus/config';
import { fixtures, unpackReleased } from './released.ts';

const folder = join(fixtures, 'configurations');

it.each(await readdir(folder))('%s is taken as it is', async (file) => {
  const read = await readConfigFile(join(folder, file), { env: {} });
  expect('problems' in read ? read.problems.map(formatProblem) : []).toEqual([]);
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
}

/** Every option and every fixed value of it, such as `mcpServers.*.era=auto`. */
function optionsOf(
  { properties = {}, additionalProperties, items, anyOf = [], enum: words = [] }: Schema,
  path = '',
): string[] {
  return [
    ...words.map((word) => `${path}=${word}`),
    ...Object.entries(properties).flatMap(([name, inner]) => [
      `${path}.${name}`,
      ...optionsOf(inner, `${path}.${name}`),
    ]),
    ...(typeof additionalProperties === 'object' ? optionsOf(additionalProperties, `${path}.*`) : []),
    ...(items === undefined ? [] : optionsOf(items, `${path}[]`)),
    ...anyOf.flatMap((inner) => optionsOf(inner, path)),
  ];
}

it('every option of the version before, and every word one may be, is there', async () => {
  await using released = await unpackReleased();
  const before = optionsOf(JSON.parse(await readFile(join(released.folder, 'omnibus.schema.json'), 'utf8')) as Schema);
  const now = new Set(optionsOf(configJsonSchema() as Schema));
  expect(before.length).toBeGreaterThan(150);
  expect(before.filter((option) => !now.has(option))).toEqual([]);
});
