import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { digestOf, formatUsers, leastCost, parseUsers, Users } from './users.ts';

it('a user is known by his password alone, and none any more when he leaves the file; a file that is wrong changes nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-users-'));
  const file = join(folder, 'users.yaml');
  const record = { name: 'ann', password: await digestOf('correct horse battery'), groups: ['team'] };
  await writeFile(file, formatUsers([record, { ...record, name: 'bob' }]));
  const left: string[] = [];
  const rejected: string[] = [];
  const users = await Users.open(file, {
    left: (users) => left.push(...users.map(({ name }) => name)),
    rejected: (problem) => rejected.push(problem),
  });
  onTestFinished(async () => {
    await users.close();
    await rm(folder, { recursive: true });
  });
  expect(await users.verify('ann', 'correct horse battery')).toMatchObject({ name: 'ann', groups: ['team'] });
  expect(
    await Promise.all([
      users.verify('ann', 'wrong'),
      users.verify('nobody', 'correct horse battery'),
      users.verify('ann', ''),
    ]),
  ).toEqual([undefined, undefined, undefined]);
  await writeFile(file, 'users: [{ name: ann, password: plain }]');
  await expect.poll(() => rejected.length).toBe(1);
  expect(users.find('ann')).toBeDefined();
  await writeFile(file, formatUsers([record]));
  await expect.poll(() => left).toEqual(['bob']);
  await rm(file);
  await expect.poll(() => rejected.at(-1)).toContain('does not exist');
  expect(users.find('ann')).toBeDefined();
  await writeFile(file, '');
  await expect.poll(() => rejected.at(-1)).toContain('is empty');
  expect([users.find('ann') !== undefined, left]).toEqual([true, ['bob']]);
  await writeFile(file, 'users:\n');
  await expect.poll(() => left).toEqual(['bob', 'ann']);
});

it('a file names each user once, with a digest', async () => {
  const digest = await digestOf('correct horse battery', leastCost);
  expect(() => parseUsers('users: [{ name: ann, password: secret }]')).toThrow('omnibus users add');
  expect(() => parseUsers('users: [{ name: "a b", password: secret }]')).toThrow('expected');
  expect(() => parseUsers(`users: [{ name: ann, password: "${digest}", groups: ["a\\nb"] }]`)).toThrow(
    'users.0.groups.0: this name has a control character',
  );
  expect(parseUsers('')).toEqual([]);
  expect(() =>
    parseUsers(formatUsers([{ name: 'ann', password: digest, groups: [] }]).replace('password: ', 'password: "')),
  ).toThrow(/^it is no YAML: line \d+, column \d+ \(\w+\)$/);
});
