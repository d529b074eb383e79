/**
 * The image, built and run for real where there is a Docker engine with its base image. `OMNIBUS_DOCKER_BUILD` holds further
 * options of the build, such as `--network=host --secret id=ca,src=FILE` behind a proxy with a certificate of its own.
 */
import { spawnSync } from 'node:child_process';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '@omnibus/config';
import { root, startProcess } from '../support/processes.ts';

const base = 'node:24-bookworm-slim';
const image = 'omnibus:test';
const docker = (...args: string[]): { readonly status: number | null; readonly output: string } => {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8', env: { ...process.env, DOCKER_BUILDKIT: '1' } });
  return { status, output: `${stdout}${stderr}` };
};
const canBuild = docker('info').status === 0 && docker('build', '--help').output.includes('--secret') && (docker('image', 'inspect', base).status === 0 || docker('pull', '-q', base).status === 0);

function build(tag: string, ...more: readonly string[]): void {
  const options = (process.env['OMNIBUS_DOCKER_BUILD'] ?? '').split(' ').filter((option) => option !== '');
  const built = docker('build', ...options, ...more, '-f', join(root, 'deploy/docker/Dockerfile'), '-t', tag, root);
  expect(built.output).not.toContain('ERROR');
  expect(built.status).toBe(0);
}

if (canBuild) describe('the image', () => {
  it('is built, and serves without root, without a writable disk and without what is for development', { timeout: 600_000 }, async () => {
    build(image);
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-image-'));
    const file = join(folder, 'omnibus.yaml');
    await writeFile(file, 'mcpServers: {}\nlog: { format: json }\n', { mode: 0o644 });
    const name = `omnibus-test-${process.pid}`;
    const running = startProcess('docker', ['run', '--rm', '--name', name, '--read-only', '--cap-drop', 'ALL', '-v', `${file}:/etc/omnibus/omnibus.yaml:ro`, image]);
    await running.line(/"msg":"ready"/);
    // The image knows its callers from the start: the first key is shown once.
    expect(running.output()).toMatch(/^omk_\S+$/m);
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

  it('has a variant that starts servers with npx and uvx, without root too', { timeout: 600_000 }, () => {
    build(`${image}-launchers`, '--target', 'launchers');
    for (const launcher of ['npx', 'uvx']) {
      const { status, output } = docker('run', '--rm', '--read-only', '--tmpfs', '/tmp:exec', '--cap-drop', 'ALL', '--entrypoint', launcher, `${image}-launchers`, '--version');
      expect(output).toMatch(/\d+\.\d+\.\d+/);
      expect(status).toBe(0);
    }
  });
});

interface Compose {
  readonly services: Readonly<Record<string, { readonly volumes?: readonly string[]; readonly command?: readonly string[]; readonly environment?: Readonly<Record<string, string>> }>>;
}

it('every file that compose mounts is there, and the configuration is one that Omnibus takes', async () => {
  const folder = join(root, 'deploy/docker');
  const { services } = parse(await readFile(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
  expect(Object.keys(services)).toEqual(['nats', 'edge', 'sealing-key', 'session', 'backend', 'prometheus', 'grafana']);
  const mounts = Object.values(services).flatMap(({ volumes = [] }) => volumes).map((volume) => volume.split(':')[0] as string).filter((source) => source.startsWith('.'));
  expect(mounts.length).toBeGreaterThan(5);
  for (const source of mounts) await access(join(folder, source));
  for (const role of ['edge', 'session', 'backend']) expect(services[role]?.command).toEqual(['serve', '--config', '/etc/omnibus/omnibus.yaml', '--role', role]);
  const file = join(folder, 'config/omnibus.yaml');
  expect('problems' in loadConfig({ file, text: await readFile(file, 'utf8'), env: {}, readFile: () => '' })).toBe(false);
});

it('compose makes a sealing key once, which only edges and session workers see', async () => {
  const { services } = parse(await readFile(join(root, 'deploy/docker/compose.yaml'), 'utf8'), { merge: true }) as Compose;
  expect(Object.keys(services).filter((name) => services[name]?.volumes?.some((volume) => volume.startsWith('keys:')) === true)).toEqual(['edge', 'sealing-key', 'session']);
  expect(services['edge']?.volumes).toContain('identity:/var/lib/omnibus');
  const keys = await mkdtemp(join(tmpdir(), 'omnibus-keys-'));
  const file = services['session']?.environment?.['OMNIBUS_SEALING_KEY_FILE']?.replace('/keys', keys) as string;
  const [script] = services['sealing-key']?.command as [string];
  const make = (): Promise<string> => {
    expect(spawnSync('sh', ['-c', script.replaceAll('/keys/', `${keys}/`)], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    return readFile(file, 'utf8');
  };
  const made = await make();
  expect(Buffer.from(made, 'base64').length).toBe(32);
  expect(await make()).toBe(made);
  await rm(keys, { recursive: true });
});
