/**
 * The connections to one server. The base connection reads the catalogue and carries the calls of callers whom a server may
 * ask nothing. The others exist for callers it may ask: a connection declares what its callers can do, and what comes over
 * it concerns them and nobody else.
 *
 * Invariants
 *  I1  Callers that share a connection declared the same capabilities.
 *  I2  A connection that no call used for a while, or whose session ended, is closed.
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeContext, JsonObject, SessionKey } from '@omnibus/protocol';
import type { UpstreamConnection } from './connection.ts';

/** `auto`: one connection for callers that may be asked nothing; others have their own, per session on stdio or with roots, else per caller. */
export type Isolation = 'auto' | 'shared' | 'principal' | 'session';

export interface InstancesOptions {
  readonly isolation: Isolation;
  /** Nothing tells which call a question belongs to. */
  readonly isSingleStream: () => boolean;
  readonly base: UpstreamConnection;
  /** @param session whose it is, when it is one session's alone. */
  readonly create: (capabilities: JsonObject, session: SessionKey | undefined) => UpstreamConnection;
  readonly wheel: DeadlineWheel;
  readonly idleMs: number;
  readonly maxInstances: number;
  /** Something still runs over it although no call does. */
  readonly isNeeded: (connection: UpstreamConnection) => boolean;
}

interface Instance {
  readonly connection: UpstreamConnection;
  readonly session: SessionKey | undefined;
  lastUsedAt: number;
  calls: number;
}

/** Connections for requests that stand alone and may be asked something, where only one call at a time tells whose a question is. */
const maxParallel = 16;

/** What all callers of a shared server together may be asked: one without it is answered for by the gateway. */
export const everyCapability: JsonObject = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };

export class Instances {
  readonly #options: InstancesOptions;
  readonly #instances = new Map<string, Instance>();

  constructor(options: InstancesOptions) {
    this.#options = options;
  }

  /**
   * The connection a call goes over, and what to say when it has ended.
   * @returns undefined when there are as many connections as there may be.
   */
  take({ session, principal, standsAlone, capabilities: declared }: ExchangeContext): { readonly connection: UpstreamConnection; readonly done: () => void } | undefined {
    const { base, create, maxInstances } = this.#options;
    if (base.isModern) return { connection: base, done: () => undefined };
    const { extensions: _extensions, ...capabilities } = declared;
    const isolation = this.#isolationOf(capabilities, standsAlone);
    if (isolation === 'shared') return { connection: base, done: () => undefined };
    const isOwn = isolation === 'session';
    const key = this.#keyOf(isOwn, isOwn ? session : principal, capabilities, standsAlone); // I1
    let instance = this.#instances.get(key);
    if (instance === undefined) {
      if (this.#instances.size >= maxInstances) return undefined;
      const owner = isOwn ? session : undefined;
      instance = { connection: create(capabilities, owner), session: owner, lastUsedAt: 0, calls: 0 };
      this.#instances.set(key, instance);
      instance.connection.start();
      this.#closeWhenIdle(key, instance);
    }
    const used = instance;
    used.calls += 1;
    return {
      connection: used.connection,
      done: () => {
        used.calls -= 1;
        used.lastUsedAt = performance.now();
      },
    };
  }

  /** The call goes over the connection that serves everybody. */
  isShared({ capabilities: { extensions: _extensions, ...capabilities }, standsAlone }: ExchangeContext): boolean {
    return this.#options.base.isModern || this.#isolationOf(capabilities, standsAlone) === 'shared';
  }

  /** Requests that stand alone share what they find free: where nothing tells whose a question is, one at a time. */
  #keyOf(isOwn: boolean, owner: string, capabilities: JsonObject, standsAlone: boolean): string {
    const key = `${owner} ${JSON.stringify(capabilities)}`;
    if (isOwn || !standsAlone || !this.#options.isSingleStream() || Object.keys(capabilities).length === 0) return key;
    for (let index = 1; index < maxParallel; index += 1) if ((this.#instances.get(`${key} ${index}`)?.calls ?? 0) === 0) return `${key} ${index}`;
    return `${key} ${maxParallel}`;
  }

  #isolationOf(capabilities: JsonObject, standsAlone: boolean): Exclude<Isolation, 'auto'> {
    const { isolation, isSingleStream } = this.#options;
    if (standsAlone && isolation === 'session') return 'principal';
    if (isolation !== 'auto') return isolation;
    if (standsAlone) return Object.keys(capabilities).length === 0 ? 'shared' : 'principal';
    if (Object.keys(capabilities).length === 0) return 'shared';
    // Servers keep the roots they read once, so those of one session must not serve another.
    return isSingleStream() || 'roots' in capabilities ? 'session' : 'principal';
  }

  all(): UpstreamConnection[] {
    return [...this.#instances.values()].map(({ connection }) => connection);
  }

  /** The connections that may carry something for a session. */
  of(session: SessionKey): UpstreamConnection[] {
    return [...this.#instances.values()].filter((instance) => instance.session === undefined || instance.session === session).map(({ connection }) => connection);
  }

  endSession(session: SessionKey): void {
    for (const [key, instance] of this.#instances) {
      if (instance.session === session && !this.#options.isNeeded(instance.connection)) void this.#close(key, instance);
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#instances].map(([key, instance]) => this.#close(key, instance)));
  }

  #closeWhenIdle(key: string, instance: Instance): void {
    const { wheel, idleMs, isNeeded } = this.#options;
    wheel.schedule(idleMs, () => {
      if (this.#instances.get(key) !== instance) return;
      if (instance.calls === 0 && !isNeeded(instance.connection) && performance.now() - instance.lastUsedAt >= idleMs) void this.#close(key, instance); // I2
      else this.#closeWhenIdle(key, instance);
    });
  }

  #close(key: string, { connection }: Instance): Promise<void> {
    this.#instances.delete(key);
    return connection.stop();
  }
}
