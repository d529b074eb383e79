/** The workflows of CI: each can be read, runs scripts that exist, and together they look for known faults of dependencies and code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from '../support/processes.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Workflow {
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[]; readonly 'timeout-minutes'?: number }>>;
}

const folder = join(root, '.github/workflows');
const workflows = readdirSync(folder).map(
  (name) => [name, parse(readFileSync(join(folder, name), 'utf8')) as Workflow] as const,
);
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const steps = workflows.flatMap(([name, { jobs }]) =>
  Object.values(jobs).flatMap((job) => job.steps.map((step) => [name, step] as const)),
);

describe.each(workflows)('%s', (_name, { permissions, jobs }) => {
  it('gives its jobs no more than the reading of the repository, unless a job asks for more', () => {
    expect(permissions).toEqual({ contents: 'read' });
  });

  it('runs scripts of package.json and files of the repository', () => {
    const runs = Object.values(jobs).flatMap((job) => job.steps.flatMap(({ run }) => run ?? []));
    for (const [, script] of runs.join('\n').matchAll(/npm run ([\w:-]+)/g))
      expect(scripts).toHaveProperty([script as string]);
    for (const [, file] of runs.join('\n').matchAll(/bash (\S+)/g))
      expect(existsSync(join(root, file as string))).toBe(true);
  });
});

it('CI looks for known faults of dependencies and of the code, and a release has bills of materials', () => {
  const of = (file: string): string => JSON.stringify(steps.filter(([name]) => name === file));
  expect(of('security.yaml')).toContain('npm audit');
  expect(of('security.yaml')).toContain('github/codeql-action/analyze');
  expect(of('release.yaml')).toContain('dist/sbom.*');
});
