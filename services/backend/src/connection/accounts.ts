/** On whose behalf the servers of one process are called. Where users sign in for themselves, the vault is opened with the first such server. */
import { subjects, type Bus } from '@omnibus/bus';
import type { ServerConfig } from '@omnibus/config';
import type { Vault } from '@omnibus/credentials';
import type { Principal, ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Agents } from '../transport/agents.ts';
import { credentialsOf, type ServerCredentials } from '../transport/credentials/server-credentials.ts';
import { SignIns } from '../transport/credentials/sign-ins.ts';

/** What it takes to call servers on behalf of users. */
export interface UserOptions {
  /** @throws {Error} in words for the operator. */
  readonly openVaults: () => Promise<{ readonly connections: Vault; readonly passing: Vault }>;
  /** Where browsers find the gateway. */
  readonly base: () => string;
  /** Everybody who can reach the gateway is the one user of its machine. */
  readonly isForOne: boolean;
  /** Every caller is known (`auth`). */
  readonly areKnown: boolean;
}

interface AccountsOptions {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly baseFolder: string;
  readonly users: UserOptions;
  readonly agents: Agents;
  /** Something else is kept for a user of a server. */
  readonly changed: (server: string, principal: Principal) => Promise<void> | undefined;
}

interface Users {
  readonly vault: Vault;
  readonly signIns: SignIns;
  stop(): Promise<void>;
}

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #servers = new Map<ServerName, ServerCredentials | undefined>();
  #users: Promise<Users> | undefined;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /**
   * Of a server, by its configuration; what was given for an earlier one is no more asked.
   * @throws {Error} in words for the operator.
   */
  async of(server: ServerName, config: ServerConfig): Promise<{ readonly credentials: ServerCredentials | undefined; readonly signIns: SignIns | undefined }> {
    const { users: { base, isForOne, areKnown }, baseFolder, agents, metrics, log } = this.#options;
    this.#servers.delete(server);
    // A reloaded configuration may say so of a process that still listens as it was started.
    if (config.credentials?.kind === 'oauth' && !isForOne && !areKnown) throw new Error('its users sign in for it, and this process was started for callers that nothing tells apart: restart it');
    const users = config.credentials?.kind === 'oauth' ? await this.#opened() : undefined;
    const credentials = credentialsOf({
      server, config, baseFolder, agents, metrics, isForOne, log: log.child({ server }), vault: users?.vault,
      clientDocument: base().startsWith('https:') ? `${base()}/connect/client.json` : undefined,
    });
    this.#servers.set(server, credentials);
    return { credentials, signIns: users?.signIns };
  }

  async stop(): Promise<void> {
    // What could not be opened has said so to whoever wanted it.
    await (await this.#users?.catch(() => undefined))?.stop();
  }

  /** A failure is for whoever waits for it: the next one tries again. */
  #opened(): Promise<Users> {
    const opening = this.#users ??= this.#start();
    opening.catch(() => {
      if (this.#users === opening) this.#users = undefined;
    });
    return opening;
  }

  async #start(): Promise<Users> {
    const { bus, log, users: { openVaults, base }, changed } = this.#options;
    const { connections: vault, passing } = await openVaults();
    const signIns = new SignIns({ bus, log, vault, passing, base, users: (server) => this.#servers.get(server)?.users, changed: async (server, principal) => changed(server, principal) });
    const watch = await vault.watch(({ purpose, server, principal }) => {
      if (purpose === 'connection') changed(server, principal as Principal)?.catch((error: unknown) => log.error({ err: error, server }, 'what a user has connected could not be taken up'));
    });
    const heard = await bus.subscribe(subjects.connect, async (command, reply) => reply(await signIns.hear(command)), { queue: 'backend' }).catch((error: unknown) => {
      watch.close();
      throw error;
    });
    return {
      vault, signIns,
      stop: async () => {
        watch.close();
        await heard.drain();
      },
    };
  }
}
