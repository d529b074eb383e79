/** The tool of a server that lists nothing before the user's sign-in. */
import { signInName, type ListKind } from '@omnibus/protocol';
import { separator } from './names.ts';
import { ownerByName } from './profile.ts';
import type { Route } from './tools.ts';
import type { View } from './view.ts';

export interface SignInRoute {
  /** The name of the tool, as clients know it. */
  readonly name: string;
  readonly route: Route;
}

/**
 * The sign-in route for the server of a name: a client may use a cached name.
 * @param publicName of a tool or prompt that no list has; left out for resources, whose addresses show no server.
 * @returns undefined where the name shows no server, and where that server shows its lists.
 */
export function signInRoute(view: View, kind: ListKind, publicName?: string): SignInRoute | undefined {
  const owner = ownerByName(view.definition, kind, publicName);
  const record = owner === undefined ? undefined : view.record(owner);
  if (record?.wantsSignIn !== true || record.lists.tools.length !== 1) return undefined;
  for (const name of [`${record.server}${separator}${signInName}`, signInName]) {
    const found = view.toolRoute(name);
    if (found !== undefined && found.server === owner && found.original === signInName) return { name, route: found };
  }
  return undefined;
}

/**
 * The sign-in tool of a server that left it out of the lists of a user who had signed in: the server may want another sign-in, or the code of one, before the
 * user's lists are read again.
 * @param publicName of a tool that no list has.
 */
export function unlistedSignIn(view: View, publicName: string): Route | undefined {
  const server = ownerByName(view.definition, 'tools', publicName);
  if (server === undefined || view.record(server)?.wantsSignIn !== true) return undefined;
  const isMeant = publicName === `${server}${separator}${signInName}` || publicName === signInName;
  return isMeant && view.hidden('tool', publicName) === undefined ? { server, original: signInName } : undefined;
}
