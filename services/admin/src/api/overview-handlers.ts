/** The operation of the API that shows the whole gateway at a glance, with what this caller may do. */
import type { IncomingMessage } from 'node:http';
import type { Overview, ServerRow } from '@omnibus/admin-api';
import { version } from '@omnibus/protocol';
import type { AllProcesses } from './all-processes.ts';
import { findingsOf } from './findings.ts';
import type { ApiOptions } from './options.ts';
import { rightsOf, type Handlers } from './site.ts';
import type { Topic } from './watch.ts';

type Shared = Omit<Overview, 'console'>;

export function overviewFeature(
  options: Pick<ApiOptions, 'process' | 'config' | 'access'>,
  all: AllProcesses,
): { readonly handlers: Pick<Handlers, 'overview'>; readonly topics: { readonly overview: Topic<Shared> } } {
  const rights = (request: IncomingMessage): Overview['console'] => {
    const { roles, name } = options.access.of(request);
    return rightsOf(options.config(), roles, name);
  };
  const read = (): Promise<Shared> => overviewOf(options.process, all);
  return {
    handlers: { overview: async ({ request }) => ({ ...(await read()), console: rights(request) }) },
    topics: { overview: { read, shown: (answer, request) => ({ ...answer, console: rights(request) }) } },
  };
}

async function overviewOf(own: string, { board }: AllProcesses): Promise<Shared> {
  const [processes, { servers }, configuration, sessions] = await Promise.all([
    board.processes(),
    board.servers(),
    board.configuration(),
    board.sessions({}),
  ]);
  const sum = (of: (server: ServerRow) => number): number => servers.reduce((all, server) => all + of(server), 0);
  return {
    name: 'omnibus',
    version,
    process: own,
    at: new Date().toISOString(),
    findings: findingsOf({ processes, servers: { servers }, configuration }),
    counts: {
      processes: processes.processes.length,
      missing: processes.missing.length,
      servers: servers.length,
      up: sum(({ state }) => (state === 'up' || state === 'asleep' ? 1 : 0)),
      down: sum(({ state }) => (state === 'down' ? 1 : 0)),
      sessions: sessions.total,
      tools: sum(({ tools }) => tools),
      prompts: sum(({ prompts }) => prompts),
      resources: sum(({ resources }) => resources),
      failures: processes.processes.reduce((all, { failures }) => all + failures, 0),
    },
    missing: processes.missing,
  };
}
