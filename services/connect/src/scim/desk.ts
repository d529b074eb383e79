/**
 * Acts of a provider on its directory. Every process refuses a deactivated or deleted user, and the former name of a renamed one, at once: its calls,
 * sessions and streams end, and the consents that it gave at the gateway's own authorization server are revoked.
 */
import { hash, randomBytes } from 'node:crypto';
import { isConflict, type Blocks, type Directory, type StoredGroup, type StoredUser } from '@omnibus/bus';
import type { BlockRecord, DirectoryEntry, DirectoryGroup, DirectoryUser, JsonObject } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { groupOf, keptOf, maxMembers, userOf, type UserAttributes } from './attributes.ts';
import type { Of } from './of.ts';
import { patched } from './patch.ts';
import { invalid, ScimProblem } from './problem.ts';
import type { ScimRecords } from './records.ts';
import { Turns } from './turns.ts';

export interface DeskOptions {
  readonly directory: Directory;
  readonly blocks: Pick<Blocks, 'addGone' | 'goneRevision' | 'removeGone'>;
  readonly log: Logger;
  readonly records: ScimRecords;
  /** Revokes the consents of a user of the gateway's own authorization server. @param subject `ISSUER|SUBJECT`. */
  readonly takeBack: (issuer: string, subject: string) => Promise<void>;
  /** Ends the sign-ins of a deleted or renamed user at servers: the next user of that name is another person. */
  readonly forget: (user: Directed) => Promise<void>;
}

/** A user of a directory, as tokens name it. */
interface Directed {
  readonly issuer: string;
  readonly subject: string;
  readonly tenant?: string | undefined;
  readonly isAnyCase?: boolean | undefined;
}

/** An entry as an act has stored it. */
export interface Written<Entry> {
  readonly entry: Entry;
  readonly revision: number;
}

/** An entry that an act is about. */
interface Wanted<Entry extends DirectoryEntry> {
  readonly of: Of;
  readonly id: string;
  readonly kind: Entry['kind'];
  /** `If-Match` of the request. */
  readonly match?: string | undefined;
}

/** A change of the members of a group; the sets have ids of users. */
interface Membership {
  readonly of: Of;
  readonly group: DirectoryGroup;
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

/** How an act gives the new attributes of an entry. */
type Change = { readonly patch: JsonObject } | { readonly replace: JsonObject };

/** Bounds on one directory. */
const maxUsers = 20_000;
const maxGroups = 2_000;
const maxGroupsOfUser = 200;
/** Tries of a change that other edges make at the same time. */
const maxTries = 5;
/** Deleted users, and the former names of renamed ones, are refused for so long; a token of a provider is valid for less. */
const deletedMs = 30 * 24 * 60 * 60_000;
const idBytes = 12;

export class Desk {
  readonly #options: DeskOptions;
  /** Changes of one group come one after the other: then only other edges can be in their way. */
  readonly #turns = new Turns();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  async createUser(of: Of, body: JsonObject): Promise<Written<DirectoryUser>> {
    const { directory } = this.#options;
    const wanted = this.#checkedUser(of, userOf(keptOf('user', body)));
    if (directory.sizesOf(of.key).users >= maxUsers) throw full(`${maxUsers} users`);
    const now = Date.now();
    if (!wanted.active) await this.#end(of, wanted);
    const gone = wanted.active ? await this.#goneRevision(of, wanted) : undefined;
    const made = { ...wanted, kind: 'user', directory: of.key, created: now, changed: now, groups: [] } as const;
    const written = await this.#create<DirectoryUser>((id) => ({ ...made, id }));
    this.#options.records.user(of, undefined, written.entry);
    await this.#admit(of, wanted, gone);
    return written;
  }

  async changeUser(of: Of, id: string, change: Change, match: string | undefined): Promise<Written<DirectoryUser>> {
    let gone: number | undefined;
    let before: DirectoryUser | undefined;
    const written = await this.#changed<DirectoryUser>({ of, id, kind: 'user', match }, async (known) => {
      before = known;
      const kept = keptOf('user', 'patch' in change ? { ...known } : change.replace);
      const wanted = this.#checkedUser(of, userOf('patch' in change ? patched('user', kept, change.patch) : kept), id);
      const { directory, created, groups } = known;
      const entry: DirectoryUser = { ...wanted, kind: 'user', directory, id, created, groups, changed: Date.now() };
      // Before it is stored: if this process ends in between, the provider repeats its request.
      if (!entry.active && (known.active || isOther(of, known, entry))) await this.#end(of, entry);
      // Until the directory gives the former name to another user, nobody may use its tokens and grants.
      if (isOther(of, known, entry)) await this.#end(of, known, Date.now() + deletedMs);
      gone = entry.active ? await this.#goneRevision(of, entry) : undefined;
      return entry;
    });
    let isAdmitted = false;
    try {
      // Also a user that was active before: an earlier request may have failed here.
      await this.#admit(of, written.entry, gone);
      isAdmitted = gone !== undefined;
    } finally {
      // Also before a failure: the change is stored.
      this.#options.records.user(of, before, written.entry, isAdmitted);
    }
    return written;
  }

  async deleteUser(of: Of, id: string, match: string | undefined): Promise<void> {
    const { directory } = this.#options;
    await repeatedly(async () => {
      const { entry, revision } = await this.#found<DirectoryUser>({ of, id, kind: 'user', match });
      await this.#end(of, entry, Date.now() + deletedMs);
      await directory.delete(entry, revision);
      this.#options.records.user(of, entry, undefined);
    });
  }

  async createGroup(of: Of, body: JsonObject): Promise<Written<DirectoryGroup>> {
    const { directory } = this.#options;
    const { members, ...attributes } = groupOf(keptOf('group', body));
    this.#checkName(of, attributes.displayName);
    if (directory.sizesOf(of.key).groups >= maxGroups) throw full(`${maxGroups} groups`);
    await this.#users(of, members);
    const now = Date.now();
    const made = { ...attributes, kind: 'group', directory: of.key, created: now, changed: now } as const;
    const written = await this.#create<DirectoryGroup>((id) => ({ ...made, id }));
    const { entry: group } = written;
    this.#options.records.group(of, undefined, group);
    const before = new Set(directory.members(of.key, group.id));
    await this.#setMembers({ of, group, before, after: new Set(members) });
    return members.length + before.size === 0 ? written : this.#settled(of, group.id);
  }

  async changeGroup(of: Of, id: string, change: Change, match: string | undefined): Promise<Written<DirectoryGroup>> {
    return this.#turns.take(id, () => this.#changeGroup({ of, id, kind: 'group', match }, change));
  }

  async #changeGroup(asked: Wanted<DirectoryGroup>, change: Change): Promise<Written<DirectoryGroup>> {
    const { of, id } = asked;
    let known: ReadonlySet<string> = new Set();
    let wanted: readonly string[] = [];
    let former: DirectoryGroup | undefined;
    const written = await this.#changed<DirectoryGroup>(asked, async (before, revision) => {
      const members = await this.#members(of, id, revision);
      [former, known] = [before, new Set(members)];
      const kept = { ...keptOf('group', { ...before }), members: members.map((value) => ({ value })) };
      const { members: next, ...attributes } = groupOf(
        'patch' in change ? patched('group', kept, change.patch) : keptOf('group', change.replace),
      );
      if (attributes.displayName !== before.displayName) this.#checkName(of, attributes.displayName, id);
      await this.#users(
        of,
        next.filter((each) => !known.has(each)),
      );
      wanted = next;
      const { directory, created } = before;
      return { ...attributes, kind: 'group', directory, id, created, changed: Date.now() };
    });
    this.#options.records.group(of, former, written.entry);
    if (wanted.length === known.size && wanted.every((each) => known.has(each))) return written;
    await this.#setMembers({ of, group: written.entry, before: known, after: new Set(wanted) });
    return this.#settled(of, id);
  }

  async deleteGroup(of: Of, id: string, match: string | undefined): Promise<void> {
    const { directory } = this.#options;
    const remove = async (): Promise<void> => {
      const { entry, revision } = await this.#found<DirectoryGroup>({ of, id, kind: 'group', match });
      const before = new Set(await this.#members(of, id, revision));
      await this.#setMembers({ of, group: entry, before, after: new Set() });
      await directory.delete(entry, revision);
      this.#options.records.group(of, entry, undefined);
    };
    await this.#turns.take(id, () => repeatedly(remove));
  }

  /** Writes a group after its members: an edge that knows this revision knows them too. */
  async #settled(of: Of, id: string): Promise<Written<DirectoryGroup>> {
    return this.#changed<DirectoryGroup>({ of, id, kind: 'group' }, async (latest, revision) => {
      // Another edge may have written it since, after members that this one has not heard of.
      await this.#options.directory.known(of.key, id, revision);
      return latest;
    });
  }

  /** The members of a group as of a revision that was read from the store: another edge may have written it a moment ago. */
  async #members(of: Of, id: string, revision: number): Promise<readonly string[]> {
    const { directory } = this.#options;
    await directory.known(of.key, id, revision);
    return directory.members(of.key, id);
  }

  async user(of: Of, id: string): Promise<StoredUser> {
    return this.#found<DirectoryUser>({ of, id, kind: 'user' });
  }

  async group(of: Of, id: string): Promise<StoredGroup> {
    return this.#found<DirectoryGroup>({ of, id, kind: 'group' });
  }

  /** The latest value of an entry. @throws {ScimProblem} */
  async #found<Entry extends DirectoryEntry>({ of, id, kind, match }: Wanted<Entry>): Promise<Written<Entry>> {
    const found = /^[\w-]{1,64}$/.test(id) ? await this.#options.directory.get(of.key, id) : undefined;
    if (found === undefined || found.entry.kind !== kind)
      throw new ScimProblem(404, `there is no ${kind} ${JSON.stringify(id.slice(0, 100))} in this directory`);
    if (match !== undefined && match !== '*' && !match.split(/\s*,\s*/).includes(tagOf(found.revision)))
      throw new ScimProblem(412, `the ${kind} was changed since: read it again`);
    return found as Written<Entry>;
  }

  /**
   * Stores a new entry. Its id follows from its name, so of two requests for one name, at any edges, the second fails.
   * @throws {ScimProblem}
   */
  async #create<Entry extends DirectoryEntry>(made: (id: string) => Entry): Promise<Written<Entry>> {
    const { directory } = this.#options;
    const [named, name] = nameOf(made(''));
    const first = made(hash('sha256', `${named} ${name}`, 'hex').slice(0, 2 * idBytes));
    try {
      return { entry: first, revision: await directory.create(first) };
    } catch (error) {
      if (!isConflict(error)) throw error;
      const other = (await directory.get(first.directory, first.id))?.entry;
      if (other === undefined || nameOf(other)[1] === name)
        throw new ScimProblem(409, `there is an entry with this ${named} already`, 'uniqueness');
      // The entry that had the name first has another one now.
      const second = made(randomBytes(idBytes).toString('hex'));
      return { entry: second, revision: await directory.create(second) };
    }
  }

  /** Stores a changed entry, from its latest value. */
  async #changed<Entry extends DirectoryEntry>(
    { of, id, kind, match }: Wanted<Entry>,
    change: (before: Entry, revision: number) => Promise<Entry>,
  ): Promise<Written<Entry>> {
    const { directory } = this.#options;
    return repeatedly(async () => {
      const { entry: before, revision } = await this.#found<Entry>({ of, id, kind, match });
      const entry = await change(before, revision);
      return { entry, revision: await directory.update(entry, revision) };
    });
  }

  /** @param id of the user itself; left out for a new one. */
  #checkedUser(of: Of, user: UserAttributes, id?: string): UserAttributes {
    const { directory } = this.#options;
    const { subject } = of;
    if (user[subject] === undefined)
      throw invalid(
        `${subject} is missing: it is the subject of the user's tokens (auth.scim), so without it no token is of this user`,
      );
    for (const by of ['userName', 'externalId'] as const) {
      const value = user[by];
      const other = value === undefined ? undefined : directory.find(of.key, by, value);
      if (other !== undefined && other.id !== id)
        throw new ScimProblem(409, `there is a user with the ${by} ${JSON.stringify(value)} already`, 'uniqueness');
    }
    return user;
  }

  /** Rules name groups by their names, so each is there once. */
  #checkName(of: Of, name: string, id?: string): void {
    const other = this.#options.directory
      .groups(of.key)
      .find(({ entry }) => entry.displayName === name && entry.id !== id);
    if (other !== undefined)
      throw new ScimProblem(409, `there is a group ${JSON.stringify(name)} already`, 'uniqueness');
  }

  /** Finds future members. @throws {ScimProblem} before anything is written. */
  async #users(of: Of, ids: readonly string[]): Promise<void> {
    if (ids.length > maxMembers) throw invalid(`members: a group has at most ${maxMembers}`);
    for (const id of ids) {
      const found = await this.#found<DirectoryUser>({ of, id, kind: 'user' }).catch((error: unknown) => {
        if (!(error instanceof ScimProblem)) throw error;
        throw invalid(
          `members: there is no user ${JSON.stringify(id.slice(0, 100))}; groups in groups are not supported`,
        );
      });
      if (found.entry.groups.length >= maxGroupsOfUser)
        throw invalid(`members: the user ${id} is in ${maxGroupsOfUser} groups already`);
    }
  }

  /** Adds and removes members of a group, which each user has. Members that other requests change at the same time stay as these want them. */
  async #setMembers({ of, group, before, after }: Membership): Promise<void> {
    const changed: Record<'added' | 'removed', DirectoryUser[]> = { added: [], removed: [] };
    try {
      for (const id of new Set([...before, ...after])) {
        if (before.has(id) === after.has(id)) continue;
        const user = await this.#setMember({ of, group: group.id, id, isIn: after.has(id) });
        if (user !== undefined) changed[after.has(id) ? 'added' : 'removed'].push(user);
      }
    } finally {
      // Also those before a failure: they are written.
      this.#options.records.members(of, group, changed);
    }
  }

  /** @returns undefined for a member that was deleted meanwhile: it is in no group. */
  async #setMember({
    of,
    group,
    id,
    isIn,
  }: Pick<Wanted<DirectoryUser>, 'of' | 'id'> & { readonly group: string; readonly isIn: boolean }): Promise<
    DirectoryUser | undefined
  > {
    try {
      const { entry } = await this.#changed<DirectoryUser>({ of, id, kind: 'user' }, (user) => {
        const others = user.groups.filter((each) => each !== group);
        return Promise.resolve({ ...user, groups: isIn ? [...others, group] : others });
      });
      return entry;
    } catch (error) {
      if (!(error instanceof ScimProblem)) throw error;
      return undefined;
    }
  }

  /** Refuses a user in all processes. @param until when that may be forgotten, in milliseconds since 1970. */
  async #end(of: Of, user: UserAttributes, until?: number): Promise<void> {
    const { blocks, log, takeBack } = this.#options;
    const subject = subjectIn(of, user);
    if (subject === undefined) return;
    const gone = goneOf(of, subject);
    const refuse = (): Promise<void> =>
      blocks.addGone({ ...gone, by: 'scim', at: Date.now(), ...(until === undefined ? {} : { until }) });
    // A deactivated user is refused already, without an end, and stays so if the deletion fails here.
    const isRefused = until !== undefined && !user.active;
    if (!isRefused) await refuse();
    await (until === undefined ? takeBack(of.issuer, gone.name) : this.#leave(of, user));
    if (isRefused) await refuse();
    log.info(
      { user: gone.name, tenant: of.tenant },
      `a directory has ${until === undefined ? 'deactivated' : 'deleted or renamed'} a user`,
    );
  }

  /** Ends what a user has under a name that another person may get: consents, and sign-ins at servers. */
  async #leave(of: Of, user: UserAttributes): Promise<void> {
    const { takeBack, forget } = this.#options;
    const subject = subjectIn(of, user);
    if (subject === undefined) return;
    const { name, ...more } = goneOf(of, subject);
    await takeBack(of.issuer, name);
    await forget({ ...more, issuer: of.issuer, subject });
  }

  async #goneRevision(of: Of, user: UserAttributes): Promise<number | undefined> {
    const subject = subjectIn(of, user);
    return subject === undefined ? undefined : this.#options.blocks.goneRevision(goneOf(of, subject));
  }

  /** @param gone of `#goneRevision`, from before the user was stored. */
  async #admit(of: Of, user: UserAttributes, gone: number | undefined): Promise<void> {
    const subject = subjectIn(of, user);
    if (subject !== undefined && gone !== undefined) await this.#options.blocks.removeGone(goneOf(of, subject), gone);
  }
}

export const tagOf = (revision: number): string => `W/"${revision}"`;

/** Repeats an act from the beginning while other requests change its entry. */
async function repeatedly<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await act();
    } catch (error) {
      if (!isConflict(error) || tries >= maxTries) throw error;
    }
  }
}

/** The attribute that names an entry, and its value in small letters. */
const nameOf = (entry: DirectoryEntry): readonly [named: string, name: string] =>
  entry.kind === 'user' ? ['userName', entry.userName.toLowerCase()] : ['displayName', entry.displayName.toLowerCase()];

const subjectIn = ({ subject }: Of, user: UserAttributes): string | undefined => user[subject];

/** User names are the same in capital and small letters (RFC 7643, 4.1.1), also those in tokens. */
function goneOf(
  { issuer, tenant, subject: by }: Of,
  subject: string,
): Pick<BlockRecord, 'name' | 'tenant' | 'isAnyCase'> {
  return {
    name: `${issuer}|${subject}`,
    ...(tenant === undefined ? {} : { tenant }),
    ...(by === 'userName' ? { isAnyCase: true } : {}),
  };
}

function isOther(of: Of, ...users: readonly [UserAttributes, UserAttributes]): boolean {
  const [one, other] = users.map((user) => {
    const subject = subjectIn(of, user);
    return of.subject === 'userName' ? subject?.toLowerCase() : subject;
  });
  return one !== other;
}

function full(what: string): ScimProblem {
  return new ScimProblem(507, `this directory has ${what}, which is the bound: assign fewer at the provider`);
}
