/** Users that have signed in, how they did, and their consents by client. */
import type { SealedStore } from './sealed-store.ts';
import type { Revocations } from './revocations.ts';
import type { UserRecord } from './users.ts';

/** A sign-in at an OpenID provider; a sign-in at the gateway lasts no longer. */
export interface UpstreamSession {
  readonly refreshToken: string | undefined;
  /** Access token for requests to the provider about the user; left out if the ID token identified the user. */
  readonly accessToken?: string | undefined;
  /** The provider's ID token, where servers are called by assertions that the provider makes about its users; left out otherwise. */
  readonly idToken?: string | undefined;
  /** Milliseconds since 1970 at which it ends; undefined if the gateway asks the provider instead. */
  readonly endsAt: number | undefined;
  /** When the provider last confirmed it. */
  readonly checkedAt: number;
  /** Time until which some edge is asking the provider. */
  readonly askingUntil: number;
  /** The provider's id of the session. */
  readonly sid: string | undefined;
}

/** Whether two records are of one sign-in, about which the provider was not asked in between. */
export function isSameSession(one: UpstreamSession, other: UpstreamSession): boolean {
  return (
    one.refreshToken === other.refreshToken && one.accessToken === other.accessToken && one.endsAt === other.endsAt
  );
}

export interface Person {
  readonly subject: string;
  /** The name that pages show. */
  readonly name: string;
  readonly groups: readonly string[];
  readonly tenant: string | undefined;
  /** The id of the record of a user of the file, where it has one. */
  readonly record?: string | undefined;
  /** Tokens of the provider for the user; undefined for a user of the file. */
  readonly upstream: UpstreamSession | undefined;
}

/** A consent of a user for a client. */
export interface Allowed {
  readonly grantId: string;
  readonly clientId: string;
  readonly clientName: string | undefined;
  readonly redirectHosts: readonly string[];
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The day on which the program last refreshed its tokens, in milliseconds since 1970; left out if it was the day of the consent. */
  readonly usedAt?: number;
}

/** How a name is written in capital and small letters. */
interface Forms {
  readonly all: readonly string[];
}

/** Bound on the consents of one user; the oldest is revoked first. */
const maxAllowed = 100;
/** Bound on the forms of one name in capital and small letters; what was allowed under the oldest is revoked first. */
const maxForms = 20;

/** The subject of a provider's user, `ISSUER|NAME`, with the name in small letters. Any other subject is returned as it is. */
const inSmall = (subject: string): string => subject.replace(/\|.*$/s, (name) => name.toLowerCase());

export class People {
  readonly #store: SealedStore;
  readonly #revocations: Revocations;
  readonly #isAnyCase: boolean;

  /** @param isAnyCase whether capital and small letters are the same in the names of users of the OpenID provider. */
  constructor(store: SealedStore, revocations: Revocations, isAnyCase = false) {
    this.#store = store;
    this.#revocations = revocations;
    this.#isAnyCase = isAnyCase;
  }

  async find(subject: string): Promise<Person | undefined> {
    return (await this.#store.get<Person>('Person', subject))?.value;
  }

  /** Stores the data of a user at a new sign-in. */
  async signedIn(person: Person): Promise<void> {
    await this.#noteForm(person.subject);
    await this.#store.put('Person', person.subject, person);
    const { upstream } = person;
    if (upstream?.sid !== undefined) await this.#store.put('UpstreamSid', upstream.sid, { subject: person.subject });
  }

  /** Stores by which record of the file a user signs in. */
  async signedInBy({ name, id }: Pick<UserRecord, 'name' | 'id'>): Promise<void> {
    await this.#store.put('UserRecord', name, { id });
  }

  /** Whether the last user that signed in by a name is another one than the file has now. */
  async isAnother({ name, id }: Pick<UserRecord, 'name' | 'id'>): Promise<boolean> {
    const before = await this.#store.get<Pick<UserRecord, 'id'>>('UserRecord', name);
    return before !== undefined && before.value.id !== id;
  }

  /** Changes the data of a user. @param make gives the new value; undefined keeps the old one. */
  async change(subject: string, make: (person: Person) => Person | undefined): Promise<void> {
    await this.#store.change<Person>('Person', subject, (person) => (person === undefined ? undefined : make(person)));
  }

  async ofUpstreamSession(sid: string): Promise<string | undefined> {
    return (await this.#store.get<{ readonly subject: string }>('UpstreamSid', sid))?.value.subject;
  }

  async allowed(subject: string): Promise<readonly Allowed[]> {
    return (await this.#store.get<{ readonly all: readonly Allowed[] }>('Allowed', subject))?.value.all ?? [];
  }

  /**
   * Notes that a program uses a consent. It keeps the list of consents of a user, which otherwise ends with its bucket's age while programs go on refreshing
   * their tokens.
   */
  async isUsing(subject: string, grantId: string): Promise<void> {
    const usedAt = Date.now();
    await this.#store.change<{ readonly all: readonly Allowed[] }>('Allowed', subject, (kept) =>
      kept === undefined
        ? undefined
        : { all: kept.all.map((each) => (each.grantId === grantId ? { ...each, usedAt } : each)) },
    );
    await this.#store.change<Pick<UserRecord, 'id'>>('UserRecord', subject, (kept) => kept);
    await this.#noteForm(subject);
  }

  /** Notes how a name with capital letters is written, so that `takeBack` finds it by another form. The note must last as long as the consents. */
  async #noteForm(subject: string): Promise<void> {
    const small = inSmall(subject);
    if (!this.#isAnyCase || subject === small) return;
    let tooOld: readonly string[] = [];
    await this.#store.change<Forms>('NameForms', small, (kept) => {
      const next = [...(kept?.all ?? []).filter((each) => each !== subject), subject];
      tooOld = next.slice(0, -maxForms);
      return { all: next.slice(-maxForms) };
    });
    for (const each of tooOld) await this.#takeBack(each);
  }

  /** All known forms of a name. */
  async #formsOf(subject: string): Promise<ReadonlySet<string>> {
    if (!this.#isAnyCase) return new Set([subject]);
    const small = inSmall(subject);
    const kept = await this.#store.get<Forms>('NameForms', small);
    return new Set([subject, small, ...(kept?.value.all ?? [])]);
  }

  /** Stores a consent; further scopes for the same grant are added to it. */
  async allow(subject: string, more: Allowed): Promise<void> {
    let tooOld: readonly Allowed[] = [];
    await this.#store.change<{ readonly all: readonly Allowed[] }>('Allowed', subject, (kept) => {
      const all = kept?.all ?? [];
      const before = all.find(({ grantId }) => grantId === more.grantId);
      const both = (one: readonly string[], other: readonly string[]): string[] => [...new Set([...one, ...other])];
      const merged =
        before === undefined
          ? more
          : {
              ...more,
              redirectHosts: both(before.redirectHosts, more.redirectHosts),
              scopes: both(before.scopes, more.scopes),
              resources: both(before.resources, more.resources),
            };
      const next = [...all.filter(({ grantId }) => grantId !== more.grantId), merged];
      tooOld = next.slice(0, -maxAllowed);
      return { all: next.slice(-maxAllowed) };
    });
    for (const { grantId } of tooOld) await this.#revocations.revoke(grantId);
  }

  /** Whether a browser's sign-in has ended because all grants of the user were revoked after it. @param at when the user signed in there, in seconds since 1970. */
  async isSessionOver(subject: string, at: number): Promise<boolean> {
    const ended = await this.#store.get<{ readonly at: number }>('SessionsEnded', subject);
    return ended !== undefined && at < ended.value.at;
  }

  /** Revokes a user's consents from before a time, in milliseconds since 1970. */
  async takeBackBefore(subject: string, time: number): Promise<void> {
    for (const { grantId, at } of await this.allowed(subject)) if (at < time) await this.takeBack(subject, grantId);
  }

  /**
   * Revokes one grant, or all of them: every edge refuses their tokens from then on. Revoking all of them also signs the user out of all browsers:
   * the user was removed, has a new password, or wants that. It covers all forms of a name whose capital and small letters are the same.
   */
  async takeBack(subject: string, grantId?: string): Promise<void> {
    if (grantId !== undefined) return this.#takeBack(subject, grantId);
    for (const each of await this.#formsOf(subject)) await this.#takeBack(each);
  }

  async #takeBack(subject: string, grantId?: string): Promise<void> {
    if (grantId === undefined) await this.#store.put('SessionsEnded', subject, { at: Math.floor(Date.now() / 1_000) });
    const all = await this.allowed(subject);
    const going = all.filter((each) => grantId === undefined || each.grantId === grantId);
    for (const each of going) {
      await this.#revocations.revoke(each.grantId);
      await this.#store.delete('Grant', each.grantId);
    }
    await this.#store.change<{ readonly all: readonly Allowed[] }>('Allowed', subject, (kept) =>
      kept === undefined
        ? undefined
        : { all: kept.all.filter((each) => !going.some((gone) => gone.grantId === each.grantId)) },
    );
  }
}
