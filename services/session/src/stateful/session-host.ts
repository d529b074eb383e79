/** The parts of a worker that its sessions share. */
import type { Caller, LateReply, PostedMessage, QuestionId, SessionKey, WorkerId } from '@omnibus/protocol';
import type { ClientHost } from '../call/client-host.ts';
import type { StreamHost } from '../streams/stream-host.ts';
import type { Offers } from '../views/offers.ts';
import type { Place } from '../views/place.ts';

export interface SessionHost extends ClientHost, StreamHost {
  readonly placeOf: (caller: Caller) => Place;
  readonly offers: Offers;
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
  /** Called when a session has ended here. */
  readonly sessionEnded: (key: SessionKey) => void;
}
