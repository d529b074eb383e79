/** Large results of tools that are stored for their callers, as records on the bus. */
import type { ServerName } from './ids.ts';

/** A text, or bytes as base64, that a result had. */
export interface StoredPart {
  readonly kind: 'text' | 'blob';
  readonly data: string;
  readonly mimeType?: string | undefined;
}

export interface StoredResult {
  readonly server: ServerName;
  /** The server's own name of the tool. */
  readonly tool: string;
  /** When it expires, in milliseconds since 1970. */
  readonly until: number;
  readonly parts: readonly StoredPart[];
}

/** The stored results of one owner, oldest first. */
export interface OwnedResults {
  readonly results: readonly {
    readonly id: string;
    readonly bytes: number;
    /** When it expires, in milliseconds since 1970. */
    readonly until: number;
  }[];
}
