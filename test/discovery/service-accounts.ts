/** Service accounts as callers: their tokens are reviewed by a real API server (TokenReview). */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { clusterIssuer, type ApiServer, type KubernetesObject } from '../support/api-server.ts';
import { startGateway } from '../support/gateway.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const audience = 'https://mcp.example.com/mcp';
const account = (namespace: string, name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { namespace, name },
});

export async function serviceAccountsAsCallers(api: ApiServer): Promise<void> {
  for (const name of ['callers-a', 'callers-b']) {
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await api.create(account(name, 'agent'));
  }
  await api.create(account('callers-a', 'gone'));
  await api.create(account('omnibus', 'reviewer'));
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-reviewer-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, 'token');
  await writeFile(tokenFile, await api.tokenOf('omnibus', 'reviewer'));
  const upstream = stack.use(
    await Upstream.start({ tools: ['look', 'change', 'own'].map(tool), onCall: (call) => call.answer(text('done')) }),
  );
  const gateway = stack.use(
    await startGateway('embedded', {
      mcpServers: { up: { url: upstream.url } },
      auth: {
        audience: [audience],
        kubernetes: { issuer: clusterIssuer, apiServer: api.address, caFile: api.authorityFile, tokenFile },
      },
      access: {
        rules: [
          { id: 'all', who: 'group:system:serviceaccounts', allow: ['up/look'] },
          { id: 'team', who: 'group:system:serviceaccounts:callers-a', allow: ['up/change'] },
          { id: 'one', who: `user:${clusterIssuer}|system:serviceaccount:callers-b:agent`, allow: ['up/own'] },
        ],
      },
    }),
  );
  const headersOf = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });
  const statusOf = async (token: string): Promise<number> =>
    (await new RawClient(gateway.url, headersOf(token)).post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status;
  const ours = await api.tokenOf('callers-a', 'agent', audience);

  // The gateway may not review tokens yet: that is its own trouble, and no caller's.
  expect(await statusOf(ours)).toBe(503);
  await api.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'reviewer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:auth-delegator' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'omnibus', name: 'reviewer' }],
  } as KubernetesObject);
  await expect.poll(() => statusOf(ours)).not.toBe(503);

  const offeredTo = async (token: string): Promise<readonly string[]> => {
    using client = await RawClient.open(gateway.url, '2025-11-25', headersOf(token));
    return await client.untilTools((names) => names.length > 1);
  };
  expect(await offeredTo(ours)).toEqual(['look', 'change']);
  expect(await offeredTo(await api.tokenOf('callers-b', 'agent', audience))).toEqual(['look', 'own']);
  using client = await RawClient.open(gateway.url, '2025-11-25', headersOf(ours));
  expect((await client.callTool('change')).last.result).toEqual(text('done'));
  expect((await client.callTool('own')).last.error).toBeDefined();

  // For another audience, of a deleted account, and changed by one character.
  const ended = await api.tokenOf('callers-a', 'gone', audience);
  await api.delete(account('callers-a', 'gone'));
  for (const token of [
    await api.tokenOf('callers-a', 'agent'),
    ended,
    `${ours.slice(0, -2)}${ours.endsWith('AA') ? 'BB' : 'AA'}`,
  ])
    expect(await statusOf(token)).toBe(401);
}
