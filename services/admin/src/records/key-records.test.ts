import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { addKey, readKeys, revokeKeyIn, UnknownKey } from './key-records.ts';

it('a key that would never be valid, or until a day that there is not, is not made', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-key-records-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'keys.yaml');
  const make = (expires: string): Promise<unknown> => addKey(file, { subject: 'ann', groups: [], expires });
  for (const past of ['2020-01-31', '0d', '2020-01-31T12:00:00+02:00'])
    await expect(make(past), past).rejects.toThrow(`expires: "${past}" is not in the future`);
  for (const odd of ['2199-02-30', '2199-02-30T12:00:00Z', '2199-13-01', '2199-04-31', 'tomorrow', '-3d'])
    await expect(make(odd), odd).rejects.toThrow('expected a number of days');
  for (const good of ['2199-02-28', '2096-02-29', '90d', '2199-01-31T23:30:00-05:00']) await make(good);
  expect(readKeys(file).map(({ expires }) => expires)).toEqual([
    '2199-02-28T00:00:00.000Z',
    '2096-02-29T00:00:00.000Z',
    expect.any(String),
    '2199-02-01T04:30:00.000Z',
  ]);
});

it('an endpoint of a key is named by its path too, as clients have it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-key-records-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'keys.yaml');
  await addKey(file, { subject: 'ann', groups: [], endpoints: ['/mcp', '/mcp/github', 'files'] });
  expect(readKeys(file).map(({ endpoints }) => endpoints)).toEqual([['', 'github', 'files']]);
  await expect(addKey(file, { subject: 'ann', groups: [], endpoints: ['/sse/github'] })).rejects.toThrow(
    'expected the name of an endpoint',
  );
});

it('a key is revoked by its id or by the whole key, and no message repeats a whole one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-key-records-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'keys.yaml');
  const [one, two, three] = [
    await addKey(file, { subject: 'ann', groups: [] }),
    await addKey(file, { subject: 'ann', groups: [] }),
    await addKey(file, { subject: 'ann', groups: [] }),
  ];
  expect([await revokeKeyIn(file, one.key), await revokeKeyIn(file, two.id)]).toEqual([one.id, two.id]);
  // The id of a key with another secret says nothing about the key that there is.
  const forged = `${three.key.slice(0, -4)}abcd`;
  const refused = await revokeKeyIn(file, forged).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(UnknownKey);
  expect(String(refused)).not.toContain(forged.slice(0, 20));
  await expect(revokeKeyIn(file, 'none')).rejects.toThrow('has no key "none"');
  expect(readKeys(file).map(({ revoked }) => revoked !== undefined)).toEqual([true, true, false]);
});
