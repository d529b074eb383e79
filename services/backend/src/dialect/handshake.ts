/** The first words with a server: it is found out of which era it is, and it is introduced to us and we to it. */
import { isModernRevision, latestLegacyRevision, legacyRevisions, printable, type ExchangeOutcome, type JsonObject, type LegacyRevision } from '@omnibus/protocol';
import { initializeParams, namedRevisions, readIntroduction, type ServerIntroduction } from './legacy/handshake.ts';
import { readDiscovery, readDiscoveryError, readRefusal, type Era, type Verdict } from './modern/discovery.ts';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Questions } from '../connection/questions.ts';
import type { Transport } from '../transport/transport.ts';

export interface HandshakeOptions {
  readonly era: Era;
  readonly transport: Transport;
  /** What the server is told its client can do. */
  readonly capabilities: JsonObject;
  readonly connectTimeoutMs: number;
  readonly ask: (method: string, params: JsonObject, limitMs: number) => Promise<ExchangeOutcome>;
  /** False once the transport was replaced or closed. */
  readonly isCurrent: () => boolean;
  /** What a fault says, without whose it is. */
  readonly plain: (message: string) => string;
}

export type Handshake =
  | { readonly introduction: ServerIntroduction; readonly isModern: boolean }
  /** What stands in the way. */
  | { readonly problem: string };

/** A program that is only starting must not be taken for one that does not answer. */
const minProbeMs = 2_000;
/** A server that was told roots looks at the folders before it can use them, and nothing tells when it has. */
const lookAroundMs = 250;

/** 2026-07-28 basic/versioning, Compatibility: `server/discover` first, `initialize` for those that do not know it. */
export async function meet(options: HandshakeOptions): Promise<Handshake> {
  const { era, transport, isCurrent } = options;
  if (transport.isLegacyOnly || era.current === 'legacy') return initialize(options);
  const first = await discover(options);
  const verdict = first.kind === 'again' ? await discover(options) : first;
  switch (verdict.kind) {
    case 'again':
      return { problem: 'the server refuses every revision, also those it says it speaks' };
    case 'unknown':
      return verdict.mayBeLegacy && era.current === undefined && isCurrent() ? tryLegacy(options, verdict.problem) : { problem: verdict.problem };
    case 'modern':
      era.learn('modern');
      return { introduction: verdict.introduction, isModern: true };
    case 'legacy':
      if (era.current === 'modern') {
        era.forget();
        return { problem: 'the server does not answer server/discover, as one of the newest revision does' };
      }
      era.learn('legacy');
      return isCurrent() ? initialize(options) : { problem: 'the connection is gone' };
  }
}

/** What an older server makes of a request it does not know proves nothing; being introduced to it does. */
async function tryLegacy(options: HandshakeOptions, problem: string): Promise<Handshake> {
  const meeting = await initialize(options);
  if ('problem' in meeting) return { problem };
  options.era.learn('legacy');
  return meeting;
}

async function discover({ ask, connectTimeoutMs, transport, era, isCurrent, plain }: HandshakeOptions): Promise<Verdict> {
  const outcome = await ask('server/discover', {}, Math.max(minProbeMs, connectTimeoutMs / 3));
  // A program that ends because it was asked something before `initialize` is of an older era: the next one is not asked.
  if (!isCurrent() && !transport.closesToCancel) era.learn('legacy');
  switch (outcome.kind) {
    case 'result': return readDiscovery(outcome.result);
    case 'error': return readDiscoveryError(outcome.error);
    case 'fault': {
      const { reason, message, data } = outcome.fault;
      const problem = plain(message);
      if (reason === 'upstream.refused') return readRefusal(Number(data?.['httpStatus']), problem);
      // Over HTTP silence proves nothing; a program that does not answer is of an older era.
      return reason === 'upstream.timeout' && !transport.closesToCancel ? { kind: 'legacy' } : { kind: 'unknown', problem, mayBeLegacy: reason === 'upstream.invalid' || reason === 'upstream.lost' };
    }
  }
}

/** Once more in a revision that the server names when it refuses the first. @param isFirst nothing was refused yet. */
async function initialize(options: HandshakeOptions, revision: LegacyRevision = latestLegacyRevision, isFirst = true): Promise<Handshake> {
  const { ask, capabilities, connectTimeoutMs, plain, isCurrent } = options;
  const outcome = await ask('initialize', initializeParams(capabilities, revision), connectTimeoutMs);
  switch (outcome.kind) {
    case 'fault': return { problem: plain(outcome.fault.message) };
    case 'error': {
      const named = isFirst && isCurrent() ? (namedRevisions(outcome.error) ?? []) : [];
      const common = legacyRevisions.find((each) => each !== revision && named.includes(each));
      if (common !== undefined) return initialize(options, common, false);
      return (named.some(isModernRevision) ? await discoverAfterAll(options) : undefined) ?? { problem: `the server refused to initialize: ${printable(outcome.error.message)}` };
    }
    case 'result':
      try {
        return { introduction: readIntroduction(outcome.result), isModern: false };
      } catch (error) {
        return { problem: (error as Error).message };
      }
  }
}

/** What was known of the server's era is not true any more. @returns undefined where the configuration says which it is, or asking does not help. */
async function discoverAfterAll(options: HandshakeOptions): Promise<Handshake | undefined> {
  const { era, transport } = options;
  era.forget();
  if (era.current !== undefined || transport.isLegacyOnly) return undefined;
  const verdict = await discover(options);
  if (verdict.kind !== 'modern') return undefined;
  era.learn('modern');
  return { introduction: verdict.introduction, isModern: true };
}

/** Over HTTP requests overtake each other, and a server that has not taken this yet may have no lists. Resolves when it has, or has had its time. */
export function sayInitialized(transport: Transport, wheel: DeadlineWheel, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const limit = wheel.schedule(limitMs, resolve);
    transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, () => {
      limit.cancel();
      resolve();
    });
  });
}

export interface LookAroundOptions {
  readonly ping: () => Promise<unknown>;
  readonly questions: Questions;
  readonly wheel: DeadlineWheel;
  readonly limitMs: number;
}

/**
 * Servers that keep roots ask for them as soon as they are initialized, and refuse everything until they have them (the official
 * filesystem server). Messages are read in order, so what it asks at once comes before the answer to a ping.
 */
export async function letLookAround({ ping, questions, wheel, limitMs }: LookAroundOptions): Promise<void> {
  await ping();
  if (!questions.wereAsked) return;
  await questions.quiet((run) => wheel.schedule(limitMs, run));
  await new Promise<void>((resolve) => {
    wheel.schedule(lookAroundMs, resolve);
  });
}
