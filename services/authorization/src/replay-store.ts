/** Ids of assertions and of proofs of keys (DPoP) that the library has accepted, and that work once at all edges. */
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { SealedStore } from './sealed-store.ts';

export interface ReplayOptions {
  /** Makes the error for which the library answers `invalid_grant`. */
  readonly usedBefore: () => Error;
  /** Whether an id is that of the proof of the request that is served now. */
  readonly isProof?: (id: string) => boolean;
  /** Throws when the sender of the request that is served now has sent too many proofs. */
  readonly proves?: () => void;
  /** Throws when a client has sent too many assertions. @param client undefined where the library names none. */
  readonly asserts?: (client: unknown) => void;
  readonly now?: () => number;
}

interface Remembered {
  readonly payload: AdapterPayload;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export class ReplayStore implements Pick<Adapter, 'upsert' | 'find'> {
  readonly #stores: { readonly short: SealedStore; readonly proofs: SealedStore };
  readonly #options: ReplayOptions;
  readonly #now: () => number;

  constructor(stores: { readonly short: SealedStore; readonly proofs: SealedStore }, options: ReplayOptions) {
    this.#stores = stores;
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Of several edges that get the same assertion or proof at the same time, one remembers it, and the others refuse it. */
  async upsert(id: string, payload: AdapterPayload, expiresIn = 0): Promise<void> {
    if (this.#isProof(id)) this.#options.proves?.();
    else this.#options.asserts?.(payload['iss']);
    const now = this.#now();
    await this.#storeOf(id).change<Remembered>('ReplayDetection', id, (kept) => {
      if (kept !== undefined && kept.until > now) throw this.#options.usedBefore();
      return { payload, until: now + expiresIn * 1_000 };
    });
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const kept = await this.#storeOf(id).get<Remembered>('ReplayDetection', id);
    return kept === undefined || kept.value.until <= this.#now() ? undefined : kept.value.payload;
  }

  #isProof(id: string): boolean {
    return this.#options.isProof?.(id) === true;
  }

  #storeOf(id: string): SealedStore {
    return this.#isProof(id) ? this.#stores.proofs : this.#stores.short;
  }
}
