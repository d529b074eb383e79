/**
 * The keychain of the user of this machine, by the command that the platform has for it: `secret-tool` for the Secret Service of Linux desktops (GNOME, KDE,
 * KeePassXC), `security` on macOS. A secret goes to the command on stdin, since arguments of a program can be read by all programs of the machine.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { desktopEnvironment } from '../desktop-environment.ts';

export interface Keychain {
  /** @returns undefined where there is no such entry, and if the keychain does not answer. */
  read(): Promise<string | undefined>;
  /** The same, blocking for two seconds at most. */
  readNow(): string | undefined;
  /** Replaces the entry. @returns whether it can be read again as it was written. */
  write(secret: string): Promise<boolean>;
}

/** Milliseconds that a user has for a question of the keychain, such as for its password. */
const answerMs = 60_000;
/** Milliseconds for which a keychain that was open before may block this process. */
const blockMs = 2_000;
const service = 'omnibus';

interface Way {
  readonly program: string;
  readonly read: (account: string) => readonly string[];
  readonly write: (account: string, secret: string) => { readonly args: readonly string[]; readonly input: string };
}

const ways: Partial<Record<NodeJS.Platform, Way>> = {
  linux: {
    program: 'secret-tool',
    read: (account) => ['lookup', 'service', service, 'account', account],
    write: (account, secret) => ({
      args: ['store', '--label=Omnibus: keys of the vault', 'service', service, 'account', account],
      input: secret,
    }),
  },
  darwin: {
    program: '/usr/bin/security',
    read: (account) => ['find-generic-password', '-s', service, '-a', account, '-w'],
    // It reads commands from stdin; `-X` takes the secret in hexadecimal digits. A secret of one line of printable characters is printed as it is.
    write: (account, secret) => ({
      args: ['-i'],
      input: `add-generic-password -U -s ${service} -a ${account} -l "Omnibus: keys of the vault" -X ${Buffer.from(secret).toString('hex')}\n`,
    }),
  },
};

/**
 * @param account name of the entry: letters, digits and dashes.
 * @returns undefined on a platform without such a command, and on Linux without a session of a desktop, which has no keychain.
 */
export function keychainOf(account: string, env: NodeJS.ProcessEnv = process.env): Keychain | undefined {
  const way = ways[process.platform];
  if (way === undefined || (process.platform === 'linux' && (env['DBUS_SESSION_BUS_ADDRESS'] ?? '') === ''))
    return undefined;
  const { program } = way;
  const read = async (): Promise<string | undefined> => secretIn(await run(program, way.read(account), ''));
  return {
    read,
    readNow() {
      const { status, stdout } = spawnSync(program, way.read(account), {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: desktopEnvironment(),
        timeout: blockMs,
        encoding: 'utf8',
      });
      return status === 0 ? secretIn(stdout) : undefined;
    },
    async write(secret) {
      const { args, input } = way.write(account, secret);
      return (await run(program, args, input)) !== undefined && (await read()) === secret;
    },
  };
}

/** `security` prints a line break after the secret. */
function secretIn(said: string | undefined): string | undefined {
  return said === undefined || said.trim() === '' ? undefined : said.trim();
}

/** @returns the output of the program; undefined if it failed, is not there, or took too long. */
async function run(program: string, args: readonly string[], input: string): Promise<string | undefined> {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: desktopEnvironment(),
    timeout: answerMs,
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  try {
    const [said, [status]] = await Promise.all([
      text(child.stdout),
      once(child, 'close') as Promise<readonly unknown[]>,
    ]);
    return status === 0 ? said : undefined;
  } catch {
    return undefined; // The program is not installed.
  }
}
