/** What an operator sees and does of the vault of one process. */
import type { Resealed, Survey } from './vault.ts';

/** The state of the vault in one process, for the operator that rotates keys. */
export interface VaultReport extends Survey {
  /** Whether the gateway has made its keys itself, and will make the next one too. */
  readonly makesKeys: boolean;
}

export interface VaultOperations {
  report(): Promise<VaultReport>;
  /**
   * Encrypts everything under a key, in all processes.
   * @param id of the key; left out where the gateway makes its keys itself.
   * @throws {Error} in words for the operator.
   */
  rotate(id: string | undefined): Promise<Resealed & { readonly key: string }>;
}
