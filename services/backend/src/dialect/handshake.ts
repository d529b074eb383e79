/** The handshake with a server: finds out which era it speaks, and exchanges introductions. */
import {
  isModernRevision,
  latestLegacyRevision,
  legacyRevisions,
  printable,
  type ExchangeOutcome,
  type GatewayFault,
  type JsonObject,
  type LegacyRevision,
  type RepairCounts,
  type ServerIntroduction,
  type ServerTrouble,
} from '@omnibus/protocol';
import type { Transport } from '../transport/transport.ts';
import { isRefusal, troubleOfStatus } from '../transport/trouble.ts';
import type { ServerDialect } from './dialect.ts';
import { legacyDialect } from './legacy/dialect.ts';
import { initializeParams, namedRevisions, readIntroduction } from './legacy/handshake.ts';
import { modernDialect } from './modern/dialect.ts';
import { readDiscovery, readDiscoveryError, readRefusal, type Era, type Verdict } from './modern/discovery.ts';

export interface HandshakeOptions {
  readonly era: Era;
  readonly transport: Transport;
  /** The client capabilities that are declared to the server. */
  readonly capabilities: JsonObject;
  readonly connectTimeoutMs: number;
  readonly ask: (
    dialect: ServerDialect,
    method: string,
    params: JsonObject,
    limitMs: number,
  ) => Promise<ExchangeOutcome>;
  /** Counts repairs; undefined if there are none. */
  readonly repairs: RepairCounts | undefined;
  /** False once the transport was replaced or closed. */
  readonly isCurrent: () => boolean;
  /** Removes the server's name from the message of a fault. */
  readonly plain: (message: string) => string;
}

export type Handshake =
  | { readonly introduction: ServerIntroduction; readonly dialect: ServerDialect }
  /** The reason why the handshake failed. */
  | { readonly problem: string; readonly trouble: ServerTrouble };

/** Shortest time for the probe: a program that is only starting must not count as silent. */
const minProbeMs = 2_000;
/** The dialect before the first handshake: that of most servers. */
export const assumedDialect = legacyDialect;

/** Sends `server/discover` first, and `initialize` to servers that do not know it (2026-07-28 basic/versioning, Compatibility). */
export async function shakeHands(options: HandshakeOptions): Promise<Handshake> {
  const { era, transport, isCurrent } = options;
  if (transport.needsNoProbe || era.current === 'legacy') return initialize(options);
  const first = await discover(options);
  const verdict = first.kind === 'again' ? await discover(options) : first;
  switch (verdict.kind) {
    case 'again':
      return { problem: 'the server refuses every revision, also those it says it speaks', trouble: 'speech' };
    case 'unknown':
      return verdict.mayBeLegacy && era.current === undefined && isCurrent()
        ? tryLegacy(options, verdict)
        : { problem: verdict.problem, trouble: verdict.trouble };
    case 'modern':
      era.learn('modern');
      return { introduction: verdict.introduction, dialect: modernDialect };
    case 'legacy':
      if (era.current === 'modern') {
        era.forget();
        return {
          problem: 'the server does not answer server/discover, as one of the newest revision does',
          trouble: 'speech',
        };
      }
      era.learn('legacy');
      return isCurrent() ? initialize(options) : { problem: 'the connection is gone', trouble: 'address' };
  }
}

/** Tries `initialize`, since the reaction of an older server to an unknown request proves nothing. */
async function tryLegacy(
  options: HandshakeOptions,
  { problem, trouble }: { readonly problem: string; readonly trouble: ServerTrouble },
): Promise<Handshake> {
  const met = await initialize(options);
  if ('problem' in met) return { problem, trouble };
  options.era.learn('legacy');
  return met;
}

async function discover({
  ask,
  connectTimeoutMs,
  transport,
  era,
  isCurrent,
  plain,
}: HandshakeOptions): Promise<Verdict> {
  const outcome = await ask(modernDialect, 'server/discover', {}, Math.max(minProbeMs, connectTimeoutMs / 3));
  // A program that ends on a request before `initialize` is of an older era: its next run is initialized first.
  if (!isCurrent() && !transport.closesToCancel) era.learn('legacy');
  switch (outcome.kind) {
    case 'result':
      return readDiscovery(outcome.result);
    case 'error':
      return readDiscoveryError(outcome.error);
    case 'fault': {
      const { reason, message, data } = outcome.fault;
      const problem = plain(message);
      if (isRefusal({ reason })) return readRefusal(Number(data?.['httpStatus']), problem);
      // Over HTTP no answer proves nothing, but some older servers never answer a method that they do not know; a program that does not answer is one of those.
      return reason === 'upstream.timeout' && !transport.closesToCancel
        ? { kind: 'legacy' }
        : {
            kind: 'unknown',
            problem,
            trouble: troubleOf(outcome.fault),
            mayBeLegacy: reason === 'upstream.invalid' || reason === 'upstream.lost' || reason === 'upstream.timeout',
          };
    }
  }
}

/** Sends `initialize`, and once more in a revision that the server names when it refuses. @param isFirst whether nothing was refused yet. */
async function initialize(
  options: HandshakeOptions,
  revision: LegacyRevision = latestLegacyRevision,
  isFirst = true,
): Promise<Handshake> {
  const { ask, capabilities, connectTimeoutMs, plain, isCurrent } = options;
  const outcome = await ask(legacyDialect, 'initialize', initializeParams(capabilities, revision), connectTimeoutMs);
  switch (outcome.kind) {
    case 'fault':
      return { problem: plain(outcome.fault.message), trouble: troubleOf(outcome.fault) };
    case 'error': {
      const named = isFirst && isCurrent() ? (namedRevisions(outcome.error) ?? []) : [];
      const common = legacyRevisions.find((each) => each !== revision && named.includes(each));
      if (common !== undefined) return initialize(options, common, false);
      return (
        (named.some(isModernRevision) ? await discoverAfterAll(options) : undefined) ?? {
          problem: `the server refused to initialize: ${printable(outcome.error.message)}`,
          trouble: 'speech',
        }
      );
    }
    case 'result':
      try {
        return { introduction: readIntroduction(outcome.result, options.repairs), dialect: legacyDialect };
      } catch (error) {
        return { problem: (error as Error).message, trouble: 'speech' };
      }
  }
}

/** What kind of trouble it is that a handshake was not answered. */
function troubleOf({ reason, data }: GatewayFault): ServerTrouble {
  if (isRefusal({ reason })) return troubleOfStatus(Number(data?.['httpStatus']));
  return reason === 'upstream.timeout' ? 'time' : reason === 'upstream.invalid' ? 'speech' : 'address';
}

/** The known era of the server is outdated. @returns undefined if the configuration sets the era, or a probe does not help. */
async function discoverAfterAll(options: HandshakeOptions): Promise<Handshake | undefined> {
  const { era, transport } = options;
  era.forget();
  if (era.current !== undefined || transport.needsNoProbe) return undefined;
  const verdict = await discover(options);
  if (verdict.kind !== 'modern') return undefined;
  era.learn('modern');
  return { introduction: verdict.introduction, dialect: modernDialect };
}
