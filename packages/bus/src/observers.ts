/** Calls observers of replies, which are our own code too: if one throws, only its own request fails (B6). */
import type { OnFault, ReplyObserver } from './bus.ts';
import { BusError, newIncident } from './errors.ts';

/** Reports to an observer that no more replies will come. */
export function tellFailure(observer: ReplyObserver<unknown>, failure: BusError, onFault: OnFault): void {
  try {
    observer.failed(failure);
  } catch (error) {
    onFault({ kind: 'observer', what: 'an observer of replies threw over a failure', error });
  }
}

/** An observer has thrown on a reply: its request fails, since no other code handles its replies. */
export function failObserver(observer: ReplyObserver<unknown>, error: unknown, onFault: OnFault): void {
  const incident = newIncident();
  onFault({ kind: 'observer', what: 'an observer of replies threw over one', error, incident });
  tellFailure(
    observer,
    new BusError('handler-failed', `a reply could not be taken (incident ${incident})`, error, incident),
    onFault,
  );
}
