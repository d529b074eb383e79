/**
 * The connections to one server. The base connection reads the catalogue and carries the calls of all callers that the server may ask nothing and that need
 * not be separate. Other connections exist for callers that can answer questions, and for known callers at a server that keeps state: such a
 * connection declares what its caller can do, and messages over it concern that caller only.
 *
 * `sharing.ts` decides which requests count as one caller.
 *
 * Invariants
 *  I1  A connection that is not the base serves one caller at a time, with exactly the capabilities it declared.
 *  I2  A connection closes after an idle time, or with its session.
 *  I3  Questions over a connection are for its caller, and no other caller gets the connection afterwards. One with roots that were
 *      read serves only clients with the same roots.
 *  I4  If callers have their own identities at the server, a connection serves its own caller only.
 */
import {
  anonymous,
  type ExchangeContext,
  type ExchangeOutcome,
  type GatewayFault,
  type JsonObject,
  type Principal,
  type SessionKey,
  type TaskPlace,
} from '@omnibus/protocol';
import { older, type Leg } from '../dialect/leg.ts';
import { Legs } from '../dialect/legs.ts';
import { makeRoom, type IdleConnection, type Pool } from './budget.ts';
import type { UpstreamConnection } from './connection.ts';
import type { Identity } from './identities.ts';
import type { ConnectionPoolOptions, NewConnection } from './pool-options.ts';
import { everyCapability } from './factory.ts';
import { turnAt, type Instance } from './instance.ts';
import { Instances } from './instances.ts';
import { askable, askableOver, Sharing } from './sharing.ts';

interface Use {
  readonly connection: UpstreamConnection;
  /** To be called once, when the call has ended. */
  readonly done: () => void;
}

/** @property fault where the caller is refused for another reason than a limit. */
export type Taken = Use | { readonly refused: string; readonly fault?: GatewayFault };

const nothing = (): void => undefined;
const nothingDeclared: JsonObject = {};
/** Key of the shared connection in the older era, for all callers that the server may ask nothing. Keys of sessions contain no space. */
const olderKey = 'older era';
/** Beginning of the keys of connections that clients with the same settings of extensions share. */
const extendedKey = 'extensions ';
/** Bound on such connections, since clients choose the settings. */
const maxExtended = 8;

export class ConnectionPool implements Pool {
  readonly #options: ConnectionPoolOptions;
  readonly #instances = new Instances();
  /** Makes keys of connections that are no session's. */
  #count = 0;
  readonly #isOwned: boolean;
  readonly #legs: Legs;
  readonly #sharing: Sharing;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
    this.#isOwned = options.identities !== undefined;
    // Findings over the shared connection are useless if callers do not share one.
    this.#legs = new Legs(options.mayBeSplit && !this.#isOwned, () => this.#openOlder());
    this.#sharing = new Sharing({
      ...options,
      isOwned: this.#isOwned,
      keepsState: (leg) => this.#keepsState(leg),
      connections: () => this.all(),
    });
    options.budget.join(this);
  }

  /**
   * The shared connection, if it serves this call without a check: the server has no state for the caller, and may ask
   * its client nothing.
   * @returns undefined for a call for which `settling`, `turn` and `take` decide.
   */
  common({ principal, capabilities }: ExchangeContext): UpstreamConnection | undefined {
    const { base, isolation, isProgram } = this.#options;
    if (this.#isOwned || base.dialect.sharing.servesEverybody) return undefined;
    if (isolation === 'shared') return base;
    const keepsNothing = principal === anonymous || !(isProgram || base.hasState !== false);
    return isolation === 'auto' && keepsNothing && Object.keys(capabilities).length === 0 ? base : undefined;
  }

  /** A check before `take`; undefined if none is needed. */
  settling(context: ExchangeContext): Promise<void> | undefined {
    const leg = this.#legOf(context);
    // The shared connection of the older era is closed when it is idle, and opened again for the next caller.
    const isClosed = leg.beside !== undefined && this.#sharing.isShared(context, leg) && !this.#instances.has(olderKey);
    return !leg.isKnown || isClosed ? this.#legs.find() : undefined;
  }

  /** A call over a connection of this server has ended. */
  learn(connection: UpstreamConnection, outcome: ExchangeOutcome): void {
    if (connection.dialect.sharing.servesEverybody) this.#legs.learn(outcome);
  }

  #legOf(context: ExchangeContext): Leg {
    return this.#legs.legOf(this.#met().dialect, context);
  }

  /** A connection with a completed handshake. A server that requires users to sign in may have one only for a user. */
  #met(): UpstreamConnection {
    const { base } = this.#options;
    if (!this.#isOwned || base.isReady) return base;
    return this.#instances.connections.find(({ isReady }) => isReady) ?? base;
  }

  #keepsState(leg: Leg): boolean {
    const shared = leg.beside === undefined ? this.#options.base : this.#instances.get(olderKey)?.connection;
    return this.#options.isProgram || shared?.hasState !== false; // Until it is known whether the server keeps state, connections are not shared.
  }

  #openOlder(): Promise<boolean> {
    return new Promise((resolve) => {
      const { isolation } = this.#options;
      const opened = this.#open(olderKey, {
        user: olderKey,
        principal: anonymous,
        pool: undefined,
        session: undefined,
        leg: older,
        isTakenInTurn: () => false,
        capabilities: isolation === 'shared' ? everyCapability : {},
        changed: (isOpen) => {
          if (!isOpen) this.#closeOlder();
          resolve(isOpen);
        },
      });
      // A server that may have no more connections is served by bridging over the connection it has.
      if (typeof opened === 'string') resolve(false);
    });
  }

  #closeOlder(): void {
    this.#legs.forget();
    const older = this.#instances.get(olderKey);
    if (older !== undefined) void this.#close(older);
  }

  get isProgram(): boolean {
    return this.#options.isProgram;
  }

  get size(): number {
    return this.#instances.size;
  }

  /** The server asked something, and it is unknown for which client. */
  asksUnnamed(): void {
    this.#sharing.asksUnnamed();
  }

  /**
   * Finds the connection for a call, or the reason why there is none.
   * @param roots of its client, where `mustKnowRoots` demanded them.
   * @param isForReading it is to read what such clients are offered.
   */
  // oxlint-disable-next-line complexity -- the rules of sharing in their order (I1, I4), on the path of each call
  take(context: ExchangeContext, roots?: string, isForReading = false): Taken {
    const { base, identities } = this.#options;
    const identity = identities?.of(context);
    if (identity !== undefined && 'fault' in identity)
      return { refused: 'facts about the caller', fault: identity.fault };
    const sharing = this.#sharing;
    const mark = identity?.mark ?? '';
    const leg = this.#legOf(context);
    const capabilities = askableOver(leg, context);
    const apart = sharing.apart(context, leg, capabilities);
    const extensions =
      leg.servesEverybody || context.capabilities['extensions'] === undefined
        ? undefined
        : this.#options.extensionsOf(context, isForReading || this.#isOwned || !sharing.needsNoOwn(capabilities));
    if (apart !== undefined) return this.#takeApart(apart, context, { leg, extensions }, identity);
    if (leg.servesEverybody) return { connection: base, done: nothing };
    if (sharing.needsNoOwn(capabilities)) {
      const extended = extensions === undefined ? undefined : this.#takeExtended(context, extensions, leg);
      return extended ?? (leg.beside === undefined ? { connection: base, done: nothing } : this.#takeBeside(context));
    }
    const whole = withExtensions(capabilities, extensions);
    const declared = JSON.stringify(whole);
    const shared = sharing.sharedPool(context, leg, whole, mark);
    const isAlone = sharing.isAlone(context);
    const pool = shared ?? (isAlone ? `${context.principal} ${declared}${mark}` : undefined);
    const user = shared ?? (isAlone ? context.session : (context.client?.id ?? sharing.callerOf(context)));
    const key = this.#isOwned ? `${context.principal} ${user} ${declared}${mark}` : `${user} ${declared}`; // I1, I4
    const mayServe = (connection: UpstreamConnection): boolean =>
      sharing.mayServeAnother(connection) && !this.#options.isNeeded(connection);
    const found =
      shared === undefined
        ? (this.#instances.get(key) ?? this.#instances.free(pool, user, mayServe))
        : this.#instances
            .ofUser(shared, roots)
            .find((each) => each.calls === 0 || !sharing.isTakenInTurn(capabilities));
    const instance =
      found ??
      this.#open(pool === undefined ? key : this.#nextKey(), {
        user,
        principal: context.principal,
        identity,
        pool,
        capabilities: whole,
        leg,
        roots,
        isTakenInTurn: () => shared !== undefined && sharing.isTakenInTurn(capabilities),
        session: user === context.session && pool === undefined ? context.session : undefined,
        changed: (isOpen) => this.#legChanged(leg, isOpen),
      });
    return typeof instance === 'string' ? { refused: instance } : this.#use(instance, context);
  }

  /** Finds an unshared connection, for a caller without questions. */
  #takeApart(
    user: string,
    context: ExchangeContext,
    { leg, extensions }: { readonly leg: Leg; readonly extensions: JsonObject | undefined },
    identity: Identity | undefined,
  ): Taken {
    const session = user === context.session ? context.session : undefined;
    const capabilities = withExtensions(session === undefined ? nothingDeclared : askable(context), extensions);
    // No other connection's key has no space, or only that of the leg's mark. I1: a session's declared capabilities are part of its key; the connection of a known caller declares nothing.
    const key = `${session !== undefined ? `${user} apart ${JSON.stringify(capabilities)}` : `${leg.mark}${user}${extensionMark(extensions)}`}${identity?.mark ?? ''}`;
    const instance =
      this.#instances.get(key) ??
      this.#open(key, {
        user,
        principal: context.principal,
        identity,
        session,
        capabilities,
        leg,
        pool: undefined,
        isTakenInTurn: () => false,
        changed: (isOpen) => this.#legChanged(leg, isOpen),
      });
    return typeof instance === 'string' ? { refused: instance } : this.#use(instance, context);
  }

  /**
   * Finds the shared connection of callers with these extensions and without questions.
   * @returns undefined where the server may have no more connections, or has some for `maxExtended` other settings of extensions: they are served as if they
   * had no extensions.
   */
  #takeExtended(context: ExchangeContext, extensions: JsonObject, leg: Leg): Taken | undefined {
    const key = `${extendedKey}${leg.mark}${JSON.stringify(extensions)}`;
    const known = this.#instances.get(key);
    if (known === undefined && this.#instances.countOf(extendedKey) >= maxExtended) return undefined;
    const instance =
      known ??
      this.#open(key, {
        user: key,
        principal: anonymous,
        pool: undefined,
        session: undefined,
        leg,
        capabilities: { extensions },
        isTakenInTurn: () => false,
        changed: (isOpen) => this.#legChanged(leg, isOpen),
      });
    return typeof instance === 'string' ? undefined : this.#use(instance, context);
  }

  #legChanged({ beside }: Leg, isOpen: boolean): void {
    if (beside !== undefined && !isOpen) this.#legs.forget();
  }

  /** The connection for reading a caller's lists. Lists depend only on declared capabilities; if each request declares them, this is the shared connection. */
  takeToRead(context: ExchangeContext): Taken {
    const leg = this.#legOf(context);
    return leg.servesEverybody && !this.#isOwned
      ? { connection: this.#options.base, done: nothing }
      : this.take(context, undefined, true);
  }

  /**
   * Makes requests of one user wait for their turn. Requests do not distinguish the clients of one user, so a server that does not name the client
   * client it asks serves them one at a time. A request that has waited about as long as another program takes to start gets a connection of its own; at a
   * server that runs already it gets one at once.
   * @param roots as for `take`.
   * @returns undefined when the request need not wait.
   */
  turn(context: ExchangeContext, roots?: string): Promise<void> | undefined {
    if (!this.#sharing.mayWait(context)) return undefined;
    const leg = this.#legOf(context);
    const capabilities = askableOver(leg, context);
    const identity = this.#options.identities?.of(context);
    if (identity !== undefined && 'fault' in identity) return undefined;
    const pool = this.#sharing.sharedPool(context, leg, capabilities, identity?.mark);
    if (pool === undefined || !this.#sharing.isTakenInTurn(capabilities)) return undefined;
    const instances = this.#instances.ofUser(pool, roots);
    const busy = instances.find(({ connection }) => !connection.asked.isOpen);
    if (busy === undefined || instances.some(({ calls }) => calls === 0)) return undefined;
    return turnAt(busy, this.#options.wheel);
  }

  /** Whether the roots of a request's client decide which of the user's connections may serve it, because the server reads roots. */
  mustKnowRoots(context: ExchangeContext): boolean {
    return 'roots' in context.capabilities && this.#sharing.mustKnowRoots(context, this.#legOf(context));
  }

  #use(instance: Instance, { principal }: Pick<ExchangeContext, 'principal'>): Taken {
    // In any case, no call uses another caller's identity.
    if (this.#isOwned && instance.principal !== principal) return { refused: 'the isolation of its users' }; // I4
    instance.calls += 1;
    return {
      connection: instance.connection,
      done: () => {
        instance.calls -= 1;
        instance.lastUsedAt = performance.now();
        instance.waiting[0]?.();
        if (
          instance.calls === 0 &&
          instance.pool !== undefined &&
          instance.user !== instance.pool &&
          !this.#sharing.mayServeAnother(instance.connection) &&
          !this.#options.isNeeded(instance.connection)
        )
          void this.#close(instance);
      },
    };
  }

  #takeBeside(context: ExchangeContext): Taken {
    const older = this.#instances.get(olderKey);
    return older === undefined ? { connection: this.#options.base, done: nothing } : this.#use(older, context);
  }

  /** Whether the call uses a shared connection. */
  isShared(context: ExchangeContext): boolean {
    return this.#sharing.isShared(context, this.#legOf(context));
  }

  #nextKey(): string {
    this.#count += 1;
    return `alone ${this.#count}`;
  }

  /** @returns why it cannot, in words, when there are as many as there may be. */
  #open(
    key: string,
    { user, pool, roots, ...made }: Pick<Instance, 'user' | 'pool' | 'roots'> & NewConnection,
  ): Instance | string {
    const { create, maxConnections, budget } = this.#options;
    const full = makeRoom(this.size, maxConnections, [this])
      ? budget.admit(this)
      : `maxConnections (${maxConnections}) of the server`;
    if (full !== undefined) return full;
    const instance: Instance = {
      key,
      principal: made.principal,
      session: made.session,
      user,
      pool,
      roots,
      connection: create(made),
      waiting: [],
      lastUsedAt: performance.now(),
      calls: 0,
    };
    this.#instances.set(key, instance);
    instance.connection.start();
    this.#closeWhenIdle(instance);
    return instance;
  }

  idle(): IdleConnection | undefined {
    const found = this.#instances.longestIdle(this.#options.isNeeded);
    return found === undefined ? undefined : { since: found.lastUsedAt, close: () => void this.#close(found) };
  }

  all(): UpstreamConnection[] {
    return this.#instances.connections;
  }

  /**
   * A server would know a user otherwise now: the user's connections shake hands again, and those that failed are closed, so that the next request opens a new one (C4).
   * @param isInUse whether requests are sent with the new credentials already: connections that are ready, or being opened, stay with their calls.
   */
  renewFor(principal: Principal, problem: string, isInUse: boolean): void {
    for (const instance of this.#instances.inNameOf(principal)) {
      const { connection } = instance;
      if (isInUse && connection.isOpen) continue;
      if (connection.isReady) connection.reconnect(problem, true);
      else void this.#close(instance);
    }
  }

  /** Closes the connections of a user: to the server, another person with the same name would be that user. */
  endFor(principal: Principal): void {
    for (const instance of this.#instances.inNameOf(principal)) void this.#close(instance);
  }

  /** Whether a connection may carry a caller's request. */
  isFor(connection: UpstreamConnection, principal: Principal): boolean {
    return !this.#isOwned || this.#instances.inNameOf(principal).some((each) => each.connection === connection); // I4
  }

  /** The connection that created the tasks of a place; undefined when it is gone. */
  leadingTo(place: TaskPlace): UpstreamConnection | undefined {
    return [this.#options.base, ...this.all()].find((connection) => connection.run.has(place));
  }

  /** The connections that carry something for a session. */
  of(session: SessionKey): UpstreamConnection[] {
    return this.#instances.of(session);
  }

  /** Sessions that have connections of their own. */
  get sessions(): SessionKey[] {
    return this.#instances.sessions;
  }

  endSession(session: SessionKey): void {
    for (const instance of this.#instances.values()) {
      if (
        instance.user === session &&
        (instance.pool === undefined || instance.calls === 0) &&
        !this.#options.isNeeded(instance.connection)
      )
        void this.#close(instance);
    }
  }

  async stop(): Promise<void> {
    this.#options.budget.leave(this);
    await Promise.all([...this.#instances.values()].map((instance) => this.#close(instance)));
  }

  #closeWhenIdle(instance: Instance): void {
    const { wheel, idleMs, isNeeded } = this.#options;
    instance.look = wheel.schedule(idleMs, () => {
      if (instance.calls === 0 && !isNeeded(instance.connection) && performance.now() - instance.lastUsedAt >= idleMs)
        void this.#close(instance); // I2
      else this.#closeWhenIdle(instance);
    });
  }

  #close({ key, connection, look }: Instance): Promise<void> {
    this.#instances.delete(key);
    look?.cancel();
    return connection.stop();
  }
}

function withExtensions(capabilities: JsonObject, extensions: JsonObject | undefined): JsonObject {
  return extensions === undefined ? capabilities : { ...capabilities, extensions };
}

function extensionMark(extensions: JsonObject | undefined): string {
  return extensions === undefined ? '' : ` ${JSON.stringify(extensions)}`;
}
