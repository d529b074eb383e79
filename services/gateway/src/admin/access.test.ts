import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig, type Config } from '@omnibus/config';
import { Authenticator } from '@omnibus/identity';
import { StandInIssuer } from '@omnibus/identity/testing';
import { createLogger, Faults, Metrics, type AdminAct } from '@omnibus/telemetry';
import { AdminAccess } from './access.ts';

const publicUrl = 'https://mcp.example.com';
const admins = { roles: { admin: ['group:admins'] } };

function configOf(auth: object): Config {
  const loaded = loadConfig({ file: 'test', text: JSON.stringify({ publicUrl, auth }), env: {}, readFile: () => '' });
  return 'config' in loaded ? loaded.config : expect.fail(JSON.stringify(loaded.problems));
}

it('a token without the scope administers nothing either while its issuer has left the configuration and is believed until the restart', async () => {
  const issuer = await StandInIssuer.start();
  let config = configOf({ issuers: [{ issuer: issuer.issuer }], admin: admins });
  const { auth } = config;
  const authenticator = await Authenticator.open({ issuers: auth === undefined || auth === 'none' ? [] : auth.issuers, resource: { publicUrl, audience: [], scopes: [] }, warn: () => undefined });
  const metrics = new Metrics({ processMetrics: false });
  const access = new AdminAccess({ config: () => config, authenticator: () => authenticator, recovery: undefined, audit: () => undefined, metrics, faults: new Faults({ metrics, log: createLogger({ level: 'silent', format: 'json' }) }) });
  const act: AdminAct = 'keys.change';
  const http = createServer((request, response) => {
    access.guard(request, '/keys', act).then((refusal) => response.writeHead(refusal?.status ?? 200).end(refusal?.text), (error: unknown) => response.writeHead(500).end(String(error)));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    http.closeAllConnections();
    http.close();
    await authenticator.close();
    await issuer[Symbol.asyncDispose]();
  });
  const ask = async (scope: string): Promise<readonly [number, string]> => {
    const token = await issuer.token({ sub: 'ann', aud: `${publicUrl}/mcp`, groups: ['admins'], scope });
    const answer = await fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, { headers: { authorization: `Bearer ${token}` } });
    return [answer.status, await answer.text()];
  };
  expect(await ask('mcp mcp:admin')).toEqual([200, '']);
  expect(await ask('mcp')).toEqual([403, expect.stringContaining('lacks the scope mcp:admin')]);
  config = configOf({ keys: { file: 'keys.yaml' }, admin: admins });
  expect(await ask('mcp')).toEqual([403, expect.stringContaining('lacks the scope mcp:admin')]);
});
