/** The streams of each bucket, journal and ledger in JetStream. The set-up creates and updates them (`setup.ts`); a process does so only where NATS lets it. */
import type { StreamConfig } from '@nats-io/jetstream';
import type { Bucket, JournalDefinition, LedgerDefinition } from '../bus.ts';
import { allOf, root } from '../subject.ts';
import {
  approvalsBucket,
  approvedBucket,
  authorizationBuckets,
  blocksBucket,
  catalogBucket,
  conversationsBucket,
  directoryBucket,
  grantsBucket,
  quotaBuckets,
  resultBuckets,
  sessionsBucket,
  streamJournal,
  usageBucket,
  vaultBuckets,
  vectorsBucket,
} from '../subjects.ts';
import { nameAt, usualPlace, type NatsPlace } from './place.ts';

/** A stream as this version wants it. */
export type WantedStream = Pick<StreamConfig, 'name' | 'subjects'> & Partial<StreamConfig>;

/** Time within which JetStream recognizes a message that comes twice. */
const duplicateMs = 120_000;

/** JetStream counts in nanoseconds. */
const nanos = (ms: number): number => ms * 1_000_000;

/** What all streams have in common. */
const common = {
  retention: 'limits',
  storage: 'file',
  max_msgs: -1,
  max_msg_size: -1,
  max_consumers: -1,
  no_ack: false,
} as const;

/** All buckets of the gateway. */
const allBuckets: readonly Bucket<unknown>[] = [
  catalogBucket,
  sessionsBucket,
  blocksBucket,
  directoryBucket,
  approvalsBucket,
  conversationsBucket,
  grantsBucket,
  usageBucket,
  vectorsBucket,
  approvedBucket,
  ...Object.values(quotaBuckets),
  ...Object.values(authorizationBuckets),
  ...Object.values(vaultBuckets),
  ...Object.values(resultBuckets),
];

/** The name of the bucket for the parts of large values. */
export function partsOf(bucket: string): string {
  return `${bucket}-parts`;
}

/** The stream of a bucket (NATS, ADR-8). */
export function streamOfBucket(bucket: string): string {
  return `KV_${bucket}`;
}

/** The subject on which a process announces a write to a bucket. The message is empty: its receivers read the bucket. */
export function storedSubject(bucket: string): string {
  return `${root}.stored.${bucket.replace(/^omnibus-/, '')}`;
}

function streamFor(
  place: NatsPlace,
  name: string,
  { maxAgeMs, maxBytes, forgetsMs }: Bucket<never>,
  isParts: boolean,
): WantedStream {
  const bucket = nameAt(place, name);
  return {
    name: streamOfBucket(bucket),
    subjects: [`$KV.${bucket}.>`],
    ...common,
    discard: 'new',
    max_msgs_per_subject: 1,
    max_age: nanos(maxAgeMs ?? 0),
    max_bytes: maxBytes ?? -1,
    duplicate_window: nanos(Math.min(maxAgeMs ?? duplicateMs, duplicateMs)),
    allow_direct: false,
    // NATS answers a sender on any subject that the sender names, also on those of this API: unused operations are off.
    allow_rollup_hdrs: isParts,
    deny_purge: !isParts,
    deny_delete: forgetsMs === undefined,
  };
}

/** The streams of a bucket: one for its values, and one for the parts of large values. */
export function bucketStreams(place: NatsPlace, bucket: Bucket<never>): readonly WantedStream[] {
  const values = streamFor(place, bucket.name, bucket, false);
  return bucket.isSmall === true ? [values] : [values, streamFor(place, partsOf(bucket.name), bucket, true)];
}

export function journalStream(
  place: NatsPlace,
  { name, family, tokens, maxAgeMs, maxBytes, maxEntries }: JournalDefinition<never>,
): WantedStream {
  return {
    name: nameAt(place, name),
    subjects: [nameAt(place, allOf(family, tokens))],
    ...common,
    discard: 'old',
    max_age: nanos(maxAgeMs),
    max_bytes: maxBytes,
    max_msgs_per_subject: maxEntries,
    duplicate_window: nanos(Math.min(maxAgeMs, 60_000)),
    deny_delete: true,
    deny_purge: true,
  };
}

export function ledgerStream(place: NatsPlace, { name, family, maxAgeMs, maxBytes }: LedgerDefinition): WantedStream {
  return {
    name: nameAt(place, name),
    // The role and the writer.
    subjects: [nameAt(place, allOf(family, 2))],
    ...common,
    discard: 'new',
    max_age: nanos(maxAgeMs),
    max_bytes: maxBytes,
    deny_delete: true,
    deny_purge: true,
  };
}

/** All streams of an installation. @param ledger the audit, if a stream stores it. */
export function allStreams(place: NatsPlace, ledger: LedgerDefinition | undefined): readonly WantedStream[] {
  return [
    ...allBuckets.flatMap((bucket) => bucketStreams(place, bucket as Bucket<never>)),
    journalStream(place, streamJournal as JournalDefinition<never>),
    ...(ledger === undefined ? [] : [ledgerStream(place, ledger)]),
  ];
}

/** Bytes that the streams of an installation reserve on each node with a replica, without that of the audit. */
export function reservedBytes(): number {
  return allStreams(usualPlace, undefined).reduce((sum, { max_bytes: most = -1 }) => sum + Math.max(0, most), 0);
}
