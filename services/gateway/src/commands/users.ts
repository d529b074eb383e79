/** Adds, lists and removes users of the gateway's own authorization server: lines of a file that the gateway follows. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { digestOf, formatUsers, minPasswordCharacters, parseUsers, type UserRecord } from '@omnibus/authorization';
import { printable } from '@omnibus/protocol';
import { alignColumns } from '../table.ts';
import { rewrite } from './rewrite.ts';
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
  const file = findFile(where);
  if (file === undefined) return;
  const password = await readPassword(name);
  if (password.length < minPasswordCharacters) {
    fail([`the password has fewer than ${minPasswordCharacters} characters`]);
    return;
  }
  const digest = await digestOf(password);
  rewrite(file, () => {
    const users = read(file);
    const before = users.find((user) => user.name === name);
    const added: UserRecord = { name, password: digest, groups: group.length === 0 && before !== undefined ? before.groups : [...group], created: before?.created ?? new Date().toISOString() };
    const text = formatUsers([...users.filter((user) => user !== before), added]);
    parseUsers(text); // What the gateway would not take is not written.
    return { text, said: () => process.stderr.write(`omnibus: user ${name} ${before === undefined ? 'is' : 'has another password'} in ${file}, which holds a digest of it\n`) };
  });
}

export function listUsers({ json = false, ...where }: UsersOptions & { readonly json?: boolean }): void {
  const file = findFile(where);
  if (file === undefined) return;
  try {
    const users = read(file);
    if (json) process.stdout.write(`${JSON.stringify(users.map(({ password: _digest, ...rest }) => rest), null, 2)}\n`);
    else process.stdout.write(`${alignColumns([['NAME', 'GROUPS', 'CREATED'], ...users.map(({ name, groups, created }) => [printable(name), groups.map((group) => printable(group)).join(', ') || '-', created ?? '-'])])}\n`);
  } catch (error) {
    fail([(error as Error).message]);
  }
}

export function removeUser(name: string, where: UsersOptions): void {
  const file = findFile(where);
  if (file === undefined) return;
  rewrite(file, () => {
    const users = read(file);
    if (!users.some((user) => user.name === name)) return { problem: `there is no user ${JSON.stringify(name)}; omnibus users list shows those there are` };
    return { text: formatUsers(users.filter((user) => user.name !== name)), said: () => process.stderr.write(`omnibus: user ${name} is gone from ${file}; gateways that follow it end what was allowed in that name\n`) };
  });
}

/** @throws {Error} in words. */
function read(file: string): readonly UserRecord[] {
  if (!existsSync(file)) return [];
  try {
    return parseUsers(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
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
  fail([`${settings.file} names no file of users: add "auth: { server: { users: { file: users.yaml } } }", or give --file`]);
  return undefined;
}
