/**
 * The NATS permissions of each role, and no others: derived from the table of families, so that they are always complete.
 *
 * Replies come in under a subject of the requester's role (`inboxOf`). Large messages are fetched from their sender, on the sender's own subject
 * (`blobs.ts`); any role may be the sender.
 */
import { families, type BusRole, type Family } from '../families.ts';
import { allOf, root } from '../subject.ts';
import type { Bucket } from '../bus.ts';
import { allStreams, partsOf, storedSubject, streamOfBucket } from './streams.ts';
import { apiAt, nameAt, usualPlace, type NatsPlace } from './place.ts';
import {
  approvalsBucket,
  approvedBucket,
  auditLedger,
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

export interface Permissions {
  /** Subjects, with NATS' wildcards. */
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

export const busRoles = ['edge', 'session', 'backend'] as const satisfies readonly BusRole[];

/** A user of NATS: a role, or the set-up, which alone creates and updates streams. */
export type NatsUser = BusRole | 'setup';

export const natsUserNames = [...busRoles, 'setup'] as const satisfies readonly NatsUser[];

interface Use {
  readonly bucket: Bucket<never>;
  readonly writes: readonly BusRole[];
  /**
   * Roles that read it and never write it: each process must check for revoked tokens, since administrators use tokens of our own, and reads usage
   * for administrators.
   */
  readonly reads?: readonly BusRole[];
}

/** The roles that use each bucket. */
const uses: readonly Use[] = [
  { bucket: catalogBucket as Bucket<never>, writes: ['session', 'backend'] },
  { bucket: sessionsBucket as Bucket<never>, writes: ['session'], reads: ['backend'] },
  { bucket: blocksBucket as Bucket<never>, writes: ['edge', 'session', 'backend'] },
  { bucket: directoryBucket as Bucket<never>, writes: ['edge'], reads: ['session', 'backend'] },
  { bucket: approvalsBucket as Bucket<never>, writes: ['session'] },
  { bucket: conversationsBucket as Bucket<never>, writes: ['session'] },
  { bucket: grantsBucket as Bucket<never>, writes: ['session'] },
  { bucket: usageBucket as Bucket<never>, writes: ['session'], reads: ['edge', 'backend'] },
  { bucket: vectorsBucket as Bucket<never>, writes: ['session'] },
  { bucket: approvedBucket as Bucket<never>, writes: ['backend'] },
  ...Object.values(resultBuckets).map((bucket): Use => ({ bucket: bucket as Bucket<never>, writes: ['session'] })),
  ...Object.values(quotaBuckets).map((bucket): Use => ({ bucket: bucket as Bucket<never>, writes: ['session'] })),
  ...Object.values(authorizationBuckets).map((bucket): Use => ({
    bucket: bucket as Bucket<never>,
    writes: ['edge'],
    ...(bucket === authorizationBuckets.revoked ? { reads: ['session', 'backend'] } : {}),
  })),
  ...Object.values(vaultBuckets).map((bucket): Use => ({ bucket: bucket as Bucket<never>, writes: ['backend'] })),
];
const journalRoles: readonly BusRole[] = ['session', 'edge'];

/** The subject under which replies to a role come in; each process adds a token of its own. */
export function inboxOf(role: NatsUser | 'all'): string {
  return `${root}.inbox.${role}`;
}

/** The subjects that the processes of a role publish and subscribe to. A process of several roles needs the permissions of all of them. */
export function permissionsOf(role: BusRole, place: NatsPlace = usualPlace): Permissions {
  const all = Object.entries<Family>(families);
  const said = all.filter(([, { from }]) => from.includes(role));
  const heard = all.filter(([, { hears }]) => hears.includes(role));
  const blobs = allOf('blob', 1);
  const talksTo = new Set([...said.flatMap(([, { hears }]) => hears), ...heard.flatMap(([, { from }]) => from)]);
  const at = (name: string): string => nameAt(place, name);
  const written = uses.filter(({ writes }) => writes.includes(role));
  const used = uses.filter(({ writes, reads = [] }) => writes.includes(role) || reads.includes(role));
  const subjectOf = ([name, { tokens }]: readonly [string, Family]): string => allOf(name, tokens.length);
  return {
    publish: [
      ...[...said.map(subjectOf), blobs, ...[...talksTo].map((other) => `${inboxOf(other)}.>`)].map(at),
      ...apisAt(place).map((api) => `${api}.INFO`),
      ...used.flatMap(({ bucket }) => readingOf(bucket, place)),
      ...written.flatMap(({ bucket }) => writingOf(bucket, place)),
      ...(journalRoles.includes(role) ? ofStream(at(streamJournal.name), place) : []),
      // Every process adds to the audit under a name of its own, which begins with its role; no role may remove anything from it.
      at(`${root}.${auditLedger.family}.${role}.*`),
      ...ofStream(at(auditLedger.name), place),
    ].toSorted(),
    subscribe: [
      ...heard.map(subjectOf),
      blobs,
      `${inboxOf(role)}.>`,
      ...used.map(({ bucket }) => storedSubject(bucket.name)),
    ]
      .map(at)
      .toSorted(),
  };
}

/** The subjects of the set-up: it creates and updates the streams of the gateway, and reads no message of them. */
export function setUpPermissions(place: NatsPlace = usualPlace): Permissions {
  const ledger = { ...auditLedger, maxAgeMs: 0, maxBytes: 0 };
  const streams = allStreams(place, ledger).map(({ name }) => name);
  return {
    publish: apisAt(place)
      .flatMap((api) => [
        `${api}.INFO`,
        ...streams.flatMap((stream) =>
          ['CREATE', 'INFO', 'UPDATE'].map((action) => `${api}.STREAM.${action}.${stream}`),
        ),
      ])
      .toSorted(),
    subscribe: [`${nameAt(place, inboxOf('setup'))}.>`],
  };
}

/**
 * Subjects of the API of JetStream. A server of the domain itself replaces the name of a domain before it checks permissions (nats-server,
 * `selectMappedSubject`); one behind a leaf node does not.
 */
function apisAt(place: NatsPlace): string[] {
  return [...new Set([apiAt(place), apiAt(usualPlace)])];
}

/**
 * Permission to find a stream and to read single messages of it. No more is safe to give: with permission to update a stream a role erases it or has it
 * capture other subjects; with consumers, and with direct reading, it has stored bytes delivered on any subject, those of JetStream's API among them.
 */
function ofStream(stream: string, place: NatsPlace): string[] {
  return apisAt(place).flatMap((api) => ['INFO', 'MSG.GET'].map((action) => `${api}.STREAM.${action}.${stream}`));
}

const namesOf = ({ name, isSmall = false }: Bucket<never>): readonly string[] =>
  isSmall ? [name] : [name, partsOf(name)];

function readingOf(bucket: Bucket<never>, place: NatsPlace): string[] {
  return namesOf(bucket).flatMap((name) => ofStream(streamOfBucket(nameAt(place, name)), place));
}

/** Permission to write keys, to announce it, and to remove garbage: marks of deleted keys, and parts of replaced values. */
function writingOf(bucket: Bucket<never>, place: NatsPlace): string[] {
  const removals = [
    ...(bucket.forgetsMs === undefined ? [] : [`MSG.DELETE.${streamOfBucket(nameAt(place, bucket.name))}`]),
    ...(bucket.isSmall === true ? [] : [`PURGE.${streamOfBucket(nameAt(place, partsOf(bucket.name)))}`]),
  ];
  return [
    nameAt(place, storedSubject(bucket.name)),
    ...apisAt(place).flatMap((api) => removals.map((removal) => `${api}.STREAM.${removal}`)),
    ...namesOf(bucket).flatMap((name) => {
      const values = `$KV.${nameAt(place, name)}.>`;
      // In a domain, values are also written on this subject.
      return [values, ...(place.domain === undefined ? [] : [`${apiAt(place)}.${values}`])];
    }),
  ];
}

/**
 * The users of a NATS configuration with the permissions of each role, and of the set-up (NATS, "Authorization": a user with `publish` lists may publish nothing else).
 * @param passwordOf each user, which is named like its role.
 */
export function natsUsers(passwordOf: (user: NatsUser) => string, place: NatsPlace = usualPlace): string {
  const list = (subjects: readonly string[]): string => `[${subjects.map((each) => JSON.stringify(each)).join(', ')}]`;
  return natsUserNames
    .map((user) => {
      const { publish, subscribe } = user === 'setup' ? setUpPermissions(place) : permissionsOf(user, place);
      return `{ user: ${user}, password: ${JSON.stringify(passwordOf(user))}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }`;
    })
    .join('\n');
}
