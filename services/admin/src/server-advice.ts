/** What to do about a server that cannot be used, by the kind of its trouble. */
import type { ServerTrouble } from '@omnibus/protocol';

/** @param trouble undefined where it is not known. @param command of its configuration. */
export function adviceFor(trouble: ServerTrouble | undefined, command: string | undefined): string {
  switch (trouble) {
    case 'program':
      return `Is ${JSON.stringify(command ?? '')} installed, and on the PATH of the gateway?`;
    case 'ended':
      return 'Run its command by hand, and look at what it prints on stderr.';
    case 'credentials':
      return 'The server wants credentials, or does not accept the present ones: see `headers` and `credentials` of this server.';
    case 'address':
      return 'Is the server running, and is its `url` right as seen from here?';
    case 'time':
      return 'The server took too long: try it by hand, or raise `connectTimeout` of this server.';
    case 'speech':
      return command === undefined
        ? 'Something answers, and not as an MCP server does: is the path of its `url` right?'
        : 'Its program does not speak MCP on stdin and stdout: does it want an argument such as "stdio"? What it logs belongs on stderr.';
    case 'configuration':
      return 'Mend its entry in the configuration: "omnibus check" says where.';
    case undefined:
      return command === undefined
        ? 'Try to reach it from this machine: curl -sv URL.'
        : 'Run its command by hand, and look at what it prints on stderr.';
  }
}
