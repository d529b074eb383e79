/** The package, made once for all its tests, and installed with npm from the archive alone into an empty folder, as users do. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../support/processes.ts';

const run = promisify(execFile);

export interface Archive {
  readonly file: string;
  readonly packedBytes: number;
}

/** @param folder for the archive; a relative path is used, from that folder. */
export async function makeArchive(folder: string): Promise<Archive> {
  await run('node', [join(root, 'scripts/package/pack.mjs'), relative(process.cwd(), folder)]);
  const [name] = (await readdir(folder)).filter((file) => file.endsWith('.tgz')) as [string];
  const file = join(folder, name);
  return { file, packedBytes: (await stat(file)).size };
}

export interface Installed {
  /** The folder of the installed package. */
  readonly folder: string;
  readonly command: string;
  /** The installed packages, as npm lists them. */
  readonly packages: readonly string[];
  readonly bytes: number;
  /** An environment with which a process records the files that it loads. */
  readonly tracing: Readonly<Record<string, string>>;
  /** The files that processes with that environment have loaded, by pid, without those of Node itself. */
  loaded(): Promise<ReadonlyMap<number, readonly string[]>>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A loader that records the loaded files of each process and thread. */
const tracer = `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) {
    if (url.startsWith('file:')) appendFileSync(process.env.OMNIBUS_TEST_LOADED + '/' + process.pid, decodeURIComponent(new URL(url).pathname) + '\\n');
    return next(url, context);
  } });
`;

/** Installs with an empty cache and without a registry, so that everything must be in the archive. */
export async function install(archive: string): Promise<Installed> {
  const place = await mkdtemp(join(tmpdir(), 'omnibus-installed-'));
  const [home, loadedFolder, tracerFile] = [join(place, 'home'), join(place, 'loaded'), join(place, 'tracer.mjs')];
  for (const folder of [home, loadedFolder]) await mkdir(folder);
  await writeFile(join(home, 'package.json'), '{}');
  await writeFile(tracerFile, tracer);
  await run(
    'npm',
    ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--cache', join(place, 'cache'), archive],
    { cwd: home },
  );
  const { packages } = JSON.parse(await readFile(join(home, 'node_modules/.package-lock.json'), 'utf8')) as {
    readonly packages: object;
  };
  const folder = join(home, 'node_modules/@omnibus/gateway');
  return {
    folder,
    command: join(home, 'node_modules/.bin/omnibus'),
    packages: Object.keys(packages).map((path) => path.replace('node_modules/', '')),
    bytes: await sizeOf(join(home, 'node_modules')),
    tracing: { NODE_OPTIONS: `--import=${tracerFile}`, OMNIBUS_TEST_LOADED: loadedFolder },
    async loaded() {
      const pids = await readdir(loadedFolder);
      return new Map(
        await Promise.all(
          pids.map(
            async (pid) => [Number(pid), (await readFile(join(loadedFolder, pid), 'utf8')).trim().split('\n')] as const,
          ),
        ),
      );
    },
    [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true }),
  };
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
