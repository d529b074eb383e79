/** The user of the operating system that a server runs as, if it is not the gateway's own. */
import { readFileSync } from 'node:fs';

export interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
  readonly home: string;
}

/**
 * Finds an account.
 * @param user a name of `/etc/passwd`, a UID, or UID:GID.
 * @throws {Error} in words, when there is no such user.
 */
export function accountOf(user: string): Account {
  const [, uid, gid] = /^(\d+)(?::(\d+))?$/.exec(user) ?? [];
  const known = users().find((each) => (uid === undefined ? each.name === user : each.uid === Number(uid)));
  if (uid === undefined) {
    if (known === undefined) throw new Error(`there is no user ${JSON.stringify(user)} on this machine`);
    return known;
  }
  return {
    uid: Number(uid),
    gid: Number(gid ?? known?.gid ?? uid),
    name: known?.name ?? uid,
    home: known?.home ?? '/',
  };
}

function users(): Account[] {
  try {
    return readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [name, , uid, gid, , home] = line.split(':');
        return name === undefined || home === undefined ? [] : [{ name, uid: Number(uid), gid: Number(gid), home }];
      });
  } catch {
    return []; // Without that file, the option takes a number only.
  }
}
