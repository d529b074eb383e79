/**
 * The image, built and run for real where there is a Docker engine with its base image. `OMNIBUS_DOCKER_BUILD` holds further
 * options of the build, such as `--network=host --secret id=ca,src=FILE` behind a proxy with a certificate of its own.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root, startProcess } from '../support/processes.ts';

const base = 'node:24-bookworm-slim';
const image = 'omnibus:test';
const docker = (...args: string[]): { readonly status: number | null; readonly output: string } => {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8', env: { ...process.env, DOCKER_BUILDKIT: '1' } });
  return { status, output: `${stdout}${stderr}` };
};
const canBuild = docker('info').status === 0 && docker('build', '--help').output.includes('--secret') && (docker('image', 'inspect', base).status === 0 || docker('pull', '-q', base).status === 0);

if (canBuild) describe('the image', () => {
  it('is built, and serves without root, without a writable disk and without what is for development', { timeout: 600_000 }, async () => {
    const options = (process.env['OMNIBUS_DOCKER_BUILD'] ?? '').split(' ').filter((option) => option !== '');
    const built = docker('build', ...options, '-f', join(root, 'deploy/docker/Dockerfile'), '-t', image, root);
    expect(built.output).not.toContain('ERROR');
    expect(built.status).toBe(0);

    const folder = await mkdtemp(join(tmpdir(), 'omnibus-image-'));
    const file = join(folder, 'omnibus.yaml');
    await writeFile(file, 'mcpServers: {}\nlog: { format: json }\n', { mode: 0o644 });
    const name = `omnibus-test-${process.pid}`;
    const running = startProcess('docker', ['run', '--rm', '--name', name, '--read-only', '--cap-drop', 'ALL', '-v', `${file}:/etc/omnibus/omnibus.yaml:ro`, image]);
    await running.line(/"msg":"ready"/);
    expect(docker('exec', name, 'node', '-e', 'fetch("http://127.0.0.1:7301/readyz").then(async (answer) => console.log(await answer.text(), process.getuid()))').output).toContain('ready\n 1000');
    expect(docker('exec', name, 'node', '-e', 'require("fs").writeFileSync("/app/x", "")').output).toContain('EROFS');
    const packages = docker('exec', name, 'node', '-p', 'require("fs").readdirSync("/app/node_modules").join(" ")').output;
    expect(packages).toContain('undici');
    for (const unwanted of ['vitest', 'typescript', 'oxlint', 'knip']) expect(packages.split(/\s/)).not.toContain(unwanted);
    const stopped = new Promise((resolve) => {
      running.child.once('exit', resolve);
    });
    docker('stop', '--time', '20', name);
    expect(await stopped).toBe(0);
    await rm(folder, { recursive: true });
  });
});

it('the compose file names files that are there', async () => {
  const folder = join(root, 'deploy/docker');
  const { services } = parse(await readFile(join(folder, 'compose.yaml'), 'utf8')) as { readonly services: Readonly<Record<string, { readonly volumes?: readonly string[] }>> };
  expect(Object.keys(services).toSorted()).toEqual(['backend', 'edge', 'grafana', 'nats', 'prometheus', 'session']);
  const mounted = Object.values(services).flatMap(({ volumes = [] }) => volumes).map((volume) => volume.split(':')[0] as string).filter((path) => path.startsWith('.'));
  expect(mounted.length).toBeGreaterThan(4);
  for (const path of mounted) expect(existsSync(join(folder, path)), path).toBe(true);
});
