/** Makes the connections to one server: their common parts, and those of the first only. */
import type { ServerConfig } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { anonymous, type JsonObject, type Principal, type WorkerId } from '@omnibus/protocol';
import { Era } from '../dialect/modern/discovery.ts';
import { lookupUnder } from '../transport/address-rule.ts';
import { TransportFactory, type TransportSource } from '../transport/factory.ts';
import { untilPortOpen } from '../transport/port.ts';
import { UpstreamConnection } from './connection.ts';
import type { ConnectionObserver } from './connection-observer.ts';
import type { ConnectionOptions } from './connection-options.ts';
import type { ConnectionIdentities } from './identities.ts';
import type { NewConnection } from './pool-options.ts';
import type { QuestionTarget } from './questions.ts';

export interface ConnectionFactoryOptions extends TransportSource {
  readonly worker: WorkerId;
  readonly identities: ConnectionIdentities;
  readonly wheel: DeadlineWheel;
}

/**
 * The common capabilities of callers at a shared server; the gateway answers for a caller that has not declared a capability. Roots are not included: a
 * server reads them once and keeps them, and they would be those of one caller.
 */
export const everyCapability: JsonObject = { sampling: {}, elicitation: { form: {}, url: {} } };

export class ConnectionFactory {
  readonly #options: ConnectionFactoryOptions;
  readonly #toolSchema: (tool: string, principal: Principal) => JsonObject | undefined;
  readonly #transports: TransportFactory;
  readonly #shared: Omit<
    ConnectionOptions,
    'owner' | 'isTakenInTurn' | 'isBase' | 'capabilities' | 'createTransport' | 'isExclusive' | 'observer'
  >;

  /** @param toolSchema the input schema of a tool as a caller is offered it, if it is known. */
  constructor(
    options: ConnectionFactoryOptions,
    toolSchema: (tool: string, principal: Principal) => JsonObject | undefined,
  ) {
    const { server, worker, config, diary, repairs, wheel, log, metrics } = options;
    this.#options = options;
    this.#toolSchema = toolSchema;
    this.#transports = new TransportFactory(options);
    this.#shared = {
      server,
      worker,
      diary,
      repairs,
      wheel,
      log,
      metrics,
      toolSchema: (tool) => toolSchema(tool, anonymous),
      isProgram: config.command !== undefined,
      era: new Era(config.era),
      reachable: reachableOf(config),
      connectTimeoutMs: config.connectTimeout,
      backoff: { minMs: config.restart.minDelay, maxMs: config.restart.maxDelay },
    };
  }

  /** Whether the wire tells which request a message of the server belongs to. */
  get namesRequests(): boolean {
    return this.#transports.namesRequests;
  }

  /** Whether the base connection may be of 2026-07-28 while the server speaks an older era too. */
  get mayBeSplit(): boolean {
    return !this.#shared.era.isPinned;
  }

  /** Makes the first connection. @param after what must end before its transport opens. */
  base(observer: ConnectionObserver, after: Promise<void> | undefined): UpstreamConnection {
    const { isolation, command, url } = this.#options.config;
    return new UpstreamConnection({
      ...this.#shared,
      observer,
      owner: undefined,
      isTakenInTurn: () => false,
      isBase: true,
      wantsSignIn: () => this.#options.identities.wantsSignIn,
      capabilities: isolation === 'shared' ? everyCapability : {},
      createTransport: (hears) => this.#transports.create(hears, true, this.#options.identities.base),
      isExclusive: command !== undefined,
      // A program that serves an address must be gone before another one can serve it.
      after: command !== undefined && url !== undefined ? after : undefined,
    });
  }

  /** One other than the first. @param owner its only user. */
  another(
    { principal, identity, capabilities, leg: { beside }, isTakenInTurn }: NewConnection,
    owner: QuestionTarget | undefined,
    observer: ConnectionObserver,
  ): UpstreamConnection {
    return new UpstreamConnection({
      ...this.#shared,
      capabilities,
      isTakenInTurn,
      owner,
      observer,
      ...(beside === undefined ? {} : { era: new Era(beside) }),
      isBase: false,
      toolSchema: (tool) => this.#toolSchema(tool, principal),
      createTransport: (hears) =>
        this.#transports.create(
          hears,
          false,
          identity === undefined ? this.#options.identities.base : identity.credentials(),
          identity?.headers,
        ),
      isExclusive: isStdio(this.#options.config),
    });
  }
}

/** Whether each connection has a program of its own. */
export function isStdio({ command, url }: Pick<ServerConfig, 'command' | 'url'>): boolean {
  return command !== undefined && url === undefined;
}

/** A server that something else starts when it is needed may not be up yet: it is waited for as long as connecting may take. */
function reachableOf({ isStarted, url = '', addresses, connectTimeout }: ServerConfig): ConnectionOptions['reachable'] {
  if (isStarted !== true) return undefined;
  return async (isWanted) => {
    if (
      !(await untilPortOpen({
        url,
        limitMs: connectTimeout,
        isWanted,
        ...(addresses === undefined ? {} : { lookup: lookupUnder(addresses) }),
      }))
    )
      throw new Error(`nothing answers at ${new URL(url).host} yet`);
  };
}
