/** In whose name the servers of one process are called. The vault is opened when the first server is used at which users sign in themselves. */
import { subjects, type Bus } from '@omnibus/bus';
import type { ServerConfig } from '@omnibus/config';
import type { Vault } from '@omnibus/credentials';
import type { Principal, ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Agents } from '../transport/agents.ts';
import { credentialsOf, type ServerCredentials } from '../transport/credentials/server-credentials.ts';
import { SignIns } from '../transport/credentials/sign-ins.ts';

/** What is needed to call servers in the name of users. */
export interface UserOptions {
  /** @throws {Error} in words for the operator. */
  readonly openVaults: () => Promise<{ readonly connections: Vault; readonly passing: Vault }>;
  /** The address under which browsers reach the gateway. */
  readonly base: () => string;
  /** Whether everybody who can reach the gateway is the one user of its machine. */
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
  /** Called when the stored credentials of a user for a server have changed. */
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
   * The credentials of a server, made from its configuration. Those made from an earlier configuration are no longer used.
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
    // If opening failed, that was reported to whoever asked for the vault.
    await (await this.#users?.catch(() => undefined))?.stop();
  }

  /** Opens the vault. A failure is reported to whoever waits for it; the next call tries again. */
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
