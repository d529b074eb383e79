/**
 * Programs that the tests of this folder build with toolchains of other languages, or the reason why one is left out. Results stay for the next
 * run.
 */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { root } from '../support/processes.ts';
import { isLongLane } from '../support/lane.ts';

/** Programs and virtual environments; ignored by git. */
export const work = join(root, 'test/direct/.work');

/** Something that is built once. */
export interface Making {
  /** The toolchain that it needs. */
  readonly toolchain: 'python3' | 'go' | 'cargo' | 'npm';
  /** Whether it takes minutes to build: then it is built only when everything is requested, and used wherever it exists. */
  readonly isLong: boolean;
  /** A file that exists when it has been built; its name contains the versions. */
  readonly marker: string;
  make(): Promise<void>;
}

const checks = {
  python3: ['-m', 'venv', '--help'],
  go: ['version'],
  cargo: ['--version'],
  npm: ['--version'],
} as const;
const present = new Map<Making['toolchain'], boolean>();

function isThere(toolchain: Making['toolchain']): boolean {
  const known = present.get(toolchain) ?? spawnSync(toolchain, checks[toolchain], { stdio: 'ignore' }).status === 0;
  present.set(toolchain, known);
  return known;
}

/** Whether everything is built, however long it takes: `OMNIBUS_DIRECT=all npm test -- direct`. With `write`, a page of the documents is written too. */
export const isWhole = ['all', 'write'].includes(process.env['OMNIBUS_DIRECT'] ?? '') || isLongLane;

/** The reason why something cannot be used here; undefined when it can. */
function reasonAgainst({ toolchain, isLong, marker }: Making): string | undefined {
  if (existsSync(marker)) return undefined;
  if (!isThere(toolchain)) return `there is no ${toolchain} on this machine`;
  return isLong && !isWhole
    ? 'it takes minutes to compile; `OMNIBUS_DIRECT=all npm test -- direct` makes it, and it is used from then on'
    : undefined;
}

/** Prints left out entries, and returns the rest. */
export function usable<Item extends { readonly name: string; readonly needs?: readonly Making[] }>(
  items: readonly Item[],
): Item[] {
  return items.filter(({ name, needs = [] }) => {
    const reason = needs.map(reasonAgainst).find((each) => each !== undefined);
    if (reason !== undefined) console.log(`left out: ${name}, since ${reason}`);
    return reason === undefined;
  });
}

/** Some hundred crates have to be compiled, maybe on two busy processors. */
export const makingLimitMs = 30 * 60_000;

/** Milliseconds between two looks whether another process has built something. */
const lookMs = 200;

const inTheMaking = new Map<Making, Promise<void>>();

/** Builds what does not exist yet. @throws {Error} with the output of the toolchain. */
export async function make(needs: readonly Making[] = []): Promise<void> {
  for (const need of needs) {
    if (existsSync(need.marker)) continue;
    const making = inTheMaking.get(need) ?? alone(need);
    inTheMaking.set(need, making);
    await making;
  }
}

/** Builds something unless another process builds it: test files run at the same time, and several use the same environments. */
async function alone(need: Making): Promise<void> {
  const { marker } = need;
  await mkdir(work, { recursive: true });
  const lock = join(work, `${hash('sha256', marker, 'hex').slice(0, 16)}.lock`);
  while (!existsSync(marker)) {
    try {
      await writeFile(lock, String(process.pid), { flag: 'wx' });
    } catch {
      if (!isRunning(lock)) await rm(lock, { force: true });
      await wait(lookMs);
      continue;
    }
    try {
      if (!existsSync(marker)) await need.make();
    } finally {
      await rm(lock, { force: true });
    }
  }
}

/** Whether the process that has written its number into the file is there. It may not have written it yet, or have removed the file. */
function isRunning(lock: string): boolean {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Runs a build step to its end. @throws {Error} with its output. */
function build(
  command: string,
  args: readonly string[],
  cwd: string = root,
  env: Readonly<Record<string, string>> = {},
): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}

/** A virtual environment with packages of PyPI. */
function pythonEnvironment(
  name: string,
  packages: readonly string[],
): Making & { readonly python: string; program(name: string): string } {
  const folder = join(work, `python-${name}`);
  const python = join(folder, 'bin', 'python');
  const marker = join(folder, packages.join(' '));
  return {
    toolchain: 'python3',
    isLong: false,
    marker,
    python,
    program: (program) => join(folder, 'bin', program),
    async make() {
      await mkdir(work, { recursive: true });
      build('python3', ['-m', 'venv', '--clear', folder]);
      build(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
      await writeFile(marker, '');
    },
  };
}

/** Programs of published modules of the Go module proxy. */
function goPrograms(
  module: string,
  version: string,
  packages: readonly string[],
): Making & { program(name: string): string } {
  const folder = join(work, 'go', version);
  return {
    toolchain: 'go',
    isLong: false,
    marker: join(folder, 'made'),
    program: (name) => join(folder, name),
    async make() {
      await mkdir(folder, { recursive: true });
      for (const each of packages) {
        build('go', ['install', `${module}/${each}@${version}`], root, { GOBIN: folder });
      }
      await writeFile(join(folder, 'made'), '');
    },
  };
}

/** Servers and a client on the official SDK and on FastMCP. */
export const pythonSdks = pythonEnvironment('sdks', ['mcp==2.3.0', 'fastmcp==4.1.1']);
/** Servers that the project of the protocol publishes. */
export const pythonServers = pythonEnvironment('servers', [
  'mcp-server-git==2026.10.19',
  'mcp-server-time==2026.10.19',
  'mcp-server-fetch==2026.10.24',
]);
/** The conformance server of the SDK, and its example with all features. */
export const goServers = goPrograms('github.com/modelcontextprotocol/go-sdk', 'v1.8.0', [
  'conformance/everything-server',
  'examples/server/everything',
]);

/** The module of `go/`, on the published SDK. */
function goModule(): Making & { readonly program: string; readonly signIn: string } {
  const sources = join(root, 'test/direct/go');
  const folder = join(work, 'go', 'module');
  const marker = join(folder, `made-of-${digestOf(sources)}`);
  return {
    toolchain: 'go',
    isLong: false,
    marker,
    program: join(folder, 'client'),
    signIn: join(folder, 'sign-in'),
    async make() {
      await cp(sources, folder, { recursive: true });
      build('go', ['mod', 'tidy'], folder);
      build('go', ['build', '-o', 'client', '.'], folder);
      build('go', ['build', '-o', 'sign-in', './signin'], folder);
      await writeFile(marker, '');
    },
  };
}

/** A program of npm that is needed only here. */
function npmProgram(name: string, version: string, program: string): Making & { readonly program: string } {
  const folder = join(work, `${name}-${version}`);
  const marker = join(folder, 'made');
  return {
    toolchain: 'npm',
    isLong: false,
    marker,
    program: join(folder, 'node_modules', name, program),
    async make() {
      await mkdir(folder, { recursive: true });
      build('npm', [
        'install',
        '--no-audit',
        '--no-fund',
        '--ignore-scripts',
        '--loglevel=error',
        '--prefix',
        folder,
        `${name}@${version}`,
      ]);
      await writeFile(marker, '');
    },
  };
}

/** The program that connects desktop clients without OAuth to a server over HTTP. */
export const mcpRemote = npmProgram('mcp-remote', '0.15.1', 'dist/proxy.js');

/** A digest of the files of a source folder: when they change, it is built again. */
function digestOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted();
  return hash('sha256', files.map((file) => readFileSync(file, 'utf8')).join('\n')).slice(0, 12);
}

/** The crate of `rust/`, on the published SDK. */
function crate(): Making & { program(name: string): string } {
  const sources = join(root, 'test/direct/rust');
  const folder = join(work, 'rust');
  const marker = join(folder, `made-of-${digestOf(sources)}`);
  return {
    toolchain: 'cargo',
    isLong: true,
    marker,
    program: (program) => join(folder, 'target', 'debug', program),
    async make() {
      await cp(sources, folder, { recursive: true });
      build('cargo', ['build', '--quiet', '--bins'], folder);
      await writeFile(marker, '');
    },
  };
}

export const rustPrograms = crate();
export const goClient = goModule();
