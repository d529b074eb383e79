/**
 * The connections to one server. The base connection reads the catalogue and carries the calls of callers whom a server may
 * ask nothing. The others exist for callers it may ask: a connection declares what its caller can do, and what comes over
 * it concerns that caller and nobody else.
 *
 * A caller is a session, or the one connection over which a client of 2026-07-28 makes all its requests, or the user whose such requests
 * are: several clients of one user may make them, which share what a server keeps, but never roots, and nothing any more once the server
 * asks without saying on whose behalf. Any other request is a caller of its own: it has a connection alone while it runs, and the next one
 * is given that connection only when the server has asked nothing over it, so that neither roots nor answers stay behind.
 *
 * Invariants
 *  I1  A connection that is not the base serves one caller at a time, with exactly the capabilities it declared.
 *  I2  A connection that no call used for a while, or whose session ended, is closed.
 *  I3  What was asked over a connection was asked of its caller, and no other caller is given the connection afterwards. One over which roots were
 *      read serves only requests whose client says the same roots.
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { anonymous, type ExchangeContext, type ExchangeOutcome, type JsonObject, type SessionKey, type TaskPlace } from '@omnibus/protocol';
import { makeRoom, type ConnectionBudget, type IdleConnection, type Pool } from './budget.ts';
import type { UpstreamConnection } from './connection.ts';
import { OlderLeg } from '../dialect/older-leg.ts';

/** `auto`: one connection for callers that may be asked nothing; others have their own. */
type Isolation = 'auto' | 'shared' | 'principal' | 'session';

export interface ConnectionPoolOptions {
  readonly isolation: Isolation;
  /** Behind each connection is a program of its own. */
  readonly isProgram: boolean;
  readonly base: UpstreamConnection;
  readonly create: (made: NewConnection) => UpstreamConnection;
  /** The base may be of 2026-07-28 and the server of older eras too. */
  readonly hasOlderLeg: boolean;
  readonly wheel: DeadlineWheel;
  readonly idleMs: number;
  /** Connections to this server besides the base; the option `maxConnections`. */
  readonly maxConnections: number;
  /** Which request a message of the server belongs to is seen by what carried it. */
  readonly namesRequests: () => boolean;
  /** What all servers of the process have together. */
  readonly budget: ConnectionBudget;
  /** Something still runs over it although no call does. */
  readonly isNeeded: (connection: UpstreamConnection) => boolean;
}

export interface NewConnection {
  /** What the server is told its client can do. */
  readonly capabilities: JsonObject;
  /** Whose it is, when it is one session's alone. */
  readonly session: SessionKey | undefined;
  /** Only the older era is spoken over it, although the base speaks the newer one. */
  readonly isOlder: boolean;
  /** Requests of one user are made over it one at a time. */
  readonly isTakenInTurn: () => boolean;
  /** Hears whenever it is open and whenever it is not any more. */
  readonly changed: (isOpen: boolean) => void;
}

interface Instance {
  readonly key: string;
  readonly connection: UpstreamConnection;
  /** Undefined when it is no session's alone. */
  readonly session: SessionKey | undefined;
  /** Whose it is: a session; of a request without one, its own key while it runs. */
  user: string;
  /** Of requests without a session: those that may be given the same connection one after the other. */
  readonly pool: string | undefined;
  /** What its clients said of their roots when it was opened for them. */
  readonly roots?: string | undefined;
  /** Who waits for it, oldest first: it serves one at a time. */
  readonly waiting: (() => void)[];
  lastUsedAt: number;
  calls: number;
}

interface Use {
  readonly connection: UpstreamConnection;
  /** To be called once, when the call has ended. */
  readonly done: () => void;
}

export type Taken = Use | { readonly refused: string };

/**
 * What all callers of a shared server together may be asked: one without it is answered for by the gateway. Roots are not in it: a server
 * reads them once and keeps them, and they would be one caller's.
 */
export const everyCapability: JsonObject = { sampling: {}, elicitation: { form: {}, url: {} } };

const nothing = (): void => undefined;
/** About what it takes to start another program. */
const turnMs = 1_000;
/** Of the connection in the older era that serves everybody who may be asked nothing. No session has a key with a space. */
const olderKey = 'older era';

export class ConnectionPool implements Pool {
  readonly #options: ConnectionPoolOptions;
  readonly #instances = new Map<string, Instance>();
  /** Makes keys of connections that are no session's. */
  #count = 0;
  #asksUnnamed = false;
  #readsRoots = false;
  readonly #olderLeg: OlderLeg;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
    this.#olderLeg = new OlderLeg(options.hasOlderLeg, () => this.#openOlder());
    options.budget.join(this);
  }

  /** What has to be found out before `take` can be asked; undefined when nothing has. */
  settling(context: ExchangeContext): Promise<void> | undefined {
    if (!this.#options.base.isModern) return undefined;
    const isOlder = this.#isOlder(context);
    // It is closed when nobody uses it, and opened again for whoever comes.
    const isClosed = isOlder === true && this.#needsNoOwn(askable(context)) && !this.#instances.has(olderKey);
    return isOlder === undefined || isClosed ? this.#olderLeg.find() : undefined;
  }

  /** A call over a connection of this server has ended. */
  learn(connection: UpstreamConnection, outcome: ExchangeOutcome): void {
    if (connection.isModern) this.#olderLeg.learn(outcome);
  }

  #isOlder(context: ExchangeContext): boolean | undefined {
    return this.#olderLeg.carries(!context.standsAlone, Object.keys(askable(context)).length > 0);
  }

  #openOlder(): Promise<boolean> {
    return new Promise((resolve) => {
      const { isolation } = this.#options;
      const opened = this.#open(olderKey, {
        user: olderKey, pool: undefined, session: undefined, isOlder: true, isTakenInTurn: () => false, capabilities: isolation === 'shared' ? everyCapability : {},
        changed: (isOpen) => {
          if (!isOpen) this.#closeOlder();
          resolve(isOpen);
        },
      });
      // A server that may have no more connections is bridged to over the one it has.
      if (typeof opened === 'string') resolve(false);
    });
  }

  #closeOlder(): void {
    this.#olderLeg.forget();
    const older = this.#instances.get(olderKey);
    if (older !== undefined) void this.#close(older);
  }

  get isProgram(): boolean {
    return this.#options.isProgram;
  }

  get size(): number {
    return this.#instances.size;
  }

  /**
   * The server asks without saying on whose behalf. Then only a connection that has served one caller tells whose a question is, and
   * requests without a session do not share any more, not even one after the other.
   */
  asksUnnamed(): void {
    this.#asksUnnamed = true;
  }

  /**
   * The connection a call goes over, or why there is none.
   * @param roots of its client, where `mustKnowRoots` wanted them.
   */
  take(context: ExchangeContext, roots?: string): Taken {
    const { base } = this.#options;
    const capabilities = askable(context);
    const isOlder = base.isModern && this.#isOlder(context) === true;
    if (base.isModern && !isOlder) return { connection: base, done: nothing };
    if (this.#needsNoOwn(capabilities)) return isOlder ? this.#takeOlder() : { connection: base, done: nothing };
    const declared = JSON.stringify(capabilities);
    const shared = this.#sharedPool(context);
    const isAlone = context.standsAlone && context.client?.isOne !== true;
    const pool = shared ?? (isAlone ? `${context.principal} ${declared}` : undefined);
    const user = shared ?? (isAlone ? context.session : (context.client?.id ?? this.#callerOf(context)));
    const key = `${user} ${declared}`; // I1
    const found = shared === undefined ? (this.#instances.get(key) ?? this.#free(pool, user)) : this.#ofUser(shared, roots).find((each) => each.calls === 0 || !this.#isTakenInTurn(capabilities));
    const instance = found ?? this.#open(pool === undefined ? key : this.#nextKey(), {
      user, pool, capabilities, isOlder, roots, isTakenInTurn: () => shared !== undefined && this.#isTakenInTurn(capabilities), session: user === context.session && pool === undefined ? context.session : undefined,
      changed: (isOpen) => {
        if (isOlder && !isOpen) this.#olderLeg.forget();
      },
    });
    if (typeof instance === 'string') return { refused: instance };
    return this.#use(instance);
  }

  // --- requests without a session whose user is known ----------------------------------------------------------------------

  /**
   * The clients of one user cannot be told apart by their requests, and a server that cannot say on whose behalf it asks serves them one
   * at a time. Who comes meanwhile waits a moment, about as long as another program takes to start, and then has one of its own; a
   * connection to a server that runs already is opened at once.
   * @param roots as for `take`.
   * @returns undefined when nobody has to wait.
   */
  turn(context: ExchangeContext, roots?: string): Promise<void> | undefined {
    const pool = this.#sharedPool(context);
    if (pool === undefined || !this.#options.isProgram || !this.#isTakenInTurn(askable(context))) return undefined;
    const instances = this.#ofUser(pool, roots);
    const busy = instances.find(({ connection }) => !connection.asked.isOpen);
    if (busy === undefined || instances.some(({ calls }) => calls === 0)) return undefined;
    return new Promise((resolve) => {
      const go = (): void => {
        limit.cancel();
        const index = busy.waiting.indexOf(go);
        if (index !== -1) busy.waiting.splice(index, 1);
        resolve();
      };
      const limit = this.#options.wheel.schedule(turnMs, go);
      busy.waiting.push(go);
    });
  }

  /** The server reads roots: which of the user's connections may serve this request, only the roots of its client tell. */
  mustKnowRoots(context: ExchangeContext): boolean {
    return 'roots' in context.capabilities && this.#sharedPool(context) !== undefined && this.#hasReadRoots();
  }

  #hasReadRoots(): boolean {
    this.#readsRoots ||= this.all().some(({ asked }) => asked.roots !== undefined);
    return this.#readsRoots;
  }

  /** What requests of one user have in common that are served by the same connections; undefined where that may not be. */
  #sharedPool(context: ExchangeContext): string | undefined {
    const { client, standsAlone, principal } = context;
    const { isolation, base } = this.#options;
    // What such a server asks later, nothing would tell from what it asks for the next request.
    if (!standsAlone || client === undefined || client.isOne || isolation === 'session' || this.#asksUnnamed) return undefined;
    const capabilities = askable(context);
    if (this.#needsNoOwn(capabilities) || (base.isModern && this.#isOlder(context) !== true)) return undefined;
    // To ask for the roots first costs the client a round with each request. A program keeps what is worth that; a connection to a server
    // that runs already is opened for the request alone.
    if ('roots' in capabilities && !this.#options.isProgram && this.#hasReadRoots()) return undefined;
    return `user ${principal} ${client.id} ${JSON.stringify(capabilities)}`;
  }

  /** Those that may serve a user's request, the one that is there for longest first. */
  #ofUser(pool: string, roots: string | undefined): Instance[] {
    const fits = (each: Instance): boolean => each.pool === pool && (each.connection.asked.roots ?? each.roots) === roots;
    return [...this.#instances.values()].filter(fits); // I3
  }

  /** Where a client's roots may be read, no other's request is to be on its way. */
  #isTakenInTurn(capabilities: JsonObject): boolean {
    return 'roots' in capabilities || !this.#options.namesRequests();
  }

  #use(instance: Instance): Use {
    instance.calls += 1;
    return {
      connection: instance.connection,
      done: () => {
        instance.calls -= 1;
        instance.lastUsedAt = performance.now();
        instance.waiting[0]?.();
        if (instance.calls === 0 && instance.pool !== undefined && instance.user !== instance.pool && !this.#mayServeAnother(instance) && !this.#options.isNeeded(instance.connection)) void this.#close(instance);
      },
    };
  }

  #takeOlder(): Use {
    const older = this.#instances.get(olderKey);
    return older === undefined ? { connection: this.#options.base, done: nothing } : this.#use(older);
  }

  /** The call goes over a connection that serves everybody. */
  isShared(context: ExchangeContext): boolean {
    return (this.#options.base.isModern && this.#isOlder(context) !== true) || this.#needsNoOwn(askable(context));
  }

  #needsNoOwn(capabilities: JsonObject): boolean {
    const { isolation } = this.#options;
    return isolation === 'shared' || (isolation === 'auto' && Object.keys(capabilities).length === 0);
  }

  /** Who is nobody in particular is known by the session. */
  #callerOf({ principal, session }: ExchangeContext): string {
    return this.#options.isolation === 'principal' && principal !== anonymous ? principal : session;
  }

  #nextKey(): string {
    this.#count += 1;
    return `alone ${this.#count}`;
  }

  /** Of those that requests without a session may use: one this request used before, or one that is free. */
  #free(pool: string | undefined, user: string): Instance | undefined {
    if (pool === undefined) return undefined;
    let free: Instance | undefined;
    for (const instance of this.#instances.values()) {
      if (instance.pool !== pool) continue;
      if (instance.user === user) return instance;
      if (instance.calls === 0 && this.#mayServeAnother(instance) && !this.#options.isNeeded(instance.connection)) free = instance;
    }
    if (free !== undefined) free.user = user;
    return free;
  }

  #mayServeAnother({ connection }: Instance): boolean {
    return this.#options.isolation === 'auto' && !connection.asked.wereAsked && !this.#asksUnnamed; // I3
  }

  /** @returns why it cannot, in words, when there are as many as there may be. */
  #open(key: string, { user, pool, roots, ...made }: Pick<Instance, 'user' | 'pool' | 'roots'> & NewConnection): Instance | string {
    const { create, maxConnections, budget } = this.#options;
    const full = makeRoom(this.size, maxConnections, [this]) ? budget.admit(this) : `maxConnections (${maxConnections}) of the server`;
    if (full !== undefined) return full;
    const instance: Instance = { key, session: made.session, user, pool, roots, connection: create(made), waiting: [], lastUsedAt: performance.now(), calls: 0 };
    this.#instances.set(key, instance);
    instance.connection.start();
    this.#closeWhenIdle(instance);
    return instance;
  }

  idle(): IdleConnection | undefined {
    let oldest: Instance | undefined;
    for (const instance of this.#instances.values()) {
      if (instance.calls > 0 || (oldest !== undefined && oldest.lastUsedAt <= instance.lastUsedAt) || this.#options.isNeeded(instance.connection)) continue;
      oldest = instance;
    }
    const found = oldest;
    return found === undefined ? undefined : { since: found.lastUsedAt, close: () => void this.#close(found) };
  }

  all(): UpstreamConnection[] {
    return [...this.#instances.values()].map(({ connection }) => connection);
  }

  /** The connection over which tasks of that place were made; undefined when it is gone. */
  leadingTo(place: TaskPlace): UpstreamConnection | undefined {
    return [this.#options.base, ...this.all()].find((connection) => connection.run.has(place));
  }

  /** The connections that carry something for a session. */
  of(session: SessionKey): UpstreamConnection[] {
    return [...this.#instances.values()].filter(({ user }) => user === session).map(({ connection }) => connection);
  }

  /** Sessions that have connections of their own. */
  get sessions(): SessionKey[] {
    return [...this.#instances.values()].filter(({ session }) => session !== undefined).map(({ session }) => session as SessionKey);
  }

  endSession(session: SessionKey): void {
    for (const instance of this.#instances.values()) {
      if (instance.user === session && (instance.pool === undefined || instance.calls === 0) && !this.#options.isNeeded(instance.connection)) void this.#close(instance);
    }
  }

  async stop(): Promise<void> {
    this.#options.budget.leave(this);
    await Promise.all([...this.#instances.values()].map((instance) => this.#close(instance)));
  }

  #closeWhenIdle(instance: Instance): void {
    const { wheel, idleMs, isNeeded } = this.#options;
    wheel.schedule(idleMs, () => {
      if (this.#instances.get(instance.key) !== instance) return;
      if (instance.calls === 0 && !isNeeded(instance.connection) && performance.now() - instance.lastUsedAt >= idleMs) void this.#close(instance); // I2
      else this.#closeWhenIdle(instance);
    });
  }

  #close({ key, connection }: Instance): Promise<void> {
    this.#instances.delete(key);
    return connection.stop();
  }
}

/** What a server may ask of the caller. */
function askable({ capabilities: { extensions: _extensions, ...capabilities } }: ExchangeContext): JsonObject {
  return capabilities;
}
