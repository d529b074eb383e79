/** What the sessions of one worker share. */
import type { View } from '@omnibus/catalog';
import type { Caller, Declared, LateReply, PostedMessage, QuestionId, SessionKey, WorkerId } from '@omnibus/protocol';
import type { CallHost } from '../call/call-host.ts';
import type { StreamHost } from '../streams/stream-host.ts';
import type { Offers } from '../views/offers.ts';
import type { Place } from '../views/place.ts';

export interface SessionHost extends CallHost, StreamHost {
  readonly nextQuestionId: () => QuestionId;
  /**
   * Gives what a client said to a worker that held its session before.
   * @param worker as a client names it: only one that is known is asked.
   * @param heldBefore the one that the session's record named.
   */
  readonly passOn: (key: SessionKey, worker: WorkerId, heldBefore: WorkerId | undefined, posted: PostedMessage) => Promise<LateReply['outcome'] | 'silence'>;
  /** Whether the process may keep so many bytes more of what clients want kept. */
  readonly hasRoomFor: (bytes: number) => boolean;
  /** Undefined when the endpoint has left the configuration. */
  readonly view: (caller: Caller, declared?: Declared) => View | undefined;
  readonly placeOf: (caller: Caller) => Place;
  readonly offers: Offers;
}
