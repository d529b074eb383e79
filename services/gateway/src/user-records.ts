/** What commands and the admin port do with the file of users. What is thrown is said in words for the operator. */
import { existsSync, readFileSync } from 'node:fs';
import { digestOf, formatUsers, minPasswordCharacters, parseUsers, type UserRecord } from '@omnibus/authorization';
import { rewrite } from './rewrite.ts';

/** @throws {Error} */
export function readUsers(file: string): readonly UserRecord[] {
  if (!existsSync(file)) return [];
  try {
    return parseUsers(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}

/** Whoever is there already has another password from then on, and the groups as before unless some are given. @returns whether he was there. @throws {Error} */
export async function setUser(file: string, name: string, password: string, groups: readonly string[]): Promise<boolean> {
  if (password.length < minPasswordCharacters) throw new Error(`the password has fewer than ${minPasswordCharacters} characters`);
  const digest = await digestOf(password);
  let wasThere = false;
  change(file, (users) => {
    const before = users.find((user) => user.name === name);
    wasThere = before !== undefined;
    const added: UserRecord = { name, password: digest, groups: groups.length === 0 && before !== undefined ? before.groups : [...groups], created: before?.created ?? new Date().toISOString() };
    return [...users.filter((user) => user !== before), added];
  });
  return wasThere;
}

/** @throws {Error} */
export function removeUserFrom(file: string, name: string): void {
  change(file, (users) => {
    if (!users.some((user) => user.name === name)) throw new Error(`there is no user ${JSON.stringify(name)}; omnibus users list shows those there are`);
    return users.filter((user) => user.name !== name);
  });
}

function change(file: string, make: (users: readonly UserRecord[]) => readonly UserRecord[]): void {
  const problem = rewrite(file, () => {
    const text = formatUsers(make(readUsers(file)));
    parseUsers(text); // What the gateway would not take is not written.
    return { text };
  });
  if (problem !== undefined) throw new Error(problem);
}
