/** Reads and changes the file of users, for commands and the admin port. Errors have messages for the operator. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { digestOf, formatUsers, minPasswordCharacters, parseUsers, type UserRecord } from '@omnibus/authorization';
import { rewrite } from './rewrite.ts';

/** @returns no users where there is no file. @throws {Error} where it is not a file of users. */
export function readUsers(file: string): readonly UserRecord[] {
  if (!existsSync(file)) return [];
  try {
    return parseUsers(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** Adds a user, or changes the password of an existing one, and keeps its groups unless `groups` is set. @returns whether the user existed. @throws {Error} where the password is too short or the file cannot be written. */
export async function setUser(
  file: string,
  name: string,
  password: string,
  groups: readonly string[],
): Promise<boolean> {
  if (password.length < minPasswordCharacters)
    throw new Error(`the password has fewer than ${minPasswordCharacters} characters`);
  const digest = await digestOf(password);
  let wasThere = false;
  await change(file, (users) => {
    const before = users.find((user) => user.name === name);
    wasThere = before !== undefined;
    const now = new Date().toISOString();
    const added: UserRecord = {
      name,
      password: digest,
      groups: groups.length === 0 && before !== undefined ? before.groups : [...groups],
      created: before?.created ?? now,
      ...(before === undefined
        ? { id: randomBytes(12).toString('base64url') }
        : before.id === undefined
          ? {}
          : { id: before.id }),
      ...(before === undefined ? {} : { passwordSince: now }),
    };
    return [...users.filter((user) => user !== before), added];
  });
  return wasThere;
}

/** @throws {Error} where there is no such user, or the file cannot be written. */
export function removeUserFrom(file: string, name: string): Promise<void> {
  return change(file, (users) => {
    if (!users.some((user) => user.name === name))
      throw new Error(`there is no user ${JSON.stringify(name)}; omnibus users list shows those there are`);
    return users.filter((user) => user.name !== name);
  });
}

function change(file: string, make: (users: readonly UserRecord[]) => readonly UserRecord[]): Promise<void> {
  return rewrite(file, () => {
    const text = formatUsers(make(readUsers(file)));
    parseUsers(text); // Throws before the write if the gateway would refuse the text.
    return text;
  });
}
