import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { Config } from '@omnibus/config';
import { configOf } from '@omnibus/config/testing';
import { Authenticator } from '@omnibus/identity';
import { StandInIssuer } from '@omnibus/identity/testing';
import { createLogger, Faults, Metrics, type AdminAct } from '@omnibus/telemetry';
import { AdminAccess } from './access.ts';

const publicUrl = 'https://mcp.example.com';
const admins = { roles: { admin: ['group:admins'] } };

const configWith = (auth: object): Config => configOf({ publicUrl, auth });

it('a token without the scope is told which it lacks, and administers nothing either while its issuer has left the configuration and is believed until the restart', async () => {
  const issuer = await StandInIssuer.start();
  let config = configWith({ issuers: [{ issuer: issuer.issuer }], scopes: ['mcp'], admin: admins });
  const { auth } = config;
  const authenticator = await Authenticator.open({
    issuers: auth === undefined || auth === 'none' ? [] : auth.issuers,
    resource: { publicUrl, audience: [], scopes: ['mcp'] },
    warn: () => undefined,
  });
  const metrics = new Metrics({ processMetrics: false });
  const access = new AdminAccess({
    config: () => config,
    authenticator: () => authenticator,
    recovery: undefined,
    audit: () => undefined,
    metrics,
    faults: new Faults({ metrics, log: createLogger({ level: 'silent', format: 'json' }) }),
  });
  const act: AdminAct = 'keys.change';
  const http = createServer((request, response) => {
    access.guard(request, '/keys', act).then(
      (refusal) => response.writeHead(refusal?.status ?? 200, refusal?.headers).end(refusal?.text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await authenticator.close();
    await issuer[Symbol.asyncDispose]();
  });
  const ask = async (scope: string, more: object = {}): Promise<readonly [number, string, string?]> => {
    const token = await issuer.token({ sub: 'ann', aud: `${publicUrl}/mcp`, groups: ['admins'], scope, ...more });
    const answer = await fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const challenge = answer.headers.get('www-authenticate');
    const [status, text] = [answer.status, await answer.text()] as const;
    return challenge === null ? [status, text] : [status, text, challenge];
  };
  expect(await ask('mcp mcp:admin')).toEqual([200, '']);
  const place = `Bearer resource_metadata="${publicUrl}/.well-known/oauth-protected-resource/mcp", scope="mcp mcp:admin"`;
  const lacking = [
    403,
    expect.stringContaining('lacks the scope mcp:admin'),
    expect.stringMatching(new RegExp(`^${place}, error="insufficient_scope", error_description="[^"]+"$`)),
  ];
  expect(await ask('mcp')).toEqual(lacking);
  // A request for the scopes of the challenge gets all required ones.
  expect(await ask('mcp:admin')).toEqual([
    403,
    expect.stringContaining('lacks the scope mcp'),
    expect.stringContaining(`${place}, error="insufficient_scope"`),
  ]);
  expect(await ask('mcp mcp:admin', { exp: 1 })).toEqual([
    401,
    expect.stringContaining('has expired'),
    expect.stringContaining(`${place}, error="invalid_token"`),
  ]);
  config = configWith({ keys: { file: 'keys.yaml' }, admin: admins });
  expect((await ask('mcp')).slice(0, 2)).toEqual(lacking.slice(0, 2));
});
