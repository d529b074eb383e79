/** The results of `npm run release`, in a copy of this checkout. */
import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findHelm } from '../deploy/helm.ts';
import { root } from '../support/processes.ts';

let copy: string;
const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
    cwd: copy,
    encoding: 'utf8',
  }).trim();
const release = (...args: readonly string[]) =>
  spawnSync('node', ['scripts/package/release.mjs', ...args], {
    cwd: copy,
    encoding: 'utf8',
    // A commit needs a name; the image has its own test.
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: 'test',
      GIT_AUTHOR_EMAIL: 'test@example.com',
      GIT_COMMITTER_NAME: 'test',
      GIT_COMMITTER_EMAIL: 'test@example.com',
      DOCKER_HOST: 'unix:///nowhere',
    },
  });

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'omnibus-release-'));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
  // A file that was removed, but not committed as removed, does not exist.
  await Promise.all(
    files.filter((file) => existsSync(join(root, file))).map((file) => cp(join(root, file), join(copy, file))),
  );
  // The copy uses the dependencies that are installed here, but its own workspaces.
  await mkdir(join(copy, 'node_modules'));
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '@omnibus') await symlink(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  await cp(join(root, 'node_modules/@omnibus'), join(copy, 'node_modules/@omnibus'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  for (const folder of ['packages', 'services']) {
    for (const name of await readdir(join(copy, folder))) {
      const nested = join(root, folder, name, 'node_modules');
      if (existsSync(nested)) await symlink(nested, join(copy, folder, name, 'node_modules'));
    }
  }
  git('init', '--quiet');
  await writeFile(join(copy, '.git/info/exclude'), 'node_modules\n');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'everything');
});
afterAll(() => rm(copy, { recursive: true }));

it('is refused with a dirty tree, without a later number, and without anything to say', async () => {
  expect(release()).toMatchObject({ status: 1, stderr: expect.stringContaining('say which version') as string });
  expect(release('0.0.9')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('0.0.9 is not later than') as string,
  });
  const changelog = await readFile(join(copy, 'CHANGELOG.md'), 'utf8');
  await writeFile(
    join(copy, 'CHANGELOG.md'),
    changelog.replace(/\n## Unreleased\n[^]*?(?=\n## )/, '\n## Unreleased\n'),
  );
  expect(release('9.9.9')).toMatchObject({ status: 1, stderr: expect.stringContaining('the tree is dirty') as string });
  git('commit', '--quiet', '--all', '--message', 'nothing to say');
  expect(release('9.9.9')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('says nothing under "Unreleased"') as string,
  });
  git('reset', '--quiet', '--hard', 'HEAD~1');
  expect(git('tag', '--list')).toBe('');
});

it(
  'makes changelog, package, chart and checksums with one number, commits and tags it, and publishes nothing',
  { timeout: 180_000 },
  async () => {
    const { status, stdout, stderr } = release('9.9.9');
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toContain('published nowhere');
    expect(git('status', '--porcelain')).toBe('');
    expect(git('describe', '--tags')).toBe('v9.9.9');
    expect(await readFile(join(copy, 'CHANGELOG.md'), 'utf8')).toMatch(
      /\n## Unreleased\n\n## 9\.9\.9, \d{4}-\d{2}-\d{2}\n\n### /,
    );
    const { strayVersions } = (await import(join(copy, 'scripts/package/versions.mjs'))) as {
      readonly strayVersions: (root: string) => string[];
    };
    expect(strayVersions(copy)).toEqual([]);

    const archive = join(copy, 'dist/omnibus-gateway-9.9.9.tgz');
    expect(await readdir(join(copy, 'dist'))).toEqual([
      'SHA256SUMS',
      ...(findHelm() === undefined ? [] : ['omnibus-9.9.9.tgz']),
      'omnibus-gateway-9.9.9.tgz',
    ]);
    expect(await readFile(join(copy, 'dist/SHA256SUMS'), 'utf8')).toContain(
      `${hash('sha256', await readFile(archive))}  omnibus-gateway-9.9.9.tgz\n`,
    );
    const place = join(copy, 'dist/unpacked');
    execFileSync('sh', ['-c', `mkdir ${place} && tar -xzf ${archive} -C ${place}`]);
    expect(execFileSync('node', [join(place, 'package/bin/omnibus.js'), '--version'], { encoding: 'utf8' })).toBe(
      '9.9.9\n',
    );
    const manifest = JSON.parse(await readFile(join(place, 'package/package.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({ version: '9.9.9', gitHead: git('rev-parse', 'HEAD') });
  },
);
