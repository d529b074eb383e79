import type { DirectorySettings } from '@omnibus/identity';

/** A directory whose provider asks. */
export interface Of extends DirectorySettings {
  readonly key: string;
  /** From which it asks. */
  readonly address: string;
}
