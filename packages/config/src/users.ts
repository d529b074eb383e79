/** Servers that are called with what is each user's own, and who the users of a gateway are. */
import type { Config, ServerConfig } from './schema.ts';

type Gateway = Pick<Config, 'auth' | 'listen' | 'publicUrl'>;

const thisMachine = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const isOfThisMachine = (listen: string): boolean => thisMachine.test(listen.slice(0, listen.lastIndexOf(':')));

/** Whether everybody who can reach a gateway is the one user of its machine: a `publicUrl` elsewhere says that something leads others to it. */
export function isForOneUser({ auth, listen, publicUrl }: Gateway): boolean {
  return (auth === undefined || auth === 'none') && isOfThisMachine(listen) && (publicUrl === undefined || thisMachine.test(new URL(publicUrl).hostname));
}

/** Whether each known caller is shown to the server in his own name: nobody shares a connection to it then, and nobody a list. */
export function isOwned({ credentials }: Pick<ServerConfig, 'credentials'>, gateway: Gateway): boolean {
  return credentials?.kind === 'oauth' && !isForOneUser(gateway);
}

/** Why users cannot sign in for a server; undefined where they can. */
export function usersProblem(server: Pick<ServerConfig, 'credentials' | 'isolation'>, gateway: Gateway): string | undefined {
  if (!isOwned(server, gateway)) return undefined;
  const { auth, listen, publicUrl } = gateway;
  if (auth === undefined || auth === 'none') return 'each user signs in for the server himself, and nothing tells the callers of this gateway apart: say how they are known (`auth`), or let it be reached by programs of this machine alone, by `listen` and by `publicUrl`';
  if (publicUrl === undefined && !isOfThisMachine(listen)) return 'users are sent to a page of the gateway to sign in for the server: that takes `publicUrl`, the address that their browsers know';
  const { isolation } = server;
  return isolation === 'auto' || isolation === 'principal' ? undefined : `each user has connections of his own to a server that is called with his credentials (\`isolation: principal\`, which goes without saying): \`${isolation}\` is something else`;
}
