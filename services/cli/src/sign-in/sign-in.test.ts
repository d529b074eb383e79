/** Output that an unknown authorization server can cause on a terminal. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { signIn } from './sign-in.ts';

const escapes = '\u001B]0;mine\u0007\u001B[31m\u202Ered';

/** A gateway that is also an authorization server. @param issuers that it names; default: itself. */
async function serve(issuers?: readonly string[]): Promise<string> {
  const server = createServer((request, response) => {
    const json = (status: number, value: object, headers: Readonly<Record<string, string>> = {}): unknown =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    request.resume();
    switch (request.url) {
      case '/mcp':
        return json(401, {}, { 'www-authenticate': 'Bearer' });
      case '/.well-known/oauth-protected-resource/mcp':
        return json(200, { resource: `${origin}/mcp`, authorization_servers: issuers ?? [origin] });
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: origin,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          device_authorization_endpoint: `${origin}/device`,
          response_types_supported: ['code'],
          authorization_endpoint: `${origin}/authorize`,
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
        });
      case '/register':
        return json(201, { client_id: 'one', redirect_uris: [] });
      case '/device':
        return json(200, {
          device_code: 'device',
          user_code: `ABCD${escapes}`,
          verification_uri: `https://login.example/${escapes}`,
          expires_in: 60,
          interval: 0.01,
        });
      case '/token':
        return json(400, { error: 'access_denied', error_description: escapes });
      default:
        return json(404, {});
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return `${origin}/mcp`;
}

it.each([
  [
    'of another issuer',
    { iss: 'https://other.example' },
    'the browser came back from "https://other.example", and not from http://127.0.0.1',
  ],
  [
    'of another issuer that refuses',
    { iss: 'https://other.example', error: 'access_denied' },
    'the browser came back from "https://other.example", and not from http://127.0.0.1',
  ],
  ['without an issuer, where it always names itself', {}, 'the browser came back without the name of the issuer (iss)'],
] as const)('an answer %s is not used, and said to be that', async (_what, answer, message) => {
  const say = (text: string): void => {
    const asked = new URL(/http\S+$/.exec(text)?.[0] ?? '').searchParams;
    const back = new URL(asked.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({ code: 'one', state: asked.get('state') ?? '', ...answer }).toString();
    void fetch(back);
  };
  await expect(signIn({ url: await serve(), usesDevice: false, opensBrowser: false, say })).rejects.toThrow(message);
});

it('the address and the code for the user are printed without control characters', async () => {
  const said: string[] = [];
  await expect(
    signIn({ url: await serve(), usesDevice: true, opensBrowser: false, say: (text) => said.push(text) }),
  ).rejects.toThrow('access_denied');
  expect(said).toEqual([expect.stringMatching(/^open https:\/\/login\.example\/.*red anywhere and type ABCD.*red$/)]);
  for (const sign of ['\u001B', '\u0007', '\u202E']) expect(said.join('')).not.toContain(sign);
});

it.each([403, 404, 405, 410, 500, 503])('an address that answers %i is not said to need no sign-in', async (status) => {
  const server = createServer((request, response) =>
    request.resume().on('end', () => response.writeHead(status).end()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  await expect(signIn({ url, usesDevice: false, opensBrowser: false, say: () => undefined })).rejects.toThrow(
    `${url} answers HTTP ${status}`,
  );
});

it.each(['nonsense', 'http://login.example', 'file:///etc'])(
  'an issuer %s, which is no https:// address, is said to be none',
  async (issuer) => {
    await expect(
      signIn({ url: await serve([issuer]), usesDevice: false, opensBrowser: false, say: () => undefined }),
    ).rejects.toThrow(`names ${JSON.stringify(issuer)} as the place to sign in, which is no https:// address`);
  },
);

it.each([
  ['that refuses its user', 'forbidden', { usesDevice: true }],
  ['that cannot be reached', 'unreachable', { issuers: ['http://127.0.0.1:2'] }],
  ['that nobody names', 'forbidden', { issuers: [] }],
] as const)(
  'a script learns from the kind of failure what is wrong: an issuer %s',
  async (
    _what,
    exit,
    { usesDevice = false, issuers }: { readonly usesDevice?: boolean; readonly issuers?: readonly string[] },
  ) => {
    await expect(
      signIn({ url: await serve(issuers), usesDevice, opensBrowser: false, say: () => undefined }),
    ).rejects.toMatchObject({ exit });
  },
);
