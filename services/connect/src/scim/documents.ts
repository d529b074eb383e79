/** The documents in which the gateway names its operations and attributes to providers (RFC 7643, 5 to 7). */

const core = 'urn:ietf:params:scim:schemas:core:2.0';
const messages = 'urn:ietf:params:scim:api:messages:2.0';
export const listSchema = `${messages}:ListResponse`;
export const errorSchema = `${messages}:Error`;
export const schemaOf = { user: `${core}:User`, group: `${core}:Group` } as const;
/** Entries of one page. */
export const maxPage = 200;

const config = (root: string): object => ({
  schemas: [`${core}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxPage },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer token',
      description: 'The secret of the directory (auth.scim)',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${root}/ServiceProviderConfig` },
});

const types = (root: string): readonly object[] =>
  [
    ['User', 'Users'],
    ['Group', 'Groups'],
  ].map(([name, path]) => ({
    schemas: [`${core}:ResourceType`],
    id: name,
    name,
    endpoint: `/${path}`,
    schema: `${core}:${name}`,
    meta: { resourceType: 'ResourceType', location: `${root}/ResourceTypes/${name}` },
  }));

const attribute = (name: string, more: object = {}): object => ({
  name,
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});
const references = { type: 'complex', multiValued: true };
const readOnly = { mutability: 'readOnly' };

const attributes = {
  User: [
    attribute('userName', { required: true, uniqueness: 'server' }),
    attribute('active', { type: 'boolean' }),
    attribute('displayName'),
    attribute('name', {
      type: 'complex',
      subAttributes: ['formatted', 'givenName', 'familyName'].map((name) => attribute(name)),
    }),
    attribute('emails', {
      ...references,
      subAttributes: [attribute('value'), attribute('type'), attribute('primary', { type: 'boolean' })],
    }),
    attribute('groups', {
      ...references,
      ...readOnly,
      subAttributes: [attribute('value', readOnly), attribute('display', readOnly)],
    }),
  ],
  Group: [
    attribute('displayName', { required: true, uniqueness: 'server' }),
    attribute('members', {
      ...references,
      subAttributes: [attribute('value', { mutability: 'immutable' }), attribute('display', readOnly)],
    }),
  ],
};

const schemas = (root: string): readonly object[] =>
  Object.entries(attributes).map(([name, all]) => ({
    schemas: [`${core}:Schema`],
    id: `${core}:${name}`,
    name,
    attributes: all,
    meta: { resourceType: 'Schema', location: `${root}/Schemas/${core}:${name}` },
  }));

/** @param root address of the API. @returns undefined for another name. */
export function documentAt(root: string, name: string, id?: string): object | undefined {
  if (name === 'ServiceProviderConfig') return config(root);
  const all = name === 'ResourceTypes' ? types(root) : schemas(root);
  if (id !== undefined) return all.find((each) => (each as { readonly id: string }).id === id);
  return { schemas: [listSchema], totalResults: all.length, startIndex: 1, itemsPerPage: all.length, Resources: all };
}
