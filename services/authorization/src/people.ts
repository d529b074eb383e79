/** Who has signed in, by what, and what each has allowed to which client. */
import type { SealedStore } from './sealed-store.ts';
import type { Revocations } from './revocations.ts';

/** A sign-in at an OpenID provider, which ours lasts no longer than. */
export interface UpstreamSession {
  readonly refreshToken: string | undefined;
  /** Access token with which the provider is asked who its user is; left out where its id token has said so. */
  readonly accessToken?: string | undefined;
  /** Milliseconds since 1970 at which it ends; undefined where the provider is asked instead. */
  readonly endsAt: number | undefined;
  /** When the provider last said that it lasts. */
  readonly checkedAt: number;
  /** Until when somebody is asking. */
  readonly askingUntil: number;
  /** The provider's name of it. */
  readonly sid: string | undefined;
}

export interface Person {
  readonly subject: string;
  /** What the user is called, on pages. */
  readonly name: string;
  readonly groups: readonly string[];
  readonly tenant: string | undefined;
  /** What the provider has given for the user; undefined for one of our own file. */
  readonly upstream: UpstreamSession | undefined;
}

/** What a user has allowed a client. */
export interface Allowed {
  readonly grantId: string;
  readonly clientId: string;
  readonly clientName: string | undefined;
  readonly redirectHosts: readonly string[];
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Grants of one user; what was allowed longest ago is revoked first. */
const maxAllowed = 100;

export class People {
  readonly #store: SealedStore;
  readonly #revocations: Revocations;

  constructor(store: SealedStore, revocations: Revocations) {
    this.#store = store;
    this.#revocations = revocations;
  }

  async find(subject: string): Promise<Person | undefined> {
    return (await this.#store.get<Person>('Person', subject))?.value;
  }

  /** Whoever signs in again is known as he is now. */
  async signedIn(person: Person): Promise<void> {
    await this.#store.put('Person', person.subject, person);
    const { upstream } = person;
    if (upstream?.sid !== undefined) await this.#store.put('UpstreamSid', upstream.sid, { subject: person.subject });
  }

  /** @param make of what is known; undefined leaves it as it is. */
  async change(subject: string, make: (person: Person) => Person | undefined): Promise<void> {
    await this.#store.change<Person>('Person', subject, (person) => (person === undefined ? undefined : make(person)));
  }

  async ofUpstreamSession(sid: string): Promise<string | undefined> {
    return (await this.#store.get<{ readonly subject: string }>('UpstreamSid', sid))?.value.subject;
  }

  async allowed(subject: string): Promise<readonly Allowed[]> {
    return (await this.#store.get<{ readonly all: readonly Allowed[] }>('Allowed', subject))?.value.all ?? [];
  }

  /** Remembers what was allowed; more for the same grant is added to it. */
  async allow(subject: string, more: Allowed): Promise<void> {
    let tooOld: readonly Allowed[] = [];
    await this.#store.change<{ readonly all: readonly Allowed[] }>('Allowed', subject, (kept) => {
      const all = kept?.all ?? [];
      const before = all.find(({ grantId }) => grantId === more.grantId);
      const both = (one: readonly string[], other: readonly string[]): string[] => [...new Set([...one, ...other])];
      const merged = before === undefined ? more : { ...more, redirectHosts: both(before.redirectHosts, more.redirectHosts), scopes: both(before.scopes, more.scopes), resources: both(before.resources, more.resources) };
      const next = [...all.filter(({ grantId }) => grantId !== more.grantId), merged];
      tooOld = next.slice(0, -maxAllowed);
      return { all: next.slice(-maxAllowed) };
    });
    for (const { grantId } of tooOld) await this.#revocations.revoke(grantId);
  }

  /** Whether a browser's sign-in is over, since all that the user had allowed was taken back meanwhile. @param at seconds since 1970. */
  async isSessionOver(subject: string, at: number): Promise<boolean> {
    const ended = await this.#store.get<{ readonly at: number }>('SessionsEnded', subject);
    return ended !== undefined && at < ended.value.at;
  }

  /**
   * Takes back one grant, or all of them: tokens of it are none from then on, at every edge. With all of them, sign-ins of browsers are over:
   * the user is gone, has another password, or wants it so.
   */
  async takeBack(subject: string, grantId?: string): Promise<void> {
    if (grantId === undefined) await this.#store.put('SessionsEnded', subject, { at: Math.floor(Date.now() / 1_000) });
    const all = await this.allowed(subject);
    const going = all.filter((each) => grantId === undefined || each.grantId === grantId);
    for (const each of going) {
      await this.#revocations.revoke(each.grantId);
      await this.#store.delete('Grant', each.grantId);
    }
    await this.#store.change<{ readonly all: readonly Allowed[] }>('Allowed', subject, (kept) => (kept === undefined ? undefined : { all: kept.all.filter((each) => !going.some((gone) => gone.grantId === each.grantId)) }));
  }
}
