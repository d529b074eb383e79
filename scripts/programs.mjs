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

/**
 * Whether there is Chromium, after an attempt to install it. Debian has it without windows too, which costs tests a third of the processor time.
 * @returns {boolean}
 */
export function installedBrowser() {
  const [shell, whole] = ['chromium-headless-shell', 'chromium'];
  if (exists(shell)) return true;
  // At a terminal, a user with the whole browser is not asked for another one.
  if (isPackaged(shell) && !(asksFirst() && exists(whole)) && installed(shell, shell)) return true;
  return installed(whole, whole);
}

/** Whether apt's lists name a package. Before the first `apt-get update` they are empty. */
function isPackaged(debianPackage) {
  return spawnSync('apt-cache', ['show', debianPackage], { stdio: 'ignore' }).status === 0;
}

/** Asks at a terminal. Elsewhere, as in CI, it says what is installed as root, and that OMNIBUS_INSTALL=no forbids it. */
function mayInstall(program, debianPackage) {
  if (process.env.OMNIBUS_INSTALL === 'no') return false;
  if (asksFirst()) {
    process.stderr.write(`omnibus: ${program} is missing. Install the Debian package ${debianPackage} as root? [y/N] `);
    const answer = Buffer.alloc(64);
    return /^y/i.test(answer.toString('utf8', 0, readSync(0, answer)));
  }
  console.error(
    `omnibus: ${program} is missing; installing the Debian package ${debianPackage} as root (OMNIBUS_INSTALL=no forbids that)`,
  );
  return true;
}

/** Whether a user at a terminal is asked before an installation. */
const asksFirst = () => process.stdin.isTTY && process.env.CI === undefined;

/** Whether a program of that name can be started. Its exit status says nothing: `secret-tool`, for example, has no `--version` and ends with 2. */
function exists(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}
