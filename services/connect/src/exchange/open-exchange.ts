/** Opens what an edge needs to have tokens made from those of its callers; what asks issuers is loaded when a server is first called so. */
import type { AuthorizationServer } from '@omnibus/authorization';
import { subjects, type Blocks, type Bus } from '@omnibus/bus';
import { enabledServers, type Config } from '@omnibus/config';
import { CredentialProblem } from '@omnibus/credentials';
import type { Authenticator, Facts } from '@omnibus/identity';
import type { WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { HeldTokens } from './held-tokens.ts';
import type { TokenDesk } from './token-desk.ts';

interface ExchangeOptions {
  readonly config: Config;
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly authorization: AuthorizationServer | undefined;
  /** Undefined where the bus refuses them. */
  readonly blocks: Pick<Blocks, 'callerProblem' | 'onChanged'> | undefined;
}

export interface Exchange {
  /** Keeps a caller's token (`HeldTokens.hold`). */
  readonly hold: (facts: Facts, token: string) => Facts;
  /** Hears questions of backend workers from now on. @param edge the name of this edge on the bus. */
  start(authenticator: Pick<Authenticator, 'current' | 'onRevoked'> | undefined, edge: WorkerId): Promise<void>;
  apply(config: Config): void;
  stop(): Promise<void>;
}

export function openExchange({ config, bus, log, metrics, authorization, blocks }: ExchangeOptions): Exchange {
  let [current, isUsed] = [config, usesCallerTokens(config)];
  let holds: (facts: Facts) => boolean = () => true;
  let self: WorkerId | undefined;
  const held = new HeldTokens({ isUsed: () => isUsed, holds: (facts) => holds(facts), self: () => self });
  let desk: Promise<{ readonly desk: TokenDesk; readonly close: () => Promise<void> }> | undefined;
  const open = async (): Promise<Awaited<NonNullable<typeof desk>>> => {
    const [{ TokenDesk: Part }, { Agents, issuersOf, outbound }] = await Promise.all([
      import('./token-desk.ts'),
      import('@omnibus/backend/issuers'),
    ]);
    const agents = new Agents();
    return {
      desk: new Part({
        held,
        metrics,
        log,
        config: () => current,
        reaching: { agents, issuersOf, outbound },
        ownIssuer: authorization?.issuer,
        idTokenOf: (subject) =>
          authorization?.idTokenOf(subject).catch((error: unknown) => {
            throw new CredentialProblem((error as Error).message, { cause: error });
          }) ?? Promise.reject(new CredentialProblem('nobody signs in at this gateway')),
      }),
      close: () => agents.destroy(),
    };
  };
  let stopHearing = (): Promise<void> => Promise.resolve();
  return {
    hold: held.hold,
    async start(authenticator, edge) {
      if (authenticator === undefined) return;
      holds = (facts) => authenticator.current(facts) !== undefined && blocks?.callerProblem(facts) === undefined;
      authenticator.onRevoked(() => held.review());
      // If another person gets the name of a removed user, the token of that one stays dropped.
      blocks?.onChanged((added) => {
        if (added !== undefined) held.review();
      });
      const heard = await bus.subscribe(subjects.callerToken(edge), async (ask, reply) =>
        reply(await (await (desk ??= open())).desk.hear(ask)),
      );
      stopHearing = () => heard.drain();
      self = edge;
    },
    apply(changed) {
      [current, isUsed] = [changed, usesCallerTokens(changed)];
      held.forgetMade();
    },
    async stop() {
      await stopHearing();
      await (await desk)?.close();
    },
  };
}

function usesCallerTokens(config: Config): boolean {
  return [...enabledServers(config).values()].some(
    ({ credentials }) =>
      credentials?.kind === 'exchange' ||
      (credentials?.kind === 'enterprise' && credentials.identityProvider?.idTokenFile === undefined),
  );
}
