/**
 * Runs a program in namespaces of its own, by bubblewrap (`bwrap`). The program can see the system's programs and libraries, its own files, its working
 * folder, and the folders that the configuration lists; it can change only those under `write` and its home. It has its own user, home, processes and
 * `/tmp`, no capabilities, and no network unless the configuration allows it. The kernel is shared, so this does not protect against faults in it.
 */
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';

export interface Sandbox {
  readonly network: boolean;
  /** Absolute paths of folders and files that it may read. */
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly home: string | undefined;
  /** The working folder; where none is configured, the program starts in its home. */
  readonly cwd: string | undefined;
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

const tool = 'bwrap';
/** Folders of the system with programs and libraries. */
const system = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store'];
/** Files and folders that programs need; the rest of `/etc` may contain keys and configurations, including those of the gateway. */
const lookedUp = [
  'alternatives',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'fonts',
  'gai.conf',
  'group',
  'host.conf',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'locale.alias',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'os-release',
  'passwd',
  'pki',
  'protocols',
  'resolv.conf',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'timezone',
].map((name) => `/etc/${name}`);
/** The home folder and the user inside of the sandbox. */
const home = '/home/server';
const uid = '1000';

/**
 * The command that starts a program in its sandbox.
 * @param path the PATH on which the program is searched. @param cwd the folder for a relative path of the program.
 * @throws {Error} in words, when bubblewrap, the program, or a configured folder does not exist.
 */
export function sandboxed({ command, args }: Launch, sandbox: Sandbox, path: string, cwd: string): Launch {
  const wrapper = findProgram(tool, path, cwd);
  if (wrapper === undefined)
    throw new Error(
      'its `sandbox` needs bubblewrap (Linux; the program bwrap on the PATH of the gateway; Debian: apt-get install bubblewrap)',
    );
  const program = findProgram(command, path, cwd);
  if (program === undefined) throw new Error('there is no such program on the PATH');
  const problem = missingPlace(sandbox);
  if (problem !== undefined) throw new Error(problem);
  const bind = (kind: '--ro-bind' | '--ro-bind-try' | '--bind', places: readonly string[]): string[] =>
    places.flatMap((place) => [kind, place, place]);
  return {
    command: wrapper,
    args: [
      '--unshare-all',
      '--unshare-user',
      '--uid',
      uid,
      '--gid',
      uid,
      ...(sandbox.network ? ['--share-net'] : []),
      '--cap-drop',
      'ALL',
      '--die-with-parent',
      ...bind('--ro-bind-try', system),
      ...bind('--ro-bind-try', lookedUp),
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--tmpfs',
      '/tmp',
      ...(sandbox.home === undefined ? ['--tmpfs', home] : ['--bind', sandbox.home, home]),
      ...bind('--ro-bind', [...partsOf(program), ...(sandbox.network ? namesOutside() : [])]),
      // Writable folders come last, since one may be inside of a folder that is only readable.
      ...bind('--ro-bind', [...(sandbox.cwd === undefined ? [] : [sandbox.cwd]), ...sandbox.read]),
      ...bind('--bind', sandbox.write),
      '--remount-ro',
      '/',
      '--setenv',
      'HOME',
      home,
      '--setenv',
      'TMPDIR',
      '/tmp',
      '--chdir',
      sandbox.cwd ?? home,
      '--',
      program,
      ...args,
    ],
  };
}

/** @returns which configured folder does not exist, in words. */
function missingPlace(sandbox: Sandbox): string | undefined {
  for (const [option, places] of [
    ['read', sandbox.read],
    ['write', sandbox.write],
    ['home', sandbox.home === undefined ? [] : [sandbox.home]],
    ['cwd', sandbox.cwd === undefined ? [] : [sandbox.cwd]],
  ] as const) {
    const missing = places.find((place) => !existsSync(place));
    if (missing !== undefined)
      return `${JSON.stringify(missing)} is not there, which its sandbox names under \`${option}\``;
  }
  return undefined;
}

/**
 * The files that a program outside of the system's folders consists of: itself or its `bin`, the package that a link points to, a virtual environment.
 */
function partsOf(program: string): readonly string[] {
  const folder = dirname(program);
  const real = realpathSync(program);
  const parts = [
    isBin(folder) ? folder : program,
    ...(real === program ? [] : [packageOf(real) ?? (isBin(dirname(real)) ? dirname(real) : real)]),
    ...(existsSync(join(folder, '..', 'pyvenv.cfg')) ? [dirname(folder)] : []),
  ];
  return [...new Set(parts)].filter((part) => !system.some((each) => part === each || part.startsWith(`${each}/`)));
}

function isBin(folder: string): boolean {
  return /^s?bin$|^\.bin$/.test(basename(folder));
}

/** The nearest parent folder with a `package.json`, which programs of npm read. */
function packageOf(file: string): string | undefined {
  for (let folder = dirname(file); dirname(folder) !== folder; folder = dirname(folder))
    if (existsSync(join(folder, 'package.json'))) return folder;
  return undefined;
}

/** The real file of `/etc/resolv.conf`, if that is a link out of `/etc`; it is needed to resolve host names. */
function namesOutside(): readonly string[] {
  try {
    const real = realpathSync('/etc/resolv.conf');
    return real.startsWith('/etc/') ? [] : [real];
  } catch {
    return []; // Host names cannot be resolved then.
  }
}

function findProgram(command: string, path: string, cwd: string): string | undefined {
  const candidates =
    isAbsolute(command) || command.includes('/')
      ? [resolve(cwd, command)]
      : path
          .split(delimiter)
          .filter((folder) => folder !== '')
          .map((folder) => join(folder, command));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK);
      return statSync(candidate).isFile();
    } catch {
      return false;
    }
  });
}
