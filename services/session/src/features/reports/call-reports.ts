/** Reports calls to watchers (`Tap`), to the log, and to the list of the last failures. Arguments and results are never in the log or the list of failures. */
import { randomBytes } from 'node:crypto';
import { isObject, printable, type GatewayFault, type JsonObject } from '@omnibus/protocol';
import { shownTag, type Failures, type Logger, type Tap } from '@omnibus/telemetry';
import type { CallStream, ForwardedCall } from '../../call/client-port.ts';
import type { Destination } from '../../call/plan.ts';
import type { CallEnd, CallWatcher, Requested, Requester, WatchedCall } from '../../call/watchers.ts';

export interface CallReportOptions {
  readonly tap: Tap;
  readonly failures: Failures;
  readonly log: Logger;
  /** Log level at which calls are logged. */
  readonly level: 'off' | 'debug' | 'info';
}

type ReportedCall = Pick<ForwardedCall<CallStream>, 'method' | 'given' | 'stream'> &
  Partial<Pick<ForwardedCall<CallStream>, 'screen' | 'tap'>>;

const maxProblem = 300;

export class CallReports {
  readonly #options: CallReportOptions;
  readonly #tap: Tap;
  readonly #isLogged: boolean;

  constructor(options: CallReportOptions) {
    this.#options = options;
    this.#tap = options.tap;
    this.#isLogged = options.level !== 'off' && options.log.isLevelEnabled(options.level);
  }

  /** Whether each call is reported, and not only those that fail. */
  get reportsAll(): boolean {
    return this.#tap.isWatched || this.#isLogged;
  }

  /** Reports calls to watchers and to the log. */
  readonly ofAll: CallWatcher = {
    sent: ({ client, call, to, since }) => {
      const tag = this.#tap.isWatched ? this.#routed(client, call, to) : undefined;
      return tag === undefined && !this.#isLogged ? undefined : this.#watched(client, call, to, since, tag);
    },
    held: ({ client, call, to, since, event, more }) => {
      const tag = this.#tap.isWatched ? this.#chosen(client, call, to) : undefined;
      if (tag === undefined) return undefined;
      this.#tap.tell(tag, 'session', event, { ...this.#about(client, call, to), ...more });
      return this.#watched(client, call, to, since, tag);
    },
    continued: (tag, event, more) => this.#tap.tell(tag, 'session', event, more),
  };

  /** Puts calls that fail on the list of the last failures, and reports refusals. */
  readonly ofFailures: CallWatcher = {
    failed: ({ client, call, to, since }, outcome, tag) =>
      this.#keep(call, this.#about(client, call, to), saidOf(call, outcome, since), tag),
    refused: (client, requested, gatewayFault) => this.#refused(client, requested, gatewayFault),
  };

  #watched(
    client: Requester,
    call: ReportedCall,
    to: Pick<Destination, 'server' | 'tool'>,
    since: number,
    tag: string | undefined,
  ): WatchedCall {
    const ended: NonNullable<WatchedCall['ended']> = (outcome, characters = 0) => {
      const said = saidOf(call, outcome, since);
      const bytes = typeof outcome !== 'string' && outcome.kind === 'fault' ? 0 : characters;
      if (tag !== undefined)
        this.#tap.tell(tag, 'session', 'settled', {
          ...said,
          bytes,
          ...(isWhole(call) && typeof outcome !== 'string' && outcome.kind === 'result'
            ? this.#tap.payload(tag, outcome.result)
            : {}),
        });
      if (this.#isLogged) this.#log({ ...this.#about(client, call, to), ...said, bytes });
    };
    return tag === undefined ? { ended, takesAway: true } : new TappedCall(this.#tap, tag, ended);
  }

  /** Reports that a call is about to be sent to a server. @returns its tag where it is watched. */
  #routed(
    port: Requester,
    call: ReportedCall,
    to: Pick<Destination, 'server' | 'tool' | 'params'>,
  ): string | undefined {
    const tap = this.#tap;
    const tag = this.#chosen(port, call, to);
    if (tag !== undefined)
      tap.tell(tag, 'session', 'routed', {
        ...this.#about(port, call, to),
        revision: port.dialect.revision,
        ...tap.payload(tag, to.params['arguments']),
      });
    return tag;
  }

  #chosen(
    { info, key }: Requester,
    { tap, stream }: ReportedCall,
    { server, tool }: Pick<Destination, 'server' | 'tool'>,
  ): string | undefined {
    const tag = this.#tap.chooseKnown(tap ?? stream.tap, { server, tool, client: info?.name, session: key });
    if (tag !== undefined) stream.watchedAs?.(tag);
    return tag;
  }

  #refused(client: Requester, { method, params, call }: Requested, { reason, message }: GatewayFault): void {
    if (call === undefined) return;
    const { stream } = call;
    const said = { outcome: 'fault', reason, problem: printable(message, maxProblem), ms: 0 };
    const about = this.#about(client, { method, given: params }, undefined);
    const tag = call.tap ?? stream.tap;
    if (tag !== undefined) this.#tap.tell(tag, 'session', 'settled', { ...about, ...said });
    this.#keep(call, about, said, tag);
    if (this.#isLogged) this.#log({ ...about, ...said });
  }

  #log(entry: JsonObject): void {
    const { log, level } = this.#options;
    if (level === 'info') log.info(entry, 'a call');
    else log.debug(entry, 'a call');
  }

  #keep(call: Pick<ReportedCall, 'stream'>, about: JsonObject, said: JsonObject, tag: string | undefined): void {
    const [, trace] = call.stream.trace?.split('-') ?? [];
    this.#options.failures.add({
      tag: tag === undefined ? (trace ?? randomBytes(16).toString('hex')) : shownTag(tag),
      at: Date.now(),
      ...about,
      ...said,
    });
  }

  #about(
    { asking: { endpoint, principal }, session, info }: Requester,
    { method, given }: { readonly method: string; readonly given: JsonObject },
    to: Pick<Destination, 'server' | 'tool'> | undefined,
  ): JsonObject {
    const name = given['name'] ?? given['uri'];
    return {
      method,
      endpoint,
      principal,
      ...(typeof name === 'string' ? { name: printable(name, 200) } : {}),
      ...(to === undefined ? {} : { server: to.server, ...(to.tool === undefined ? {} : { tool: to.tool }) }),
      ...(session === undefined ? {} : { session: session.slice(0, 12) }),
      ...(info === undefined ? {} : { client: info.name }),
    };
  }
}

class TappedCall implements WatchedCall {
  readonly tap: string;
  readonly ended: NonNullable<WatchedCall['ended']>;
  readonly #tap: Tap;

  constructor(tap: Tap, tag: string, ended: NonNullable<WatchedCall['ended']>) {
    this.#tap = tap;
    this.tap = tag;
    this.ended = ended;
  }

  lost(outcome: 'repeated' | 'unknown'): void {
    this.#tap.tell(this.tap, 'session', outcome);
  }

  asked({ method }: { readonly method: string }): void {
    this.#tap.tell(this.tap, 'session', 'asked', { asks: method });
  }

  answered(): void {
    this.#tap.tell(this.tap, 'session', 'client-answered');
  }

  withdrawn(): void {
    this.#tap.tell(this.tap, 'session', 'withdrawn');
  }
}

/** Whether the answer of a server may appear outside the call: not if a rule redacts it or a guardrail may change it. */
function isWhole({ screen }: ReportedCall): boolean {
  return screen?.takesOut !== true;
}

/** The outcome of a call, in words. @param since when it was sent, by `performance.now()`. */
function saidOf(call: ReportedCall, outcome: CallEnd, since: number): JsonObject {
  const { problem, ...words } = wordsOf(outcome);
  return {
    ...words,
    ...(isWhole(call) && problem !== undefined ? { problem } : {}),
    ms: Math.round((performance.now() - since) * 10) / 10,
  };
}

function wordsOf(outcome: CallEnd): JsonObject {
  if (outcome === 'moved') return { outcome: 'cancelled', reason: outcome };
  if (outcome === 'cancelled') return { outcome };
  switch (outcome.kind) {
    case 'result':
      return {
        outcome: outcome.result['isError'] === true ? 'toolError' : 'result',
        ...(isObject(outcome.result['inputRequests']) ? { reason: 'asks' } : {}),
      };
    case 'error':
      return {
        outcome: 'error',
        reason: String(outcome.error.code),
        problem: printable(outcome.error.message, maxProblem),
      };
    case 'fault':
      return {
        outcome: outcome.fault.reason.endsWith('.timeout') ? 'timeout' : 'fault',
        reason: outcome.fault.reason,
        problem: printable(outcome.fault.message, maxProblem),
      };
  }
}
