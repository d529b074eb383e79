import { describe, expect, it } from 'vitest';
import { loadOptions } from './testing/config-of.ts';

function problemsOf(proxy: string): readonly string[] {
  const loaded = loadOptions(`auth: { proxy: { ${proxy} } }\nmcpServers: { a: { url: http://127.0.0.1:4001/mcp } }`);
  return 'problems' in loaded ? loaded.problems.map(({ message }) => message) : [];
}

describe('a proxy that names users', () => {
  it.each([
    '0.0.0.0/0',
    '::/0',
    '10.0.0.1", "0.0.0.0/0',
    '128.0.0.0/1',
    '8000::/1',
    '::ffff:0:0/96',
    '0:0:0:0:0:ffff:0:0/97',
  ])('cannot be at every address: %s', (addresses) => {
    expect(problemsOf(`addresses: ["${addresses}"]`)).toEqual([expect.stringContaining('not every address')]);
  });

  it('may be in a network', () => {
    for (const addresses of [
      '10.0.0.0/8',
      'fc00::/7',
      '::ffff:10.0.0.1',
      '::ffff:a00:0/104',
      'fd00::/8',
      '10.1.2.3',
      '10.0.0.0/10',
    ])
      expect(problemsOf(`addresses: ["${addresses}"]`), addresses).toEqual([]);
  });

  it.each([
    'userHeader: Authorization',
    'userHeader: x-user, groupsHeader: cookie',
    'userHeader: x-user, tenantHeader: Host',
    'userHeader: X-Forwarded-For',
  ])('does not name them in a header with credentials, or one of the protocol: %s', (headers) => {
    expect(problemsOf(`addresses: [10.1.2.3], ${headers}`)).toEqual([
      expect.stringContaining('expected a header that the proxy sets'),
    ]);
  });
});

it('a proxy names users, groups and tenants in headers of their own', () => {
  expect(problemsOf('addresses: [10.1.2.3], userHeader: X-User, groupsHeader: x-user')).toEqual([
    expect.stringContaining('one of them is named twice'),
  ]);
  expect(
    problemsOf('addresses: [10.1.2.3], userHeader: X-User, groupsHeader: x-groups, tenantHeader: x-tenant'),
  ).toEqual([]);
});

const ownServer = 'publicUrl: https://g.example\nauth: { server: { users: { file: u }, ';

it.each([
  ['publicUrl: https://g.example\nauth: { issuers: [{ issuer: login.example }] }', 'expected an https:// address'],
  ['auth: true', 'auth: expected ways for callers to prove who they are'],
  ['auth: { apiKeys: { file: k } }', 'auth.apiKeys: unknown option; write keys: { file: keys.yaml }'],
  ['auth: { none: true }', 'auth.none: unknown option; write auth: none'],
  [
    'publicUrl: https://g.example\nauth: { issuers: [{ issuer: https://a.example, audience: b }] }',
    'unknown option; write auth: { audience: [...] }, beside `issuers`',
  ],
  [
    'publicUrl: https://g.example\nauth: { issuers: [{ issuer: https://a.example/.well-known/openid-configuration }] }',
    'expected the issuer, and not the address of its metadata',
  ],
  ['publicUrl: https://g.example\nauth: { issuers: [{ issuer: "https://a.example/?tenant=b" }] }', 'no "?" and no "#"'],
  ['auth: { keys: { file: k } }\nprofiles: { p: { tenants: ["acme "] } }', 'without blanks around it'],
  ['auth: { keys: { file: k } }\nprofiles: { p: { tenants: ["*"] } }', '"*" stands for no other'],
  [
    `${ownServer}clients: [{ id: a, redirectUris: ["http://evil.example/back"] }] } }`,
    'auth.server.clients[0].redirectUris[0]: a redirect URI with http:// must be a loopback address',
  ],
  [`${ownServer}clients: [{ id: a, redirectUris: ["https://a.example/#x"] }] } }`, 'a redirect URI has a fragment'],
  [
    `${ownServer}clients: [{ id: a, redirectUris: ["a:/b"] }, { id: a, redirectUris: ["a:/b"] }] } }`,
    'the same client is listed twice',
  ],
  [
    `${ownServer}clients: [{ id: omnibus-account, redirectUris: ["a:/b"] }] } }`,
    'is the client id of the page /account',
  ],
  [`${ownServer}clients: [{ id: "söme", redirectUris: ["a:/b"] }] } }`, 'expected letters, digits'],
  [
    `${ownServer}signIn: { issuer: https://a.example, clientId: a, scopes: [profile] } } }`,
    'expected `openid` among the scopes',
  ],
  [
    `${ownServer}signIn: { issuer: https://github.com, clientId: a } } }`,
    'github.com has no OpenID Connect: write `oauth`',
  ],
  [`${ownServer}}, admin: { clientId: console } }`, 'auth.admin.clientId: the console signs in at the gateway itself'],
  [
    'auth: { keys: { file: k }, admin: { clientId: console } }',
    'auth.admin.clientId: the console signs in nowhere: name `issuers`',
  ],
  ['tenants: { acme: {} }', 'tenants: unknown option; write `tenants` under a server or profile'],
])('a mistake is refused with what to write instead: %s', (text, message) => {
  const loaded = loadOptions(`${text}\nmcpServers: { a: { url: http://127.0.0.1:4001/mcp } }`);
  expect(
    'problems' in loaded
      ? loaded.problems.map((problem) => `${problem.path ?? ''}: ${problem.message}`).join('\n')
      : 'none',
  ).toContain(message);
});

it.each([
  ['https://MCP.Example.com:443', 'https://mcp.example.com'],
  ['HTTPS://mcp.example.com/', 'https://mcp.example.com'],
  ['https://mcp.łódź.example', 'https://mcp.xn--d-uga0v4h.example'],
  ['https://mcp.example.com:8443', 'https://mcp.example.com:8443'],
])(
  'the address of the gateway is what clients make of it, so that it can stand in a header: %s',
  (publicUrl, expected) => {
    const loaded = loadOptions(`publicUrl: ${publicUrl}\nmcpServers: {}`);
    expect('problems' in loaded ? loaded.problems : loaded.config.publicUrl).toBe(expected);
  },
);

it('hosts and origins are what browsers send, however they were written', () => {
  const securityOf = (text: string): unknown => {
    const loaded = loadOptions(`security: ${text}\nmcpServers: {}`);
    return 'problems' in loaded ? loaded.problems.map(({ message }) => message) : loaded.config.security;
  };
  expect(
    securityOf(
      '{ allowedHosts: ["MCP.Example.com:443", "https://mcp.example.com/", "[::1]:7300", "::1", "łódź.example", "*", "10.0.0.1"] }',
    ),
  ).toMatchObject({
    allowedHosts: ['mcp.example.com', 'mcp.example.com', '[::1]', '[::1]', 'xn--d-uga0v4h.example', '*', '10.0.0.1'],
  });
  expect(
    securityOf(
      '{ allowedOrigins: ["https://App.example.com/", "https://app.example.com:443", "http://localhost:5173", "*", "vscode-webview://abc", "null"] }',
    ),
  ).toMatchObject({
    allowedOrigins: [
      'https://app.example.com',
      'https://app.example.com',
      'http://localhost:5173',
      '*',
      'vscode-webview://abc',
      'null',
    ],
  });
  for (const host of ['a b', '', 'mcp.example.com/mcp', '*.example.com'])
    expect(securityOf(`{ allowedHosts: [${JSON.stringify(host)}] }`), host).toEqual([
      expect.stringContaining('expected a host name'),
    ]);
  for (const origin of ['app.example.com', 'https://app.example.com/page', 'https://*.example.com', ''])
    expect(securityOf(`{ allowedOrigins: [${JSON.stringify(origin)}] }`), origin).toEqual([
      expect.stringContaining('expected an origin'),
    ]);
});

it('the gateway itself is no issuer whose tokens it could accept, unless it runs an authorization server', () => {
  const loaded = loadOptions(
    'publicUrl: https://mcp.example.com\nauth: { issuers: [{ issuer: "https://mcp.example.com/" }] }\nmcpServers: {}',
  );
  expect('problems' in loaded ? loaded.problems.map(({ message }) => message) : []).toEqual([
    expect.stringContaining('`publicUrl` is the gateway itself'),
  ]);
});
