/** The image, built and run where there is a Docker engine. */
import { spawnSync } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '@omnibus/config';
import { version } from '@omnibus/protocol';
import { makeArchive } from '../package/installed.ts';
import { omnibusProgram, root, startProcess } from '../support/processes.ts';

const base = 'node:24-bookworm-slim';
const image = 'omnibus:test';
/** Bound on the compressed size, as a registry stores it; the measured size is in docs/how-to/install.md. */
const mostBytes = 120_000_000;
const docker = (...args: string[]): { readonly status: number | null; readonly output: string } => {
  const { status, stdout, stderr } = spawnSync('docker', args, { encoding: 'utf8', maxBuffer: 10_000_000 });
  return { status, output: `${stdout}${stderr}` };
};
const canBuild = docker('info').status === 0;

if (canBuild)
  describe('the image', () => {
    it(
      'is built from the package, holds no shell, and serves without root and without a writable disk',
      { timeout: 300_000 },
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'omnibus-image-'));
        const context = join(folder, 'dist');
        await mkdir(context);
        await makeArchive(context);
        // Without a registry, programs of this machine replace those of the base image.
        const nodeImage =
          docker('image', 'inspect', base).status === 0 || docker('pull', '-q', base).status === 0
            ? base
            : importBase(folder);
        const built = docker(
          'build',
          '--build-arg',
          `NODE_IMAGE=${nodeImage}`,
          '--build-arg',
          `VERSION=${version}`,
          '-f',
          join(root, 'deploy/docker/Dockerfile'),
          '-t',
          image,
          context,
        );
        expect(built, built.output).toMatchObject({ status: 0 });

        const file = join(folder, 'omnibus.yaml');
        await writeFile(file, 'mcpServers: {}\nlog: { format: json }\n', { mode: 0o644 });
        const name = `omnibus-test-${process.pid}`;
        await using running = startProcess('docker', [
          'run',
          '--rm',
          '--name',
          name,
          '--read-only',
          '--cap-drop',
          'ALL',
          '-v',
          `${file}:/etc/omnibus/omnibus.yaml:ro`,
          image,
        ]);
        await running.line(/"msg":"ready"/);
        // The image authenticates callers by default: the first key is printed once.
        expect(running.output()).toMatch(/^omk_\S+$/m);
        expect(
          docker(
            'exec',
            name,
            'node',
            '-e',
            'fetch("http://127.0.0.1:7301/readyz").then(async (answer) => console.log(await answer.text(), process.getuid()))',
          ).output,
        ).toContain('ready\n 1000');
        expect(docker('exec', name, 'node', '-e', 'require("fs").writeFileSync("/app/x", "")').output).toContain(
          'EROFS',
        );
        expect(docker('exec', name, 'node', '-p', 'require("fs").readdirSync("/app").join(" ")').output.trim()).toBe(
          'LICENSE LICENSES-OF-OTHERS.md README.md bin console dist docs omnibus.schema.json package.json sbom.cdx.json',
        );
        expect(docker('exec', name, 'node', '/app/bin/omnibus.js', 'status').output).toContain('ready');
        expect(docker('exec', name, 'sh', '-c', 'true').output).toContain('not found');
        const stopped = new Promise((resolve) => {
          running.child.once('exit', resolve);
        });
        docker('stop', '--time', '20', name);
        expect(await stopped).toBe(0);

        const labels = JSON.parse(
          docker('image', 'inspect', image, '--format', '{{json .Config.Labels}}').output,
        ) as Readonly<Record<string, string>>;
        expect(labels).toMatchObject({
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.licenses': 'MIT',
          'dev.omnibus.sbom': '/app/sbom.cdx.json',
        });
        const { stdout } = spawnSync('sh', ['-c', `docker save ${image} | gzip -1 | wc -c`], { encoding: 'utf8' });
        expect(Number(stdout)).toBeGreaterThan(1_000_000);
        expect(Number(stdout)).toBeLessThan(mostBytes);
        await rm(folder, { recursive: true });
      },
    );
  });

/** Makes a base image with the Node of this checkout and the programs that the Dockerfile calls, for machines without a registry. @returns its name. */
function importBase(folder: string): string {
  const tag = 'omnibus:base';
  const script = `
    mkdir -p base/usr/local/bin base/tmp && cp --dereference "$(command -v node)" base/usr/local/bin/node
    for program in base/usr/local/bin/node /bin/sh /bin/bash /bin/tar /bin/gzip /bin/grep /bin/cp /bin/mkdir /bin/chmod /bin/chown /usr/bin/ldd; do
      case "$program" in /*) cp --parents --dereference "$program" base;; esac
      for library in $(ldd "$program" 2> /dev/null | grep -o '/[^ ]*'); do cp --parents --dereference "$library" base; done
    done
    tar -C base -c . | docker import - ${tag}`;
  const { status, stderr } = spawnSync('sh', ['-ec', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
  });
  if (status !== 0) throw new Error(`a base image could not be made: ${stderr}`);
  return tag;
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly volumes?: readonly string[];
        readonly command?: readonly string[];
        readonly environment?: Readonly<Record<string, string>>;
      }
    >
  >;
}

it('every file that compose mounts is there, and the configuration is one that Omnibus takes', async () => {
  const folder = join(root, 'deploy/docker');
  const { services } = parse(await readFile(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
  expect(Object.keys(services)).toEqual([
    'nats',
    'nats-users',
    'nats-setup',
    'edge',
    'sealing-key',
    'session',
    'backend',
    'prometheus',
    'grafana',
  ]);
  const mounts = Object.values(services)
    .flatMap(({ volumes = [] }) => volumes)
    .map((volume) => volume.split(':')[0] as string)
    .filter((source) => source.startsWith('.'));
  expect(mounts.length).toBeGreaterThan(5);
  for (const source of mounts) await access(join(folder, source));
  for (const role of ['edge', 'session', 'backend'])
    expect(services[role]?.command).toEqual(['serve', '--config', '/etc/omnibus/omnibus.yaml', '--role', role]);
  const file = join(folder, 'config/omnibus.yaml');
  const env = { NATS_USER: 'edge' };
  expect('problems' in loadConfig({ file, text: await readFile(file, 'utf8'), env, readFile: () => 'secret' })).toBe(
    false,
  );
});

it('compose makes a password for each user of NATS, once, and each process mounts its own', async () => {
  const { services } = parse(await readFile(join(root, 'deploy/docker/compose.yaml'), 'utf8'), {
    merge: true,
  }) as Compose;
  const users = ['edge', 'session', 'backend', 'setup'];
  for (const user of users) {
    const service = services[user === 'setup' ? 'nats-setup' : user];
    expect(service?.environment).toMatchObject({ NATS_USER: user });
    expect(service?.volumes?.filter((volume) => volume.includes('-login:'))).toEqual([`${user}-login:/login:ro`]);
  }
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-logins-'));
  for (const user of users) await mkdir(join(folder, 'logins', user), { recursive: true });
  await mkdir(join(folder, 'nats'));
  const {
    command: [script],
  } = services['nats-users'] as { readonly command: readonly [string] };
  const make = async (): Promise<readonly string[]> => {
    const here = script
      .replaceAll('/tmp/', `${folder}/`)
      .replaceAll('/logins/', `${folder}/logins/`)
      .replaceAll('/etc/nats-users/', `${folder}/nats/`)
      .replaceAll('/app/bin/omnibus.js', omnibusProgram)
      .replaceAll('$$', '$');
    expect(spawnSync('node', ['--eval', here], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    return Promise.all(users.map((user) => readFile(join(folder, 'logins', user, 'password'), 'utf8')));
  };
  const made = await make();
  expect(new Set(made).size).toBe(4);
  expect(await make()).toEqual(made);
  const settings = await readFile(join(folder, 'nats/nats.conf'), 'utf8');
  for (const [index, user] of users.entries())
    expect(settings).toContain(`{ user: ${user}, password: ${made[index]}, permissions: {`);
  await rm(folder, { recursive: true });
});

it('compose makes a sealing key once, which only edges and session workers see', async () => {
  const { services } = parse(await readFile(join(root, 'deploy/docker/compose.yaml'), 'utf8'), {
    merge: true,
  }) as Compose;
  expect(
    Object.keys(services).filter(
      (name) => services[name]?.volumes?.some((volume) => volume.startsWith('keys:')) === true,
    ),
  ).toEqual(['edge', 'sealing-key', 'session']);
  expect(services['edge']?.volumes).toContain('identity:/var/lib/omnibus');
  const keys = await mkdtemp(join(tmpdir(), 'omnibus-keys-'));
  const file = services['session']?.environment?.['OMNIBUS_SEALING_KEY_FILE']?.replace('/keys', keys) as string;
  const {
    command: [script],
  } = services['sealing-key'] as { readonly command: readonly [string] };
  const make = (): Promise<string> => {
    expect(spawnSync('node', ['--eval', script.replaceAll('/keys/', `${keys}/`)], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
    return readFile(file, 'utf8');
  };
  const made = await make();
  expect(Buffer.from(made, 'base64').length).toBe(32);
  expect(await make()).toBe(made);
  await rm(keys, { recursive: true });
});
