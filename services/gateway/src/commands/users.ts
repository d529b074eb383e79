/** Adds, lists and removes users of the gateway's own authorization server: lines of a file that the gateway follows. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { minPasswordCharacters } from '@omnibus/authorization';
import { printable } from '@omnibus/protocol';
import { alignColumns } from '../table.ts';
import { readUsers, removeUserFrom, setUser } from '../user-records.ts';
import { fail, findSettings } from './settings.ts';

export interface UsersOptions {
  readonly config?: string;
  readonly file?: string;
}

export interface AddOptions extends UsersOptions {
  readonly group?: readonly string[];
}

/** Takes the password from stdin: a line of it, or what somebody types. Whoever is there already has another one from then on. */
export async function addUser(name: string, { group = [], ...where }: AddOptions): Promise<void> {
  await inFile(where, async (file) => {
    const wasThere = await setUser(file, name, await readPassword(name), group);
    process.stderr.write(`omnibus: user ${name} ${wasThere ? 'has a new password' : 'was added'} in ${file}, which contains a digest of the password\n`);
  });
}

export async function listUsers({ json = false, ...where }: UsersOptions & { readonly json?: boolean }): Promise<void> {
  await inFile(where, (file) => {
    const users = readUsers(file);
    if (json) process.stdout.write(`${JSON.stringify(users.map(({ password: _digest, ...rest }) => rest), null, 2)}\n`);
    else process.stdout.write(`${alignColumns([['NAME', 'GROUPS', 'CREATED'], ...users.map(({ name, groups, created }) => [printable(name), groups.map((group) => printable(group)).join(', ') || '-', created ?? '-'])])}\n`);
  });
}

export async function removeUser(name: string, where: UsersOptions): Promise<void> {
  await inFile(where, (file) => {
    removeUserFrom(file, name);
    process.stderr.write(`omnibus: user ${name} was removed from ${file}; a running gateway ends what that user has allowed\n`);
  });
}

async function inFile(where: UsersOptions, work: (file: string) => void | Promise<void>): Promise<void> {
  const file = findFile(where);
  if (file === undefined) return;
  try {
    await work(file);
  } catch (error) {
    fail([(error as Error).message]);
  }
}

/** What is typed is not shown. */
async function readPassword(name: string): Promise<string> {
  const isTyped = process.stdin.isTTY;
  if (isTyped) process.stderr.write(`Password of ${name}, ${minPasswordCharacters} characters or more: `);
  const lines = createInterface({ input: process.stdin, terminal: isTyped, historySize: 0 });
  const [line] = await new Promise<readonly [string]>((done) => {
    lines.once('line', (text) => done([text]));
    lines.once('close', () => done(['']));
  });
  lines.close();
  if (isTyped) process.stderr.write('\n');
  return line;
}

/** The file that is named, else that of the configuration. */
function findFile({ file, config }: UsersOptions): string | undefined {
  if (file !== undefined) return resolve(file);
  const settings = findSettings(config, {});
  if (settings === undefined) return undefined;
  const { auth } = settings.config;
  if (auth !== undefined && auth !== 'none' && auth.server?.users !== undefined) return resolve(settings.baseFolder, auth.server.users.file);
  fail([`${settings.file} does not name a file of users: add "auth: { server: { users: { file: users.yaml } } }", or give --file`]);
  return undefined;
}
