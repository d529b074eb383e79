/** The part of the configuration of servers that calls need: time limits, and the owners of adapters' state. */
import { isOwned, needsCallers, type Config } from '@omnibus/config';
import { anonymous, type ExchangeContext, type ServerName } from '@omnibus/protocol';
import { sessionOf, type CallerContext } from '../dialect/dialect.ts';
import type { TimeLimits } from './exchange-request.ts';

type KeptContext = CallerContext & Pick<ExchangeContext, 'capabilities'>;

export class ServerSettings {
  #config: Config;
  /** Servers that are called with each user's own credentials. */
  #owned: ReadonlySet<string>;
  /** Servers with adapters that must know the caller. */
  #told: ReadonlySet<string>;
  readonly #limits = new Map<string, TimeLimits>();

  constructor(config: Config) {
    this.#config = config;
    this.#owned = serversOf(config, isOwned);
    this.#told = serversOf(config, needsCallers);
  }

  apply(config: Config): void {
    this.#config = config;
    this.#owned = serversOf(config, isOwned);
    this.#told = serversOf(config, needsCallers);
    this.#limits.clear();
  }

  /** @param tool the server's own name of a tool; undefined for any other request. */
  readonly timeLimits = (server: ServerName, tool: string | undefined): TimeLimits => {
    const { timeouts, mcpServers } = this.#config;
    const ofServer = mcpServers[server];
    const ofTool = tool === undefined ? undefined : ofServer?.tools[tool];
    const key = ofTool === undefined ? server : `${server}/${tool}`;
    const known = this.#limits.get(key);
    if (known !== undefined) return known;
    const limits = {
      callMs: ofTool?.timeout ?? ofServer?.timeout ?? timeouts.call,
      humanMs: timeouts.human,
      taskMs: timeouts.task,
      maxMs: ofTool?.maxTime ?? ofServer?.maxTime ?? timeouts.max,
    };
    this.#limits.set(key, limits);
    return limits;
  };

  /** Whether the adapter of the server must know the caller. */
  needsCallers(server: ServerName): boolean {
    return this.#told.has(server);
  }

  /**
   * A key for the party with calls that must all go to the same adapter, which has a program or connection for it: the caller, for all of its
   * sessions, or one session or client if it can answer questions. The backend's `sharing.ts` decides about sharing; this only routes accordingly.
   * @returns undefined where any adapter will do.
   */
  keptFor(server: ServerName, context: KeptContext): string | undefined {
    const {
      principal,
      client,
      capabilities: { extensions: _extensions, ...askable },
    } = context;
    const { command, url, isolation } = this.#config.mcpServers[server] ?? {};
    const mayBeAsked = Object.keys(askable).length > 0;
    const isCallers =
      isolation === 'principal' || (isolation === 'auto' && !mayBeAsked && command !== undefined && url === undefined);
    if ((isCallers || this.#owned.has(server)) && principal !== anonymous) return principal;
    const keepsState = command !== undefined || (isolation !== 'shared' && (isolation !== 'auto' || mayBeAsked));
    return !keepsState ? undefined : (sessionOf(context) ?? client?.id);
  }
}

function serversOf(config: Config, has: typeof needsCallers): ReadonlySet<string> {
  const found = Object.entries(config.mcpServers).filter(([, settings]) => has(settings, config));
  return new Set(found.map(([name]) => name));
}
