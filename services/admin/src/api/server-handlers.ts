/** The operations of the API about servers, the catalogue and connections of clients. */
import type { AllProcesses } from './all-processes.ts';
import { ApiProblem } from './api-problem.ts';
import { connectWays } from './connect-ways.ts';
import type { ApiOptions } from './options.ts';
import { pauseServer, resumeServer } from './pauses.ts';
import type { Handlers } from './site.ts';

export function serverHandlers(
  { config, access, kept, note }: Pick<ApiOptions, 'config' | 'access' | 'kept' | 'note'>,
  all: AllProcesses,
): Pick<Handlers, 'servers' | 'server' | 'logs' | 'restart' | 'pause' | 'resume' | 'catalogue' | 'connect'> {
  return {
    servers: () => all.board.servers(),
    server: ({ given, query }) => all.board.server(given, query.lines === 'true'),
    logs: ({ given }) => all.board.logs(given),
    restart: async ({ request, given }) => {
      const done = await all.board.restart(given);
      note(request, 'restart', { server: given, done: done.done, of: done.of });
      return done;
    },
    pause: async ({ request, given, query: { forMs, because } }) => {
      const { servers } = await all.board.servers();
      const done = await pauseServer(kept()?.blocks, {
        server: given,
        isKnown: servers.some(({ name }) => name === given),
        by: access.of(request).name,
        forMs,
        because,
      });
      note(request, 'pause', { server: given, because, for_ms: forMs });
      return done;
    },
    resume: async ({ request, given }) => {
      const done = await resumeServer(kept()?.blocks, given);
      note(request, 'resume', { server: given });
      return done;
    },
    catalogue: ({ query }) => all.board.catalogue(query),
    connect: async ({ query: { endpoint } }) => {
      const { processes } = await all.board.processes();
      const listens = processes.find((each) => each.endpoint !== undefined)?.endpoint;
      const program = [process.execPath, process.argv[1] ?? ''] as const;
      const ways = connectWays({ config: config(), listens, endpoint, program });
      if (ways === undefined) throw new ApiProblem('unknown', `there is no endpoint /mcp/${endpoint}`);
      return ways;
    },
  };
}
