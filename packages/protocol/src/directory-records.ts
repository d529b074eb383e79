/** Users and groups that a provider keeps up to date by SCIM 2.0 (RFC 7643), as they are stored. */

interface DirectoryRecord {
  /** The directory: a digest of the issuer and the tenant of its users. */
  readonly directory: string;
  readonly id: string;
  readonly externalId?: string;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly changed: number;
}

export interface DirectoryUser extends DirectoryRecord {
  readonly kind: 'user';
  readonly userName: string;
  /** Whether the provider permits the user to sign in. */
  readonly active: boolean;
  readonly displayName?: string;
  readonly name?: { readonly formatted?: string; readonly givenName?: string; readonly familyName?: string };
  readonly emails?: readonly { readonly value: string; readonly type?: string; readonly primary?: boolean }[];
  /** Ids of its groups. Members are stored here, so that a change of a large group is a small write. */
  readonly groups: readonly string[];
}

export interface DirectoryGroup extends DirectoryRecord {
  readonly kind: 'group';
  /** The name of the group in rules. */
  readonly displayName: string;
}

export type DirectoryEntry = DirectoryUser | DirectoryGroup;
