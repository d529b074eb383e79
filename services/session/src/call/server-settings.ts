/** What the configuration says of servers as far as calls are concerned: how long they may take, and whether adapters keep something. */
import type { Config } from '@omnibus/config';
import type { JsonObject, ServerName } from '@omnibus/protocol';
import type { TimeLimits } from './exchange-request.ts';

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

  /** A program of its own behind each adapter, or a connection of the caller's own. @param capabilities that the caller declared. */
  keepsState(server: ServerName, { extensions: _extensions, ...askable }: JsonObject): boolean {
    const { command, isolation } = this.#config.mcpServers[server] ?? {};
    return command !== undefined || (isolation !== 'shared' && (isolation !== 'auto' || Object.keys(askable).length > 0));
  }
}
