import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { addKey, readKeys } from './key-records.ts';

it('a key that would never be valid, or until a day that there is not, is not made', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-key-records-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'keys.yaml');
  const make = (expires: string): unknown => addKey(file, { subject: 'ann', groups: [], expires });
  for (const past of ['2020-01-31', '0d', '2020-01-31T12:00:00+02:00']) expect(() => make(past), past).toThrow(`expires: "${past}" is not in the future`);
  for (const odd of ['2199-02-30', '2199-02-30T12:00:00Z', '2199-13-01', '2199-04-31', 'tomorrow', '-3d']) expect(() => make(odd), odd).toThrow('expected a number of days');
  for (const good of ['2199-02-28', '2096-02-29', '90d', '2199-01-31T23:30:00-05:00']) make(good);
  expect(readKeys(file).map(({ expires }) => expires)).toEqual(['2199-02-28T00:00:00.000Z', '2096-02-29T00:00:00.000Z', expect.any(String), '2199-02-01T04:30:00.000Z']);
});
