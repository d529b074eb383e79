/** Programs that the tests need beside Node. As root on Debian, their packages are installed: after a question at a terminal, with a note elsewhere. */
import { spawnSync } from 'node:child_process';
import { readSync } from 'node:fs';

/** Requires a program on the PATH, or installs its Debian package where that is permitted; otherwise the run ends. */
export function provide(program, debianPackage) {
  if (installed(program, debianPackage)) return;
  console.error(
    `omnibus: the tests need ${program}. Install it (Debian: apt-get install ${debianPackage}; macOS: brew install ${debianPackage}; CONTRIBUTING.md has more), then run this again.`,
  );
  process.exit(1);
}

/** @returns whether the program exists, after an attempt to install it where the user is root and agrees. */
export function installed(program, debianPackage) {
  if (exists(program)) return true;
  if (exists('apt-get') && process.getuid?.() === 0 && mayInstall(program, debianPackage)) {
    const quiet = {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'inherit'],
    };
    spawnSync('apt-get', ['update', '-q'], quiet);
    spawnSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', debianPackage], quiet);
  }
  return exists(program);
}

/** Asks at a terminal. Elsewhere, as in CI, it says what is installed as root, and that OMNIBUS_INSTALL=no forbids it. */
function mayInstall(program, debianPackage) {
  if (process.env.OMNIBUS_INSTALL === 'no') return false;
  if (process.stdin.isTTY && process.env.CI === undefined) {
    process.stderr.write(`omnibus: ${program} is missing. Install the Debian package ${debianPackage} as root? [y/N] `);
    const answer = Buffer.alloc(64);
    return /^y/i.test(answer.toString('utf8', 0, readSync(0, answer)));
  }
  console.error(
    `omnibus: ${program} is missing; installing the Debian package ${debianPackage} as root (OMNIBUS_INSTALL=no forbids that)`,
  );
  return true;
}

/** Whether a program of that name can be started. Its exit status says nothing: `secret-tool`, for example, has no `--version` and ends with 2. */
function exists(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}
