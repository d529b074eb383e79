/** Large results of tools that are stored for their callers, as records on the bus. */
import type { ServerName } from './ids.ts';

/** A text, or bytes as base64, that a result had. */
export interface StoredPart {
  readonly kind: 'text' | 'blob';
  readonly data: string;
  readonly mimeType?: string | undefined;
}

/** A tool whose result is part of another result. */
export interface SourceTool {
  readonly server: ServerName;
  /** The server's own name of it. */
  readonly tool: string;
}

export interface StoredResult {
  readonly server: ServerName;
  /** The server's own name of the tool. */
  readonly tool: string;
  /** Of a result of the gateway's own tools (`ownServer`): the tools of servers whose results it may contain. */
  readonly from?: readonly SourceTool[] | undefined;
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
