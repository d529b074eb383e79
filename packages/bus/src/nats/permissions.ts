/**
 * What each role has to be allowed at NATS, and nothing else: made from the table of families, so that it cannot fall behind.
 *
 * Answers come in under a subject of the asker's role (`inboxOf`). Large messages are fetched from whoever sent them, by their
 * sender's own subject (`blobs.ts`), which any role may be.
 */
import { families, type BusRole, type Family } from '../families.ts';
import { allOf, root } from '../subject.ts';
import { authorizationBuckets, catalogBucket, sessionsBucket, streamJournal } from '../subjects.ts';

export interface Permissions {
  /** Subjects, with NATS' wildcards. */
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

export const busRoles = ['edge', 'session', 'backend'] as const satisfies readonly BusRole[];

/** Which roles use what is stored. */
const stored: Readonly<Record<string, readonly BusRole[]>> = {
  [catalogBucket.name]: ['session', 'backend'],
  [`${catalogBucket.name}-parts`]: ['session', 'backend'],
  [sessionsBucket.name]: ['session', 'backend'],
  ...Object.fromEntries(Object.values(authorizationBuckets).map(({ name }) => [name, ['edge'] as const])),
};
const journalRoles: readonly BusRole[] = ['session', 'edge'];

/** Under which subject answers to a role come in; its processes add a token of their own. */
export function inboxOf(role: BusRole | 'all'): string {
  return `${root}.inbox.${role}`;
}

/** What the processes of a role say and hear. A process of several roles needs what all of them need. */
export function permissionsOf(role: BusRole): Permissions {
  const all = Object.entries<Family>(families);
  const said = all.filter(([, { from }]) => from.includes(role));
  const heard = all.filter(([, { hears }]) => hears.includes(role));
  const blobs = allOf('blob', 1);
  const talksTo = new Set([...said.flatMap(([, { hears }]) => hears), ...heard.flatMap(([, { from }]) => from)]);
  const subjectOf = ([name, { tokens }]: readonly [string, Family]): string => allOf(name, tokens.length);
  return {
    publish: [
      ...said.map(subjectOf), blobs, ...[...talksTo].map((other) => `${inboxOf(other)}.>`), '$JS.API.INFO',
      ...Object.entries(stored).filter(([, roles]) => roles.includes(role)).flatMap(([bucket]) => ofBucket(bucket)),
      ...(journalRoles.includes(role) ? ofStream(streamJournal.name) : []),
    ].toSorted(),
    subscribe: [...heard.map(subjectOf), blobs, `${inboxOf(role)}.>`].toSorted(),
  };
}

/** Making it, or finding that it is there; reading single messages. */
function ofStream(stream: string): string[] {
  return ['CREATE', 'INFO', 'UPDATE', 'MSG.GET'].map((action) => `$JS.API.STREAM.${action}.${stream}`);
}

/** The same of a bucket (NATS, ADR-8), reading keys, writing them, and watching all of them by a consumer. */
function ofBucket(bucket: string): string[] {
  const stream = `KV_${bucket}`;
  return [...ofStream(stream), `$JS.API.DIRECT.GET.${stream}.>`, `$JS.API.CONSUMER.CREATE.${stream}.>`, `$JS.API.CONSUMER.INFO.${stream}.>`, `$JS.API.CONSUMER.DELETE.${stream}.>`, `$JS.FC.${stream}.>`, `$KV.${bucket}.>`];
}

/**
 * The users of a NATS configuration that may do what each role needs (NATS, "Authorization": a user with `publish` lists may
 * publish nothing else).
 * @param passwordOf of the user that is named like the role.
 */
export function natsUsers(passwordOf: (role: BusRole) => string): string {
  const list = (subjects: readonly string[]): string => `[${subjects.map((each) => JSON.stringify(each)).join(', ')}]`;
  return busRoles.map((role) => {
    const { publish, subscribe } = permissionsOf(role);
    return `{ user: ${role}, password: ${JSON.stringify(passwordOf(role))}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }`;
  }).join('\n');
}
