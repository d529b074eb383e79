/** The heads of frames between a worker's bus (`bus.ts`) and the hub (`hub.ts`). Payloads are bodies, which the hub does not read. */
import type { BusErrorKind } from '../errors.ts';

/** An open request: the number of its connection at the hub, and its number at that connection. */
export type RequestAddress = readonly [connection: number, request: number];

interface Failure {
  readonly kind: BusErrorKind;
  readonly text: string;
  readonly incident?: string | undefined;
}

/** A question to the hub, which answers each once. A value is the body. */
export type Question =
  | { readonly op: 'ping' }
  | { readonly op: 'subscribe'; readonly listener: number; readonly name: string; readonly queue?: string | undefined }
  /** Answered when all messages that were sent to the listener before are on their way. */
  | { readonly op: 'unsubscribe'; readonly listener: number }
  | { readonly op: 'open-bucket'; readonly name: string; readonly maxAgeMs?: number; readonly maxBytes?: number }
  | { readonly op: 'get' | 'was-deleted' | 'put' | 'create' | 'restore'; readonly bucket: string; readonly key: string }
  | { readonly op: 'update'; readonly bucket: string; readonly key: string; readonly revision: number }
  | { readonly op: 'delete'; readonly bucket: string; readonly key: string; readonly revision?: number | undefined }
  | { readonly op: 'watch'; readonly bucket: string; readonly watch: number }
  | {
      readonly op: 'open-journal';
      readonly name: string;
      readonly family: string;
      readonly tokens: number;
      readonly maxAgeMs: number;
      readonly maxBytes: number;
      readonly maxEntries: number;
    }
  | { readonly op: 'follow'; readonly journal: string; readonly name: string; readonly watch: number };

export type FromWorker =
  /** `except`: queue groups of which a member in the process of the sender has received the message. */
  | { readonly is: 'publish'; readonly name: string; readonly except?: readonly string[] }
  | { readonly is: 'request'; readonly name: string; readonly request: number; readonly except?: readonly string[] }
  | { readonly is: 'reply'; readonly to: RequestAddress }
  | ({ readonly is: 'failed'; readonly to: RequestAddress } & Failure)
  | { readonly is: 'append'; readonly journal: string; readonly name: string }
  | { readonly is: 'unwatch'; readonly watch: number }
  | ({ readonly is: 'ask'; readonly ask: number } & Question);

export type FromHub =
  | { readonly is: 'message'; readonly listener: number; readonly from?: RequestAddress }
  | { readonly is: 'reply'; readonly request: number }
  | ({ readonly is: 'failed'; readonly request: number } & Failure)
  | { readonly is: 'no-responders'; readonly request: number }
  /** `revision` of a value, which is the body; `flag` of a question that has yes or no for an answer. */
  | { readonly is: 'done'; readonly ask: number; readonly revision?: number; readonly flag?: boolean }
  | ({ readonly is: 'refused'; readonly ask: number } & Failure)
  /** A change of a bucket: without a revision, the key was deleted. */
  | { readonly is: 'change'; readonly watch: number; readonly key: string; readonly revision?: number }
  | { readonly is: 'entry'; readonly watch: number };
