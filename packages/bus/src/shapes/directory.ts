/** The shape of stored users and groups of a provider's directory. */
import type { DirectoryEntry, DirectoryUser } from '@omnibus/protocol';
import { count, fields, flag, list, optional, text, token, variants } from './shape.ts';

type Name = NonNullable<DirectoryUser['name']>;
type Email = NonNullable<DirectoryUser['emails']>[number];

const common = {
  directory: token,
  id: token,
  externalId: optional(text),
  created: count,
  changed: count,
};
export const directoryEntry = variants<DirectoryEntry, 'kind'>('kind', {
  user: {
    ...common,
    userName: text,
    active: flag,
    displayName: optional(text),
    name: optional(fields<Name>({ formatted: optional(text), givenName: optional(text), familyName: optional(text) })),
    emails: optional(list(fields<Email>({ value: text, type: optional(text), primary: optional(flag) }))),
    groups: list(token),
  },
  group: { ...common, displayName: text },
});
