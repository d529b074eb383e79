/**
 * The resource subscriptions of sessions at one server, and their connections. A server announces changes over the connection that
 * subscribed, and may not know the subscription on another connection. A server of 2026-07-28 gets all subscriptions at once.
 */
import { subjects, type Bus } from '@omnibus/bus';
import { backoffMs, type DeadlineWheel } from '@omnibus/lifecycle';
import type { CallCommand, ExchangeOutcome, JsonObject, ServerName, SessionKey } from '@omnibus/protocol';
import type { Attempt } from '../../call/attempt.ts';
import type { CallRun, CallStep } from '../../call/steps.ts';
import type { UpstreamConnection } from '../../connection/connection.ts';
import { SharedSubscriptions } from './shared-subscriptions.ts';

export interface ResourceSubscriptionsOptions {
  readonly bus: Bus;
  readonly server: ServerName;
  readonly wheel: DeadlineWheel;
  /** Called for an update that is dropped, because there are too many. */
  readonly dropped: () => void;
  /** Sends a request and ignores its answer. */
  readonly tell: (method: string, params: JsonObject, connection: UpstreamConnection) => void;
}

const invalidParams = -32_602;
/** Time in which updates of one resource are announced once at the beginning, and once more at the end if it changed meanwhile. */
const updatePauseMs = 200;
/** Bound on the resources of one server in such a pause; a server may name any sub-resource of a subscribed one. */
const maxPaused = 1_000;

/** How often a subscription is tried again at a server that has just come back and may not accept it at once. */
const maxAttempts = 5;
const attemptPause = { minMs: 500, maxMs: 30_000 };

/** An update that was announced a moment ago. */
interface Pause {
  /** The parameters of an update in the pause. */
  changedAgain: { readonly more: JsonObject } | undefined;
}

const nothing: JsonObject = {};

/** Others wait for the same answer. `given up`: the next one that waits must send the subscription again. */
type Telling = PromiseWithResolvers<ExchangeOutcome | undefined> | 'given up';

const done: Promise<ExchangeOutcome> = Promise.resolve({ kind: 'result', result: {} });

export class ResourceSubscriptions {
  readonly #options: ResourceSubscriptionsOptions;
  readonly #subscriptions = new Map<UpstreamConnection, SharedSubscriptions>();
  /** Subscriptions that servers have not answered yet, by URI. */
  readonly #tellings = new WeakMap<UpstreamConnection, Map<string, Telling>>();
  readonly #paused = new WeakMap<UpstreamConnection, Map<string, Pause>>();
  /** The present round of subscribing for each connection, begun when it was last opened. */
  readonly #rounds = new WeakMap<UpstreamConnection, object>();

  constructor(options: ResourceSubscriptionsOptions) {
    this.#options = options;
  }

  /**
   * Counts a subscription, or removes it from the count.
   * @returns undefined if the server needs a request, after which `told` must be called with its answer; else the answer that another caller got
   * or waits for, or undefined inside the promise if that caller cancelled and the server needs another request.
   */
  settled(
    { method, params, context }: CallCommand,
    connection: UpstreamConnection,
  ): Promise<ExchangeOutcome | undefined> | undefined {
    const uri = params['uri'] as string;
    if (method === 'resources/unsubscribe') return this.#remove(connection, uri, context.session) ? undefined : done;
    const isFirst = this.#of(connection).add(uri, context.session);
    const tellings = this.#tellingsOf(connection);
    const telling = tellings.get(uri);
    if (telling !== undefined && telling !== 'given up') return telling.promise;
    if (!isFirst && telling === undefined) return done;
    tellings.set(uri, Promise.withResolvers());
    return undefined;
  }

  /** The server has answered a subscription. @param outcome undefined if no caller waits for the answer any more. */
  told(command: CallCommand, connection: UpstreamConnection, outcome: ExchangeOutcome | undefined): void {
    const uri = command.params['uri'] as string;
    const tellings = this.#tellingsOf(connection);
    const telling = tellings.get(uri);
    tellings.delete(uri);
    if (outcome?.kind !== 'result') this.refused(command, connection);
    if (outcome === undefined && this.#isWanted(connection, uri)) tellings.set(uri, 'given up');
    if (telling !== undefined && telling !== 'given up') telling.resolve(outcome);
    if (outcome?.kind === 'result' && !this.#isWanted(connection, uri)) this.#unsubscribe(connection, [uri]);
  }

  /**
   * For a server that gets all resources at once, sends the changed set.
   * @returns the answer to the call that changed it; undefined where the call itself must be sent.
   */
  change({ method, params }: CallCommand, connection: UpstreamConnection): Promise<ExchangeOutcome> | undefined {
    const uri = params['uri'] as string;
    return connection.watch(this.#urisOf(connection))?.then((said) => {
      if (method !== 'resources/subscribe') return done;
      if ('fault' in said) return { kind: 'fault', fault: said.fault };
      if (said.taken.includes(uri)) return done;
      const message = 'the server does not tell of changes of this resource';
      return { kind: 'error', error: { code: invalidParams, message, data: { uri } } };
    });
  }

  /** The server has refused a subscription, or no caller waits for it any more. */
  refused({ params, context }: CallCommand, connection: UpstreamConnection): void {
    this.#remove(connection, params['uri'] as string, context.session);
  }

  /**
   * The connection was opened again, and the server has forgotten its subscriptions. Resources that may have changed meanwhile are announced as updated, but
   * only after the server accepts the subscription again: a client that read earlier could miss a change.
   */
  again(connection: UpstreamConnection): void {
    const uris = this.#urisOf(connection);
    const round = {};
    this.#rounds.set(connection, round);
    if (uris.length === 0) return;
    const told = connection.watch(uris);
    if (told !== undefined) void told.then(() => this.missed(connection));
    else for (const uri of uris) void this.#subscribeAgain(connection, uri, round, 1);
  }

  /** @param round in which the connection was opened; a new round subscribes to everything again. */
  async #subscribeAgain(connection: UpstreamConnection, uri: string, round: object, attempt: number): Promise<void> {
    const goesOn = (): boolean =>
      this.#rounds.get(connection) === round && connection.isReady && this.#isWanted(connection, uri);
    if (!goesOn()) return;
    const { kind } = await connection.ask('resources/subscribe', { uri });
    if (kind === 'result' && !this.#isWanted(connection, uri)) this.#unsubscribe(connection, [uri]);
    if (!goesOn()) return;
    if (kind === 'result' || attempt === maxAttempts) this.updated(connection, uri);
    else
      this.#options.wheel.schedule(
        backoffMs(attempt - 1, attemptPause, Math.random()),
        () => void this.#subscribeAgain(connection, uri, round, attempt + 1),
      );
  }

  /** @param more further members of the server's notification. */
  updated(connection: UpstreamConnection, uri: string, more = nothing): void {
    const sessions = this.#subscriptions.get(connection)?.listeners(uri) ?? [];
    if (sessions.length === 0) return;
    const paused = this.#paused.get(connection) ?? new Map<string, Pause>();
    this.#paused.set(connection, paused);
    const pause = paused.get(uri);
    if (pause !== undefined) {
      pause.changedAgain = { more };
      return;
    }
    const { bus, server, wheel, dropped } = this.#options;
    if (paused.size >= maxPaused) {
      dropped();
      return;
    }
    bus.publish(subjects.notices, {
      kind: 'resource-updated',
      server,
      uri,
      ...(more === nothing ? {} : { more }),
      sessions,
    });
    const begun: Pause = { changedAgain: undefined };
    paused.set(uri, begun);
    wheel.schedule(updatePauseMs, () => {
      paused.delete(uri);
      if (begun.changedAgain !== undefined) this.updated(connection, uri, begun.changedAgain.more);
    });
  }

  /** Announces all resources as updated, since announcements may have been lost. */
  missed(connection: UpstreamConnection): void {
    for (const uri of this.#urisOf(connection)) this.updated(connection, uri);
  }

  /** Sessions with subscriptions. */
  get sessions(): SessionKey[] {
    return [...this.#subscriptions.values()].flatMap((subscriptions) => subscriptions.allSessions);
  }

  isNeeded(connection: UpstreamConnection): boolean {
    return this.#subscriptions.get(connection)?.isEmpty === false;
  }

  /** A session has ended its subscription to a resource, at whichever adapter it said so. */
  unsubscribed(session: SessionKey, uri: string): void {
    for (const connection of this.#subscriptions.keys())
      if (this.#remove(connection, uri, session)) this.#unsubscribe(connection, [uri]);
  }

  forgetSession(session: SessionKey): void {
    for (const [connection, subscriptions] of this.#subscriptions) {
      const left = subscriptions.removeSession(session);
      this.#unsubscribe(connection, left);
      if (subscriptions.isEmpty) this.#subscriptions.delete(connection);
    }
  }

  #unsubscribe(connection: UpstreamConnection, uris: readonly string[]): void {
    if (uris.length === 0 || connection.watch(this.#urisOf(connection)) !== undefined) return;
    for (const uri of uris) this.#options.tell('resources/unsubscribe', { uri }, connection);
  }

  #tellingsOf(connection: UpstreamConnection): Map<string, Telling> {
    const known = this.#tellings.get(connection);
    if (known !== undefined) return known;
    const made = new Map<string, Telling>();
    this.#tellings.set(connection, made);
    return made;
  }

  #urisOf(connection: UpstreamConnection): readonly string[] {
    return [...(this.#subscriptions.get(connection)?.uris ?? [])];
  }

  #isWanted(connection: UpstreamConnection, uri: string): boolean {
    return this.#subscriptions.get(connection)?.has(uri) === true;
  }

  /** @returns true if the server needs a request. */
  #remove(connection: UpstreamConnection, uri: string, session: SessionKey): boolean {
    const subscriptions = this.#subscriptions.get(connection);
    const isLast = subscriptions?.remove(uri, session) === true;
    if (subscriptions?.isEmpty === true) this.#subscriptions.delete(connection);
    return isLast;
  }

  #of(connection: UpstreamConnection): SharedSubscriptions {
    const known = this.#subscriptions.get(connection);
    if (known !== undefined) return known;
    const made = new SharedSubscriptions();
    this.#subscriptions.set(connection, made);
    return made;
  }
}

/** Subscribes once at the server, however many sessions subscribe. */
export function subscriptionSteps(subscriptions: ResourceSubscriptions): CallStep {
  let run: CallRun;
  /** Another call has already told the server what this one wanted to tell it. */
  const joined = ({ call, connection }: Attempt, outcome: ExchangeOutcome | undefined): void => {
    const isOpen = run.isOpen(call);
    if (!isOpen || (outcome !== undefined && outcome.kind !== 'result'))
      subscriptions.refused(call.command, connection);
    if (!isOpen) return;
    if (outcome === undefined) run.again(call);
    else run.finish(call, outcome);
  };
  const changed = ({ call, connection }: Attempt, outcome: ExchangeOutcome): void => {
    if (call.command.method === 'resources/subscribe')
      subscriptions.told(call.command, connection, run.isOpen(call) ? outcome : undefined);
    run.finish(call, outcome);
  };
  const take = (attempt: Attempt): void => {
    const { call, connection } = attempt;
    const settled = subscriptions.settled(call.command, connection);
    const change = settled === undefined ? subscriptions.change(call.command, connection) : undefined;
    if (settled !== undefined) attempt.end();
    const done =
      settled?.then((outcome) => joined(attempt, outcome)) ??
      change?.then((outcome) => {
        attempt.end();
        changed(attempt, outcome);
      });
    if (done === undefined) attempt.send();
    else done.catch((error: unknown) => run.failed(call, error));
  };
  return {
    join(given) {
      run = given;
    },
    takes: { 'resources/subscribe': take, 'resources/unsubscribe': take },
    answers: {
      'resources/subscribe': ({ call, connection }, outcome) => {
        subscriptions.told(call.command, connection, outcome);
        return outcome;
      },
    },
    cancels: {
      'resources/subscribe': ({ command }, connection) => subscriptions.told(command, connection, undefined),
    },
  };
}
