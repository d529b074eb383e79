/** Adds, lists and removes users of the gateway's own authorization server. They are entries of a file that the gateway follows. */
import { createInterface } from 'node:readline';
import { minPasswordCharacters } from '@omnibus/authorization';
import { printable } from '@omnibus/protocol';
import { readUsers, removeUserFrom, setUser } from '@omnibus/admin/users';
import { answerJson, answerList, notice } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { inNamedFile, type NamedFileOptions } from './named-file.ts';

export interface AddOptions extends NamedFileOptions {
  readonly group?: readonly string[];
}

/** Adds a user, or changes the password of an existing one. The password is the first line of stdin, or typed on the terminal. */
export function addUser(name: string, { group = [], ...where }: AddOptions): Promise<void> {
  return inFile(where, async (file) => {
    const wasThere = await setUser(file, name, await readPassword(name), group);
    if (where.json === true) answerJson({ name, file, isNew: !wasThere });
    else
      notice(
        `omnibus: user ${name} ${wasThere ? 'has a new password' : 'was added'} in ${file}, which contains a digest of the password`,
      );
  });
}

export function listUsers(where: NamedFileOptions): Promise<void> {
  return inFile(where, (file) => {
    const users = readUsers(file);
    answerList(
      where.json,
      users.map(({ password: _digest, passwordSince: _since, id: _id, ...rest }) => rest),
      {
        head: ['NAME', 'GROUPS', 'CREATED'],
        rows: users.map(({ name, groups, created }) => [
          name,
          groups.map((group) => printable(group)).join(', ') || '-',
          created ?? '-',
        ]),
      },
    );
  });
}

export function removeUser(name: string, where: NamedFileOptions): Promise<void> {
  return inFile(where, async (file) => {
    if (!readUsers(file).some((user) => user.name === name))
      throw new CommandProblem('unknown', `${file} has no user ${JSON.stringify(name)}`, {
        advice: '"omnibus users list" shows them.',
      });
    await removeUserFrom(file, name);
    if (where.json === true) answerJson({ name, file, isRemoved: true });
    else
      notice(
        `omnibus: user ${name} was removed from ${file}; a running gateway ends what that user has allowed and connected to servers; a stopped one of one process does so at its next start`,
      );
  });
}

function inFile(where: NamedFileOptions, work: (file: string) => void | Promise<void>): Promise<void> {
  return inNamedFile(
    where,
    {
      of: ({ server }) => server?.users?.file,
      missing: 'a file of users: add "auth: { server: { users: { file: users.yaml } } }"',
    },
    work,
  );
}

/** Reads the password from stdin; on a terminal it asks for it and does not echo it. */
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
