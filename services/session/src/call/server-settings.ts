/** What the configuration says of servers as far as calls are concerned: how long they may take, and for whom adapters keep something. */
import { isOwned, type Config } from '@omnibus/config';
import { anonymous, type ExchangeContext, type ServerName } from '@omnibus/protocol';
import type { TimeLimits } from './exchange-request.ts';

type KeptContext = Pick<ExchangeContext, 'principal' | 'session' | 'standsAlone' | 'client' | 'capabilities'>;

export class ServerSettings {
  #config: Config;
  readonly #limits = new Map<string, TimeLimits>();

  constructor(config: Config) {
    this.#config = config;
  }

  apply(config: Config): void {
    this.#config = config;
    this.#limits.clear();
  }

  /** @param tool the server's own name of a tool; undefined for everything else that is asked of it. */
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

  /** Whether it is called with what is each user's own, and has to know who calls. */
  readonly isOwned = (server: ServerName): boolean => {
    const settings = this.#config.mcpServers[server];
    return settings !== undefined && isOwned(settings, this.#config);
  };

  /**
   * For whom an adapter may keep something, in a program or with a connection of his own: whose calls are all to go to the same one. A known
   * caller's program is for all of his sessions; who may be asked something has his own (the backend's `sharing.ts` decides, this only leads there).
   * @returns undefined where any adapter will do.
   */
  keptFor(server: ServerName, { principal, session, standsAlone, client, capabilities: { extensions: _extensions, ...askable } }: KeptContext): string | undefined {
    const { command, url, isolation } = this.#config.mcpServers[server] ?? {};
    const mayBeAsked = Object.keys(askable).length > 0;
    const isCallers = isolation === 'principal' || (isolation === 'auto' && !mayBeAsked && url === undefined);
    if ((isCallers || this.isOwned(server)) && principal !== anonymous) return principal;
    const keepsState = command !== undefined || (isolation !== 'shared' && (isolation !== 'auto' || mayBeAsked));
    return !keepsState ? undefined : standsAlone ? client?.id : session;
  }
}
