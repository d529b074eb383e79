/** Authenticates callers at an edge; in another process, those of the admin port. Undefined where callers are not authenticated. */
import type { Authenticator } from '@omnibus/identity';
import type { Part, PartHost, Started } from '../part.ts';
import { ownAuthorization, servesClients } from './authorization.ts';
import { connectedBus } from './bus.ts';
import { directories } from './directories.ts';
import { tokenExchange } from './exchange.ts';

export const callers: Part<Authenticator | undefined> = {
  name: 'the authentication',
  isIn: ({ options }) => options.isServing,
  async start(host) {
    const started = servesClients(host) ? await openForClients(host) : await openForAdmin(host);
    const { tally } = started.offers ?? {};
    const { metrics } = host;
    metrics.beforeScrape(() => tally?.flush((way, outcome, count) => metrics.callers.asked(way, outcome, count)));
    return started;
  },
};

async function openForClients(host: PartHost): Promise<Started<Authenticator | undefined>> {
  const { openAuthenticator, possessionOver } = await import('@omnibus/setup/identity');
  const { config, log } = host;
  const { baseFolder, sealingKeys } = host.options;
  const { hold: held } = host.of(tokenExchange);
  const possession = possessionOver(host.of(connectedBus), sealingKeys);
  const own = host.of(ownAuthorization);
  const authenticator = await openAuthenticator({
    config,
    baseFolder,
    log,
    own,
    held,
    possession,
    directory: host.of(directories),
  });
  return { offers: authenticator, stop: async () => authenticator?.close() };
}

/** If authentication for the admin port fails, the process serves all the same, and authenticates no caller at its admin port. */
async function openForAdmin(host: PartHost): Promise<Started<Authenticator | undefined>> {
  const { config, log } = host;
  if (config.auth === undefined || config.auth === 'none' || config.auth.admin === undefined)
    return { offers: undefined };
  try {
    const { openAdminAuthenticator } = await import('@omnibus/setup/identity');
    const { baseFolder } = host.options;
    const opened = await openAdminAuthenticator({
      config,
      baseFolder,
      log,
      bus: host.of(connectedBus),
      directory: host.of(directories),
    });
    return {
      offers: opened.authenticator,
      async stop() {
        await opened.authenticator?.close();
        opened.close();
      },
    };
  } catch (error) {
    log.error({ problem: (error as Error).message }, 'nobody can be known at the admin port of this process');
    return { offers: undefined };
  }
}
