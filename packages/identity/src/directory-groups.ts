/** Groups that a provider's directory (`auth.scim`) gives its users, beside those that their tokens name. */
import { hash } from 'node:crypto';
import type { DirectoryUser, Facts } from '@omnibus/protocol';

/** A directory, and the callers that it is about. */
export interface DirectorySettings {
  readonly issuer: string;
  readonly tenant?: string | undefined;
  /** The attribute of its users that is the subject in their tokens. */
  readonly subject: 'externalId' | 'userName';
}

/** The stored directories (`Directory` of packages/bus). */
export interface StoredDirectory {
  find(directory: string, by: 'userName' | 'externalId', value: string): DirectoryUser | undefined;
  groupName(directory: string, id: string): string | undefined;
  onChanged(listener: () => void): void;
}

/** Characters of a directory's key: 96 bits of the digest. */
const keyCharacters = 16;
/** Changes come in bursts; open streams are looked at once for each. */
const burstMs = 100;
/** Bound on the groups of a caller that come from a directory, as for those of a token. */
const maxGroups = 200;

/** The key of a directory, which stays the same when its secret or its `subject` changes. */
export function directoryKeyOf({ issuer, tenant = '' }: Pick<DirectorySettings, 'issuer' | 'tenant'>): string {
  return hash('sha256', `${Buffer.byteLength(tenant)}:${tenant}${issuer}`, 'hex').slice(0, keyCharacters);
}

export class DirectoryGroups {
  readonly #directories: ReadonlyMap<string, DirectorySettings & { readonly key: string }>;
  readonly #own: string | undefined;
  readonly #stored: StoredDirectory;

  /** @param own the issuer of the gateway's own tokens: users that sign in at a provider have `ISSUER|SUBJECT` as their subject there. */
  constructor(all: readonly DirectorySettings[], own: string | undefined, stored: StoredDirectory) {
    this.#directories = new Map(
      all.map((each) => [placeOf(each.issuer, each.tenant), { ...each, key: directoryKeyOf(each) }]),
    );
    this.#own = own;
    this.#stored = stored;
  }

  /** The names of the groups of a caller, sorted; empty if no directory knows it. */
  of({ issuer, subject, tenant }: Pick<Facts, 'issuer' | 'subject' | 'tenant'>): readonly string[] {
    const end = issuer === this.#own ? subject.indexOf('|') : -1;
    const [at, name] = end < 0 ? [issuer, subject] : [subject.slice(0, end), subject.slice(end + 1)];
    const directory = this.#directories.get(placeOf(at, tenant));
    const user = directory === undefined ? undefined : this.#stored.find(directory.key, directory.subject, name);
    if (directory === undefined || user?.active !== true) return [];
    const names = user.groups.flatMap((id) => this.#stored.groupName(directory.key, id) ?? []);
    return names.toSorted().slice(0, maxGroups);
  }

  /** Calls back soon after changes. */
  onChanged(listener: () => void): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.#stored.onChanged(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        listener();
      }, burstMs).unref();
    });
  }
}

const placeOf = (issuer: string, tenant = ''): string => `${tenant} ${issuer}`;
