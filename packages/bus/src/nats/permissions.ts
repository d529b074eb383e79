/**
 * The NATS permissions of each role, and no others: derived from the table of families, so that they are always complete.
 *
 * Replies come in under a subject of the requester's role (`inboxOf`). Large messages are fetched from their sender, on the sender's own subject
 * (`blobs.ts`); any role may be the sender.
 */
import { families, type BusRole, type Family } from '../families.ts';
import { allOf, root } from '../subject.ts';
import { apiAt, nameAt, usualPlace, type NatsPlace } from './place.ts';
import {
  approvalsBucket,
  approvedBucket,
  auditLedger,
  authorizationBuckets,
  blocksBucket,
  catalogBucket,
  quotaBuckets,
  sessionsBucket,
  streamJournal,
  usageBucket,
  vaultBuckets,
} from '../subjects.ts';

export interface Permissions {
  /** Subjects, with NATS' wildcards. */
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

export const busRoles = ['edge', 'session', 'backend'] as const satisfies readonly BusRole[];

/** The roles that use each bucket and stream. */
const stored: Readonly<Record<string, readonly BusRole[]>> = {
  [catalogBucket.name]: ['session', 'backend'],
  [`${catalogBucket.name}-parts`]: ['session', 'backend'],
  [sessionsBucket.name]: ['session', 'backend'],
  [blocksBucket.name]: ['edge', 'session', 'backend'],
  [approvalsBucket.name]: ['session'],
  [usageBucket.name]: ['session'],
  [`${usageBucket.name}-parts`]: ['session'],
  ...Object.fromEntries(Object.values(quotaBuckets).map(({ name }) => [name, ['session'] as const])),
  [approvedBucket.name]: ['backend'],
  [`${approvedBucket.name}-parts`]: ['backend'],
  ...Object.fromEntries(Object.values(authorizationBuckets).map(({ name }) => [name, ['edge'] as const])),
  ...Object.fromEntries(Object.values(vaultBuckets).map(({ name }) => [name, ['backend'] as const])),
};
/**
 * Buckets that a role reads and never writes: each process has to check for revoked tokens, since administrators use tokens of our own, and reads usage
 * for administrators.
 */
const followed: Readonly<Record<string, readonly BusRole[]>> = {
  [authorizationBuckets.revoked.name]: ['session', 'backend'],
  [usageBucket.name]: ['edge', 'backend'],
  [`${usageBucket.name}-parts`]: ['edge', 'backend'],
};
const journalRoles: readonly BusRole[] = ['session', 'edge'];

/** The subject under which replies to a role come in; each process adds a token of its own. */
export function inboxOf(role: BusRole | 'all'): string {
  return `${root}.inbox.${role}`;
}

/** What the processes of a role publish and subscribe to. A process of several roles needs the permissions of all of them. */
export function permissionsOf(role: BusRole, place: NatsPlace = usualPlace): Permissions {
  const all = Object.entries<Family>(families);
  const said = all.filter(([, { from }]) => from.includes(role));
  const heard = all.filter(([, { hears }]) => hears.includes(role));
  const blobs = allOf('blob', 1);
  const talksTo = new Set([...said.flatMap(([, { hears }]) => hears), ...heard.flatMap(([, { from }]) => from)]);
  const at = (name: string): string => nameAt(place, name);
  const subjectOf = ([name, { tokens }]: readonly [string, Family]): string => allOf(name, tokens.length);
  return {
    publish: [
      ...[...said.map(subjectOf), blobs, ...[...talksTo].map((other) => `${inboxOf(other)}.>`)].map(at),
      ...apisAt(place).map((api) => `${api}.INFO`),
      ...Object.entries(stored)
        .filter(([, roles]) => roles.includes(role))
        .flatMap(([bucket]) => ofBucket(at(bucket), place)),
      ...Object.entries(followed)
        .filter(([, roles]) => roles.includes(role))
        .flatMap(([bucket]) => followingOf(at(bucket), place)),
      ...(journalRoles.includes(role) ? ofStream(at(streamJournal.name), place) : []),
      // Every process adds to the audit under a name of its own; no role may remove anything from it.
      at(allOf(auditLedger.family, 1)),
      ...ofStream(at(auditLedger.name), place),
    ].toSorted(),
    subscribe: [...heard.map(subjectOf), blobs, `${inboxOf(role)}.>`].map(at).toSorted(),
  };
}

/**
 * Subjects under which JetStream is asked. A server of the domain itself replaces the name of a domain before it checks permissions (nats-server,
 * `selectMappedSubject`); one behind a leaf node does not.
 */
function apisAt(place: NatsPlace): string[] {
  return [...new Set([apiAt(place), apiAt(usualPlace)])];
}

/** Permission to create or find a stream, and to read single messages. */
function ofStream(stream: string, place: NatsPlace): string[] {
  return apisAt(place).flatMap((api) =>
    ['CREATE', 'INFO', 'UPDATE', 'MSG.GET'].map((action) => `${api}.STREAM.${action}.${stream}`),
  );
}

/** Permissions for a bucket (NATS, ADR-8): those of its stream, and watching all keys by a consumer. */
function followingOf(bucket: string, place: NatsPlace): string[] {
  const stream = `KV_${bucket}`;
  return [
    ...ofStream(stream, place),
    ...apisAt(place).flatMap((api) =>
      ['DIRECT.GET', 'CONSUMER.CREATE', 'CONSUMER.INFO', 'CONSUMER.DELETE'].map(
        (action) => `${api}.${action}.${stream}.>`,
      ),
    ),
    `$JS.FC.${stream}.>`,
  ];
}

/** The same, and writing keys. */
function ofBucket(bucket: string, place: NatsPlace): string[] {
  const values = `$KV.${bucket}.>`;
  // In a domain, values are also written on this subject.
  return [...followingOf(bucket, place), values, ...(place.domain === undefined ? [] : [`${apiAt(place)}.${values}`])];
}

/**
 * The users of a NATS configuration with the permissions of each role (NATS, "Authorization": a user with `publish` lists may publish nothing else).
 * @param passwordOf the user that is named like the role.
 */
export function natsUsers(passwordOf: (role: BusRole) => string, place: NatsPlace = usualPlace): string {
  const list = (subjects: readonly string[]): string => `[${subjects.map((each) => JSON.stringify(each)).join(', ')}]`;
  return busRoles
    .map((role) => {
      const { publish, subscribe } = permissionsOf(role, place);
      return `{ user: ${role}, password: ${JSON.stringify(passwordOf(role))}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }`;
    })
    .join('\n');
}
