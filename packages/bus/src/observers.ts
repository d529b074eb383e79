/** Observers are our own code too: one that throws is told of it once, and nobody else notices (B6). */
import type { OnFault, ReplyObserver } from './bus.ts';
import { BusError, newIncident } from './errors.ts';

/** Says to whoever waits for replies that there are none to come. */
export function tellFailure(observer: ReplyObserver<unknown>, failure: BusError, onFault: OnFault): void {
  try {
    observer.failed(failure);
  } catch (error) {
    onFault({ kind: 'observer', what: 'whoever waits for replies threw over a failure', error });
  }
}

/** The observer threw over a reply: what it waits for can be looked after by nobody but itself. */
export function failObserver(observer: ReplyObserver<unknown>, error: unknown, onFault: OnFault): void {
  const incident = newIncident();
  onFault({ kind: 'observer', what: 'whoever waits for replies threw over one', error, incident });
  tellFailure(observer, new BusError('handler-failed', `a reply could not be taken (incident ${incident})`, error, incident), onFault);
}
