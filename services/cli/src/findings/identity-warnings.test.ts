/** Mistakes in `auth` and tenants that admit no caller, though the configuration can be read. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configOf } from '@omnibus/config/testing';
import { StandInIssuer } from '@omnibus/identity/testing';
import { expect, it, onTestFinished } from 'vitest';
import { identityFindings } from '../commands/identity-findings.ts';
import { identityWarnings } from '@omnibus/setup/warnings';

const server = (tenants: string): string =>
  `mcpServers: { up: { url: http://127.0.0.1:4001/mcp, tenants: ${tenants} } }`;
const up = 'mcpServers: { up: { url: http://127.0.0.1:4001/mcp } }';
const signIn = (provider: string, more: string): string =>
  `publicUrl: https://g.example\nauth: { server: { signIn: { issuer: "${provider}", clientId: a${more} } } }`;
const issuer = 'publicUrl: https://g.example\nauth: { issuers: [{ issuer: https://a.example }], ';
const twoIssuers =
  'publicUrl: https://g.example\nauth: { issuers: [{ issuer: https://a.example }, { issuer: https://b.example }]';
const two = `${twoIssuers} }\n${up}`;

it.each([
  ['nobody has a tenant', server('[acme]'), 'mcpServers.up.tenants', 'no caller is of "acme"'],
  ['callers are not known', `auth: none\n${server('[acme]')}`, 'mcpServers.up.tenants', 'no caller is of "acme"'],
  [
    'all callers are of another tenant',
    `publicUrl: https://g.example\nauth: { issuers: [{ issuer: https://a.example, ofTenant: other }] }\n${server('[acme]')}`,
    'mcpServers.up.tenants',
    'no caller is of "acme"',
  ],
  [
    'a profile is of another tenant than its server',
    `auth: { keys: { file: k } }\n${server('[acme]')}\nprofiles: { p: { servers: [up], tenants: [beta] } }`,
    'profiles.p.servers.0',
    'nobody sees the server up in this profile',
  ],
  [
    'nobody has a role',
    `auth: { keys: { file: k }, admin: { roles: {} } }\n${up}`,
    'auth.admin',
    'nobody has a role here',
  ],
  [
    'a role is of keys that are not accepted',
    `${issuer}admin: { roles: { admin: ["key:a"] } } }\n${up}`,
    'auth.admin.roles.admin.0',
    'API keys are not accepted',
  ],
  [
    'a role is of an unknown issuer',
    `${issuer}admin: { roles: { viewer: ["https://b.example|a"] } } }\n${up}`,
    'auth.admin.roles.viewer.0',
    'known are https://a.example',
  ],
  [
    'a role has the issuer with a slash',
    `${issuer}admin: { tenants: { acme: ["https://a.example/|a"] } } }\n${up}`,
    'auth.admin.tenants.acme.0',
    'write https://a.example, as its tokens do',
  ],
  [
    'a role is of a name that each tenant may have',
    `auth: { proxy: { addresses: [10.0.0.1], userHeader: x-user, tenantHeader: x-tenant }, admin: { roles: { admin: ["omnibus:proxy|root"] } } }\n${up}`,
    'auth.admin.roles.admin.0',
    'each tenant may have somebody of that name',
  ],
  [
    'metrics name servers of other tenants',
    `auth: { keys: { file: k }, admin: { roles: { admin: ["key:a"] }, tenants: { acme: ["group:ops"] } } }\n${server('[acme]')}`,
    'auth.admin.metrics',
    'write metrics: viewer',
  ],
  [
    'a scope is for a server that is not there',
    `${issuer}scopes: [m], stepUp: [{ scope: s, for: [nope/x] }] }\n${up}`,
    'auth.stepUp.0.for',
    'matches nothing of any server',
  ],
  [
    'a scope is for an endpoint that is not there',
    `${issuer}scopes: [m], stepUp: [{ scope: s, endpoints: [nope] }] }\n${up}`,
    'auth.stepUp.0.endpoints',
    'no server and no profile "nope"',
  ],
  [
    'a scope is one that every token has',
    `${issuer}scopes: [m], stepUp: [{ scope: m, for: [up] }] }\n${up}`,
    'auth.stepUp.0.scope',
    'without effect',
  ],
  [
    'there are no tokens that have scopes',
    `auth: { keys: { file: k }, scopes: [m] }\n${up}`,
    'auth.scopes',
    'without effect',
  ],
  [
    'everybody with an account comes in',
    `${signIn('https://accounts.google.com', '')}\n${up}`,
    'auth.server.signIn.require',
    'anybody with an account at accounts.google.com',
  ],
  [
    'everybody of every organization comes in',
    `${signIn('https://login.microsoftonline.com/organizations/v2.0', '')}\n${up}`,
    'auth.server.signIn.require',
    'anybody with an account at login.microsoftonline.com',
  ],
  [
    'tokens are sent in the clear',
    `publicUrl: http://g.example\nauth: { issuers: [{ issuer: https://a.example }] }\n${up}`,
    'publicUrl',
    'in the clear',
  ],
  [
    'a group may be said by two issuers',
    `${two}\naccess: { rules: [{ who: "group:ops", allow: up }] }`,
    'access.rules.0.who',
    'group:ops may be said by each of https://a.example, https://b.example; write "group:ISSUER|ops"',
  ],
  [
    'a client is excepted, and two issuers may have it',
    `${two}\naccess: { rules: [{ who: everyone, except: { client: cli }, deny: up }] }`,
    'access.rules.0.except',
    'client:cli may be said by each of',
  ],
  [
    'a role is of a group that two issuers may say',
    `${twoIssuers}, admin: { roles: { admin: ["group:ops", "group:https://a.example|sec"] } } }\n${up}`,
    'auth.admin.roles.admin',
    'group:ops may be said by each of',
  ],
  [
    'a server is told names that two may have',
    `${issuer}keys: { file: k } }\nmcpServers: { up: { url: http://127.0.0.1:4001/mcp, headers: { X-User: "{principal.subject}" } } }`,
    'mcpServers.up.headers.X-User',
    'cannot tell equal names of https://a.example, API keys apart',
  ],
  [
    'one person may have two credentials',
    `${issuer}keys: { file: k }, admin: { roles: { approver: ["group:ops"] } } }\n${up}\naccess: { rules: [{ who: everyone, ask: up, by: approvers }] }`,
    'access.rules.0.ask',
    'callers known by https://a.example, API keys are one person',
  ],
])('it is said where %s', (_what, text, path, message) => {
  expect(identityWarnings(configOf(text)).map((warning) => [warning.path.join('.'), warning.message])).toEqual([
    [path, expect.stringContaining(message)],
  ]);
});

it.each([
  `auth: { keys: { file: k }, admin: { roles: { admin: ["key:a", "group:ops"] } } }\n${server('[acme]')}`,
  `publicUrl: https://g.example\nauth: { scopes: [m], issuers: [{ issuer: https://a.example, tenant: org }], stepUp: [{ scope: s, for: [up/pay], endpoints: [up, /mcp] }], admin: { roles: { admin: ["https://a.example|ann"] } } }\n${server('[acme]')}`,
  `publicUrl: https://g.example\nauth: { kubernetes: {}, admin: { roles: { viewer: ["https://cluster|system:serviceaccount:a:b"] } } }\n${up}`,
  `publicUrl: https://g.example\nauth: { server: { users: { file: u } }, admin: { roles: { admin: ["https://g.example|ann"] } } }\n${up}`,
  `${signIn('https://accounts.google.com', ', require: { hd: g.example }')}\n${up}`,
  `${signIn('https://login.microsoftonline.com/6b29fc40/v2.0', '')}\n${up}`,
  `publicUrl: http://127.0.0.1:7300\nauth: { issuers: [{ issuer: https://a.example }] }\n${up}`,
  up,
  `${two}\naccess: { rules: [{ who: "group:https://a.example|ops", allow: up }, { who: { user: "https://a.example|ann", group: ops }, allow: up }, { who: "group:ops", deny: up }, { who: everyone, ask: up }] }`,
  `${issuer}keys: { file: k } }\n${up}\naccess: { rules: [{ who: "group:ops", allow: up }] }`,
  `${issuer}keys: { file: k } }\nmcpServers: { up: { url: http://127.0.0.1:4001/mcp, headers: { X-User: "{principal.issuer}|{principal.subject}" } } }`,
])('nothing is said of what is right: %s', (text) => {
  expect(identityWarnings(configOf(text))).toEqual([]);
});

it('files that cannot be read, and issuers that do not answer, are found before the start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-identity-findings-'));
  await using issuing = await StandInIssuer.start();
  onTestFinished(() => rm(folder, { recursive: true }));
  const text = `publicUrl: https://g.example\nauth: { keys: { file: keys.yaml }, issuers: [{ issuer: "${issuing.issuer}" }], server: { users: { file: users.yaml } } }\n${up}`;
  const found = async (isEdge = true): Promise<readonly string[]> =>
    (await identityFindings(configOf(text), folder, isEdge)).map(({ state, text: said }) => `${state}: ${said}`);
  expect((await found())[0]).toMatch(/^bad: .*keys\.yaml is not there; make a key/);
  expect((await found(false))[0]).toMatch(/^warning: /);
  await writeFile(join(folder, 'keys.yaml'), 'keys: []\n');
  expect((await found())[0]).toMatch(/^bad: .*users\.yaml is not there; make a user/);
  await writeFile(join(folder, 'users.yaml'), 'users: []\n');
  expect(await found()).toEqual([
    'good: the files that it names can be read',
    `good: ${issuing.issuer} gives its keys`,
  ]);
  issuing.isBroken = true;
  expect((await found())[1]).toMatch(/^bad: the keys of .* cannot be had: .*it answers 500/);
});
