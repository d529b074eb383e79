/**
 * What processes ask each other for whoever runs the gateway, and tell those who watch calls. Nothing of it is on the way of a call; a process of an older
 * version hears none of it, and is shown as one that does not answer.
 */
import type { WorkerId } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';

/** For every process. Each answers once. */
export interface AdminQuestion {
  /** What is asked for; a process that does not know it says so. */
  readonly about: string;
  readonly args: JsonObject;
}

/** A part of a process, as its signs of life name it. */
export interface WorkerOfRole {
  readonly worker: WorkerId;
  readonly role: string;
}

export interface AdminAnswer {
  readonly process: WorkerId;
  readonly role: string;
  /** What its signs of life, if it gives any, name it. */
  readonly workers: readonly WorkerId[];
  /** Whom it knows to be there, or to have been there until a moment ago, by their signs of life. */
  readonly known: readonly WorkerOfRole[];
  /** Left out where it has nothing of what was asked for, or does not know what that is. */
  readonly body?: JsonObject;
  /** Why it could not be said. */
  readonly problem?: string;
}

/** Which calls are watched; whatever is left out may be anything. */
export interface TapFilter {
  readonly server?: string;
  /** As the server calls it. */
  readonly tool?: string;
  /** What a client says it is. */
  readonly client?: string;
  /** The beginning of a session's key. */
  readonly session?: string;
}

/** Somebody watches calls. Said again and again; it ends by itself. */
export interface TapLease {
  /** Unique among those that are there. */
  readonly watch: string;
  /** The process that is told. */
  readonly to: WorkerId;
  /** Milliseconds that it lasts from when it is heard; 0: it ends now. */
  readonly termMs: number;
  readonly filter: TapFilter;
  /** Calls that each process may choose in a second. */
  readonly perSecond: number;
  /** What is told of arguments and results: `none`, `shape` or `redacted`. */
  readonly payload: string;
}

/** What a process saw of watched calls. */
export interface TapReport {
  readonly process: WorkerId;
  readonly watch: string;
  readonly events: readonly JsonObject[];
  /** Calls that were not chosen, and events that were not kept, since the last report, because there were more than were asked for. */
  readonly dropped: number;
}
