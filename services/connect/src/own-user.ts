/** How the users of a gateway reach the pages of sign-ins: at the address of the gateway; or, if it opens no port, at one that is opened while a sign-in is pending. */
import type { Bus } from '@omnibus/bus';
import type { UserOptions } from '@omnibus/backend';
import type { Config } from '@omnibus/config';
import type { ServerName } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { LocalPages } from './local-pages.ts';

interface PagesOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly log: Logger;
  /** The base URL of a gateway that serves clients over HTTP; undefined for one that opens no port. */
  readonly served: (() => string) | undefined;
}

export interface Pages extends Pick<UserOptions, 'base' | 'clientDocument' | 'ready'> {
  /** Sends the user of this machine to the page of each of these servers, one after the other, until all are connected or the user declines one. Never rejects. */
  invite(servers: readonly ServerName[]): Promise<void>;
  close(): Promise<void>;
}

export function openPages({ config, bus, log, served }: PagesOptions): Pages {
  let signIns: Parameters<NonNullable<UserOptions['ready']>>[0] | undefined;
  const local =
    served === undefined
      ? new LocalPages({
          preferred: config.listen,
          site: async (base) =>
            (await import('./open-sites.ts')).openSites({
              authorization: undefined,
              callers: undefined,
              bus,
              log,
              base,
              isForOne: true,
            }),
        })
      : undefined;
  return {
    base: () => (local === undefined ? (served as () => string)() : local.base()),
    clientDocument: () => (served?.().startsWith('https:') === true ? `${served()}/connect/client.json` : undefined),
    ready: (opened) => {
      signIns = opened;
    },
    async invite(servers) {
      try {
        for (const server of servers) if ((await signIns?.invite(server)) === false) return;
      } catch (error) {
        log.warn({ err: error }, 'the user of this machine could not be sent to where he signs in');
      }
    },
    close: async () => local?.close(),
  };
}
