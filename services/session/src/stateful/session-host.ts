/** The parts of a worker that its sessions share. */
import type { View } from '@omnibus/catalog';
import type {
  Caller,
  Declared,
  JsonObject,
  LateReply,
  PostedMessage,
  QuestionId,
  SessionKey,
  WorkerId,
} from '@omnibus/protocol';
import type { CallHost } from '../call/call-host.ts';
import type { OwnTasks } from '../call/own-tasks.ts';
import type { OwnTools } from '../call/own-tools.ts';
import type { StreamHost } from '../streams/stream-host.ts';
import type { Offers } from '../views/offers.ts';
import type { ListFilter } from '../call/list-filter.ts';
import type { Place } from '../views/place.ts';

export interface SessionHost extends CallHost, StreamHost {
  readonly ownTools: OwnTools;
  /** Undefined if the gateway runs no tasks itself. */
  readonly ownTasks?: OwnTasks | undefined;
  /** Whether no other worker can have taken over what this one holds (`Heartbeat.isSure`). */
  readonly isSure: () => boolean;
  /**
   * Finds out whether this worker still holds a session.
   * @returns undefined if it certainly does; else resolves with false also if that could not be found out.
   */
  readonly confirm: (key: SessionKey) => Promise<boolean> | undefined;
  readonly nextQuestionId: () => QuestionId;
  /**
   * Passes a message of a client to a worker that held its session before.
   * @param worker as the client's id names it; only a known one gets the question.
   * @param heldBefore the worker that the session's record named.
   */
  readonly passOn: (
    key: SessionKey,
    worker: WorkerId,
    heldBefore: WorkerId | undefined,
    posted: PostedMessage,
  ) => Promise<LateReply['outcome'] | 'silence'>;
  /** Whether the process may keep this many more bytes for clients. */
  readonly hasRoomFor: (bytes: number) => boolean;
  /** The view of a caller; undefined when the endpoint was removed from the configuration. */
  readonly view: (caller: Caller, declared?: Declared) => View | undefined;
  /** What narrows lists beyond the rules; `undecided` is called only if there is such a thing. */
  readonly listFilter: { readonly on: ListFilter | undefined };
  /** See `Callers.undecided`. */
  readonly undecided: (caller: Caller, declared?: Declared, capabilities?: JsonObject) => Promise<void> | undefined;
  readonly placeOf: (caller: Caller) => Place;
  readonly offers: Offers;
  /** Called when a session has ended here. */
  readonly sessionEnded: (key: SessionKey) => void;
}
