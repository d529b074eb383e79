export type { Bucket, Bus, BusFault, Handler, Journal, JournalDefinition, KeyValue, KeyValueChange, KeyValueEntry, OnFault, PendingRequest, ReplyObserver, Subscription, Watch } from './bus.ts';
export { BusError, gatewayFaultOf } from './errors.ts';
export type { BusErrorKind } from './errors.ts';
export type { Subject } from './subject.ts';
export { catalogBucket, secretsBucket, sessionsBucket, subjects, subjectTable } from './subjects.ts';
export { Heart, PresenceWatch } from './presence.ts';
export { openStreamJournal } from './stream-journal.ts';
export { MemoryBus } from './memory/bus.ts';
export { openNatsBus } from './nats/bus.ts';
