/**
 * Messages between processes for operators, and reports of watched calls. None of them is on the path of a call. A process of an older version does
 * not receive them, and appears as one that does not answer.
 */
import type { WorkerId } from './ids.ts';
import type { JsonObject } from './json-rpc.ts';

/** A question that is sent to every process; each answers once. */
export interface AdminQuestion {
  /** Name of the question; a process that does not know it answers without a body. */
  readonly about: string;
  readonly args: JsonObject;
}

/** A worker of a process, by its name in signs of life. */
export interface WorkerOfRole {
  readonly worker: WorkerId;
  readonly role: string;
}

export interface AdminAnswer {
  readonly process: WorkerId;
  readonly role: string;
  /** The names of its workers in signs of life, if it gives any. */
  readonly workers: readonly WorkerId[];
  /** Workers with recent signs of life. */
  readonly known: readonly WorkerOfRole[];
  /** The answer; left out where the process does not know the question or has no answer. */
  readonly body?: JsonObject;
  /** Why the question could not be answered. */
  readonly problem?: string;
}

/** Selects the calls that are watched; a member that is left out matches everything. */
export interface TapFilter {
  readonly server?: string;
  /** The server's own name of a tool. */
  readonly tool?: string;
  /** Name of a client, as the client gives it. */
  readonly client?: string;
  /** The beginning of a session's key. */
  readonly session?: string;
}

/** A watch of calls. It is repeated while a user watches, and expires otherwise. */
export interface TapLease {
  /** Id of the watch, unique among present ones. */
  readonly watch: string;
  /** The process that gets the reports. */
  readonly to: WorkerId;
  /** Milliseconds that it lasts after it is received; 0 ends it now. */
  readonly termMs: number;
  readonly filter: TapFilter;
  /** Calls that each process may choose in a second. */
  readonly perSecond: number;
  /** The detail of reported arguments and results: `none`, `shape` or `redacted`. */
  readonly payload: string;
}

/** Events of watched calls in one process. */
export interface TapReport {
  readonly process: WorkerId;
  readonly watch: string;
  readonly events: readonly JsonObject[];
  /** Calls that were not chosen, and events that were dropped, since the last report, because there were more than the watch permits. */
  readonly dropped: number;
}
