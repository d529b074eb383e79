/** The identities for calls of the servers of one process. The vault opens at the first use of a server with users' own sign-ins, or at the start for one that is disabled or removed. */
import { askOnce, BusError, isOfGone, subjects, type Blocks, type Bus } from '@omnibus/bus';
import { isOfUsers, keepsConnections, type Config, type ServerConfig } from '@omnibus/config';
import { CredentialProblem, TokenReceiver, type Place, type Vault } from '@omnibus/credentials';
import { parseServerName, type Principal, type ServerName, type Who } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { ProcessFeature, ProcessParts, ServerMeans } from '../../feature.ts';
import type { CallSignIns } from './call-sign-ins.ts';
import { CallerAccounts, type AskEdge } from './caller-accounts.ts';
import { credentialsOf, UserCredentials, type ServerCredentials } from './server-credentials.ts';
import { identitiesOf } from './identities.ts';
import { SignIns } from './sign-ins.ts';
import { callSignIns, featureOf } from './feature.ts';
import { HandledChanges } from './handled-changes.ts';

/** Resources for calls in the name of users. */
export interface UserOptions {
  /** @throws {Error} in words for the operator. */
  readonly openVaults: () => Promise<{ readonly connections: Vault; readonly passing: Vault }>;
  /** The address under which browsers reach the gateway, where the pages of sign-ins are served from then on. */
  readonly base: () => string | Promise<string>;
  /** The address of the document that describes the gateway to issuers; undefined where they cannot reach it. */
  readonly clientDocument: () => string | undefined;
  /** Shows the one user of this machine the page of a sign-in, or prints its address. Left out where users are elsewhere. @returns whether a browser was opened. */
  readonly show?: ((server: ServerName, address: string) => boolean) | undefined;
  /** Hears of the sign-ins when the vault is open. */
  readonly ready?: ((signIns: Pick<SignIns, 'invite'>) => void) | undefined;
  /** Whether only the one user of its machine can reach the gateway. */
  readonly isForOne: boolean;
  /** Every caller is known (`auth`). */
  readonly areKnown: boolean;
  /** Users that directories have removed; undefined where the bus refuses blocks. */
  readonly blocks?: Pick<Blocks, 'goneProblem' | 'onChanged'> | undefined;
}

interface AccountsOptions extends ProcessParts {
  /** At the start. */
  readonly config: Config;
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly baseFolder: string;
  readonly users: UserOptions;
}

interface Users {
  readonly vault: Vault;
  readonly signIns: SignIns;
  stop(): Promise<void>;
}

/** One server, under its present configuration. */
interface Served {
  readonly credentials: ServerCredentials | undefined;
  /** Its calls that wait for sign-ins; undefined until it has an adapter, and for a server that has no credentials of users. */
  calls: CallSignIns | undefined;
}

/** Time within which an edge answers: it may have to find two issuers and ask each of them, at ten seconds at most for a request. */
const edgeMs = 45_000;

export class Accounts implements ProcessFeature {
  readonly #options: AccountsOptions;
  readonly #servers = new Map<ServerName, Served>();
  #users: Promise<Users> | undefined;
  /** The key to which edges encrypt tokens for this process. */
  readonly #receiver = new TokenReceiver();

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** Opens the vault for disabled and removed servers too: operators and removals end what users have connected to them. */
  start(): Promise<void> {
    const { config, bus, log, users } = this.#options;
    users.blocks?.onChanged((added) => {
      if (added?.isGone === true) this.#forgetGone(isOfGone(added));
    });
    if (users.areKnown && keepsConnections(config, bus.isDurable))
      this.#opened().catch((error: unknown) =>
        log.error(
          { err: error },
          'what users have connected to disabled or removed servers cannot be ended now: the vault could not be opened',
        ),
      );
    return Promise.resolve();
  }

  forget(server: ServerName): void {
    this.#servers.delete(server);
  }

  /** Another person may get the name of a removed user, and must get nothing that servers gave to that one. */
  #forgetGone(isGone: (who: Who) => boolean): void {
    for (const [server, { credentials }] of this.#servers) {
      const called = credentials?.users instanceof CallerAccounts ? credentials.users.forgetGone(isGone) : [];
      this.#options.adapterOf(server)?.userGone(isGone, called);
    }
  }

  /**
   * The identities for a server, made from its configuration. Those made from an earlier configuration are no longer used.
   * @throws {Error} in words for the operator.
   */
  async of(server: ServerName, config: ServerConfig): Promise<Pick<ServerMeans, 'identities' | 'feature'>> {
    const {
      users: { clientDocument, isForOne, areKnown, blocks },
      baseFolder,
      agents,
      metrics,
      log,
    } = this.#options;
    this.#servers.delete(server);
    // A reloaded configuration may say so of a process that still listens as it was started.
    if (isOfUsers(config.credentials) && !isForOne && !areKnown)
      throw new Error(
        'it is called in the names of its users, and this process was started for callers that nothing tells apart: restart it',
      );
    const users = config.credentials?.kind === 'oauth' ? await this.#opened() : undefined;
    const credentials = credentialsOf({
      server,
      config,
      baseFolder,
      agents,
      metrics,
      isForOne,
      log: log.child({ server }),
      vault: users?.vault,
      edges: {
        receiver: this.#receiver,
        ask: this.#askEdge,
        isGone: (who) => blocks?.goneProblem(who) !== undefined,
      },
      clientDocument: clientDocument(),
    });
    const served: Served = { credentials, calls: undefined };
    this.#servers.set(server, served);
    const accounts = credentials?.users;
    return {
      identities: identitiesOf(server, config, credentials),
      feature:
        accounts === undefined
          ? undefined
          : (parts) => {
              served.calls = callSignIns(parts, accounts, users?.signIns);
              return featureOf(served.calls);
            },
    };
  }

  readonly #askEdge: AskEdge = async (edge, ask) => {
    const answer = await askOnce({ bus: this.#options.bus }, subjects.callerToken(edge), ask, edgeMs);
    if (answer !== 'late' && !(answer instanceof BusError)) return answer;
    throw new CredentialProblem(
      'the edge that knows this caller does not answer: another request of his is enough, at an edge that is there',
      { isPassing: true },
    );
  };

  async stop(): Promise<void> {
    // The caller of a failed opening has got its error.
    await (await this.#users?.catch(() => undefined))?.stop();
  }

  /** Opens the vault. A waiting caller gets a failure; the next call tries again. */
  #opened(): Promise<Users> {
    const opening = (this.#users ??= this.#start());
    opening.catch(() => {
      if (this.#users === opening) this.#users = undefined;
    });
    return opening;
  }

  async #start(): Promise<Users> {
    const {
      bus,
      log,
      users: { openVaults, base, show, ready },
      adapterOf,
    } = this.#options;
    const { connections: vault, passing } = await openVaults();
    const signIns = new SignIns({
      bus,
      log,
      vault,
      passing,
      base,
      show,
      users: (server) => signedInAt(this.#servers.get(server)?.credentials),
      changed: async (server, principal) => adapterOf(server)?.credentialsChanged(principal),
    });
    const connected = new HandledChanges<Place>({
      handle: async ({ server, principal }) => adapterOf(server)?.credentialsChanged(principal as Principal),
      failed: (error, { server }) =>
        log.error({ err: error, server }, 'what a user has connected could not be taken up, and is tried again'),
    });
    const confirmed = new HandledChanges<Place>({
      handle: async ({ server, principal }) => {
        const name = parseServerName(server);
        const calls = this.#servers.get(name)?.calls;
        if (calls !== undefined && (await signIns.isCodeWanted(name, principal as Principal)))
          calls.codeWanted(principal as Principal);
      },
      failed: (error, { server }) =>
        log.error(
          { err: error, server },
          'it could not be found out whether a sign-in waits for its code, and is tried again',
        ),
    });
    const watch = await vault.watch((place) => (place.purpose === 'connection' ? connected.note(place) : undefined));
    const codes = await passing.watch((place) => (place.purpose === 'pending' ? confirmed.note(place) : undefined));
    const close = (): void => {
      for (const each of [watch, codes, connected, confirmed]) each.close();
    };
    const heard = await bus
      .subscribe(subjects.connect, async (command, reply) => reply(await signIns.hear(command)), { queue: 'backend' })
      .catch((error: unknown) => {
        close();
        throw error;
      });
    ready?.(signIns);
    return {
      vault,
      signIns,
      stop: async () => {
        close();
        await heard.drain();
      },
    };
  }
}

/** The credentials of users that sign in for a server themselves; undefined for a server that is called in another way. */
function signedInAt(credentials: ServerCredentials | undefined): UserCredentials | undefined {
  return credentials?.users instanceof UserCredentials ? credentials.users : undefined;
}
