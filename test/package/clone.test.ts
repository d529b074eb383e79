/** The dependencies that `npm start` installs in a clone are sufficient to bundle and run it. None is a compiler, a tool of tests, or a large part that few use. */
import { execFile, execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { version } from '@omnibus/protocol';
import { root } from '../support/processes.ts';

const run = promisify(execFile);

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      { readonly dev?: boolean; readonly devOptional?: boolean; readonly link?: boolean; readonly resolved?: string }
    >
  >;
}

it('a clone is built and run with what is not for development', { timeout: 180_000 }, async () => {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const wanted = Object.entries(packages).filter(
    ([path, { dev = false, devOptional = false }]) => path.includes('node_modules/') && !dev && !devOptional,
  );
  const names = wanted.map(([path]) => path.split('node_modules/').at(-1));
  expect(names).toEqual(
    expect.arrayContaining(['rolldown', 'vite', '@modelcontextprotocol/server-everything', 'undici', 'zod']),
  );
  const tools = ['vitest', 'oxlint', 'knip', 'turbo', 'testcontainers', 'kubernetes-models', 'fast-check'];
  const large = [
    'node',
    'typescript',
    '@kubernetes/client-node',
    '@aws-sdk/credential-provider-node',
    '@opentelemetry/core',
  ];
  expect(names.filter((name) => [...tools, ...large].includes(name ?? ''))).toEqual([]);

  const clone = await mkdtemp(join(tmpdir(), 'omnibus-clone-'));
  const files = execFileSync(
    'git',
    [
      'ls-files',
      '--cached',
      '--others',
      '--exclude-standard',
      'packages',
      'services',
      'scripts',
      'docs',
      'deploy/package.json',
      'test/package.json',
      '*.json',
    ],
    { cwd: root, encoding: 'utf8' },
  )
    .trim()
    .split('\n');
  await Promise.all(files.map((file) => cp(join(root, file), join(clone, file))));
  for (const [path, { link = false, resolved = '' }] of wanted) {
    const place = join(clone, path);
    // A nested package is counted with the outer one.
    if (!link && path.lastIndexOf('node_modules/') > 0) continue;
    await mkdir(dirname(place), { recursive: true });
    if (link) await symlink(join(clone, resolved), place);
    else await symlink(join(root, path), place).catch(() => undefined);
  }
  await run('node', [join(clone, 'scripts/package/program.mjs'), '--if-changed'], { cwd: clone });
  expect((await run('node', [join(clone, 'services/gateway/bin/omnibus.js'), '--version'])).stdout).toBe(
    `${version}\n`,
  );
  expect(
    (
      await run(
        'node',
        [join(clone, 'services/gateway/bin/omnibus.js'), 'check', join(root, 'deploy/examples/quickstart.yaml')],
        { cwd: root },
      )
    ).stdout,
  ).toContain('is good: 4 servers');
  await rm(clone, { recursive: true });
});
