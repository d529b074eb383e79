/**
 * Stores the data of oidc-provider in the buckets of the gateway, so that any edge can serve any step of a sign-in. Compare-and-set decides about single
 * use: if several edges redeem one code at the same time, only one succeeds.
 */
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { ReplayStore, type ReplayOptions } from './replay-store.ts';
import type { Revocations } from './revocations.ts';
import type { SealedStore } from './sealed-store.ts';

interface Stores {
  readonly short: SealedStore;
  /** Proofs of keys. */
  readonly proofs: SealedStore;
  readonly long: SealedStore;
  readonly clients: SealedStore;
}

export interface AdapterOptions extends ReplayOptions {
  readonly stores: Stores;
  readonly revocations: Revocations;
  /** Milliseconds in which a used refresh token may be used again. */
  readonly refreshGraceMs: number;
  /** The metadata of a client that is kept elsewhere; undefined for any other id. */
  readonly clientOf?: (id: string) => AdapterPayload | undefined;
  /** Called once a day for each consent of a user whose program refreshes its tokens. */
  readonly isUsing?: (subject: string, grantId: string) => Promise<void>;
  /** Called when a code or token was used again that may be used only once. */
  readonly reused: (grantId: string) => void;
}

interface Stored {
  readonly payload: AdapterPayload;
  /** Milliseconds since 1970. */
  readonly writtenAt: number;
  /** Milliseconds since 1970; undefined for a value that expires with its bucket. */
  readonly until: number | undefined;
}

const longLived = new Set(['Session', 'Grant', 'RefreshToken']);
/** Models that end when the user withdraws the consent. */
const ofGrant = new Set(['AuthorizationCode', 'DeviceCode', 'RefreshToken', 'AccessToken', 'Grant']);
/** A client that is in use is written again after this time, since its bucket forgets by age. */
const touchMs = 24 * 3_600_000;

/** Milliseconds that a consent outlives its newest refresh token, so that it is written once in this time and not with each token. */
export function consentSlackMs(tokenMs: number): number {
  return Math.min(touchMs, tokenMs / 4);
}

/** @returns a function that makes the store for one model of the library. */
export function adapterFactory(options: AdapterOptions): (model: string) => Adapter {
  const { stores } = options;
  return (model) =>
    model === 'ReplayDetection'
      ? (new ReplayStore(stores, options) as unknown as Adapter) // The library asks it for nothing else.
      : new StoreAdapter(
          model,
          model === 'Client' ? stores.clients : longLived.has(model) ? stores.long : stores.short,
          options,
          model === 'Session' ? stores.short : undefined,
        );
}

class StoreAdapter implements Adapter {
  readonly #model: string;
  readonly #store: SealedStore;
  /** The store of sessions of browsers without a sign-in. Strangers can cause these, so they must not use up the room of users. */
  readonly #strangers: SealedStore | undefined;
  readonly #options: AdapterOptions;
  readonly #now: () => number;

  constructor(model: string, store: SealedStore, options: AdapterOptions, strangers?: SealedStore) {
    this.#model = model;
    this.#store = store;
    this.#strangers = strangers;
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const now = this.#now();
    const stored: Stored = {
      payload,
      writtenAt: now,
      until: expiresIn === undefined ? undefined : now + expiresIn * 1_000,
    };
    const store = payload.accountId === undefined ? (this.#strangers ?? this.#store) : this.#store;
    await store.put(this.#model, id, stored);
    if (payload.userCode !== undefined) await this.#store.put('UserCode', payload.userCode, { id });
    if (this.#model === 'Session' && payload.uid !== undefined) await store.put('SessionUid', payload.uid, { id });
    if (this.#model === 'RefreshToken' && payload.grantId !== undefined && expiresIn !== undefined)
      await this.#prolong(
        payload.grantId,
        payload.accountId,
        now + expiresIn * 1_000,
        consentSlackMs(expiresIn * 1_000),
      );
  }

  /** A consent lasts longer than its tokens. */
  async #prolong(grantId: string, subject: string | undefined, tokenUntil: number, slackMs: number): Promise<void> {
    const kept = await this.#store.get<Stored>('Grant', grantId);
    if (kept?.value.until === undefined || kept.value.until >= tokenUntil) return;
    const {
      value: { payload, ...rest },
      revision,
    } = kept;
    const until = tokenUntil + slackMs;
    // If another edge changes it at the same time, it has prolonged or revoked it.
    if (
      (await this.#store.update(
        'Grant',
        grantId,
        { ...rest, until, payload: { ...payload, exp: Math.floor(until / 1_000) } },
        revision,
      )) &&
      subject !== undefined
    )
      await this.#options.isUsing?.(subject, grantId);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const elsewhere = this.#model === 'Client' ? this.#options.clientOf?.(id) : undefined;
    if (elsewhere !== undefined) return elsewhere;
    const stored = await this.#current(id);
    if (stored === undefined) return undefined;
    const { payload, writtenAt } = stored.value;
    if (
      ofGrant.has(this.#model) &&
      (await this.#options.revocations.wasRevoked(this.#model === 'Grant' ? id : (payload.grantId ?? '')))
    )
      return undefined;
    if (this.#model === 'Client' && this.#now() - writtenAt > touchMs) await this.upsert(id, payload);
    if (this.#model !== 'RefreshToken' || !this.#isInGrace(payload)) return payload;
    const { consumed: _consumed, ...unused } = payload;
    return unused;
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const found =
      (await this.#store.get<{ readonly id: string }>('SessionUid', uid)) ??
      (await this.#strangers?.get<{ readonly id: string }>('SessionUid', uid));
    return found === undefined ? undefined : this.find(found.value.id);
  }

  async findByUserCode(code: string): Promise<AdapterPayload | undefined> {
    const found = await this.#store.get<{ readonly id: string }>('UserCode', code);
    return found === undefined ? undefined : this.find(found.value.id);
  }

  /** @throws {Error} of `usedBefore` for all callers but one. */
  async consume(id: string): Promise<void> {
    const stored = await this.#current(id);
    if (stored === undefined) throw this.#options.usedBefore();
    const { value, revision } = stored;
    const { payload } = value;
    if (payload.consumed === undefined) {
      const consumed = Math.floor(this.#now() / 1_000);
      if (await this.#store.update(this.#model, id, { ...value, payload: { ...payload, consumed } }, revision)) return;
      // Another edge has just consumed it.
      if (this.#model === 'RefreshToken' && this.#options.refreshGraceMs > 0) return;
    } else if (this.#model === 'RefreshToken' && this.#isInGrace(payload)) {
      return;
    }
    if (payload.grantId !== undefined) await this.revokeByGrantId(payload.grantId);
    throw this.#options.usedBefore();
  }

  async destroy(id: string): Promise<void> {
    if (this.#strangers === undefined) return this.#store.delete(this.#model, id);
    for (const store of [this.#store, this.#strangers]) {
      const stored = await store.get<Stored>(this.#model, id);
      if (stored === undefined) continue;
      await store.delete(this.#model, id);
      const { uid } = stored.value.payload;
      // The session may have a new id by now, to which its uid leads.
      if (uid !== undefined && (await store.get<{ readonly id: string }>('SessionUid', uid))?.value.id === id)
        await store.delete('SessionUid', uid);
    }
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    if (await this.#options.revocations.wasRevoked(grantId)) return;
    await this.#options.revocations.revoke(grantId);
    this.#options.reused(grantId);
  }

  async #current(id: string): Promise<{ readonly value: Stored; readonly revision: number } | undefined> {
    const stored =
      (await this.#store.get<Stored>(this.#model, id)) ?? (await this.#strangers?.get<Stored>(this.#model, id));
    return stored === undefined || (stored.value.until !== undefined && stored.value.until <= this.#now())
      ? undefined
      : stored;
  }

  /** Clients that did not receive an answer, or that refresh from several places at once, are no attackers. */
  #isInGrace({ consumed }: AdapterPayload): boolean {
    return typeof consumed === 'number' && this.#now() - consumed * 1_000 < this.#options.refreshGraceMs;
  }
}
