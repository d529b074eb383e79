/** The token of a program that runs for long: its requests after a suspension of its machine, and after a revocation. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { KeptTokens, type Kept } from './kept-tokens.ts';
import { SignedIn } from './session.ts';

const url = 'https://gateway.example/mcp';

let server: Server;
let folder: string;
let tokens: KeptTokens;
/** Refresh tokens that the authorization server has received. */
let brought: string[];
let isBroken: boolean;
let problems: string[];
let signedIn: SignedIn | undefined;

/** Signs in with a token that is valid for an hour. */
async function signIn(): Promise<SignedIn> {
  const kept: Kept = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: 'c',
    accessToken: 'first',
    refreshToken: 'r0',
    expiresAt: Date.now() + 3_600_000,
  };
  await tokens.change(url, () => Promise.resolve(kept));
  signedIn = new SignedIn(tokens, url, kept, (problem) => problems.push(problem));
  return signedIn;
}

beforeEach(async () => {
  [brought, problems, isBroken] = [[], [], false];
  server = createServer((request, response) => {
    void (async (): Promise<void> => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const answer = (status: number, value: object): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
      const issuer = `http://${request.headers.host ?? ''}`;
      if (request.url === '/.well-known/oauth-authorization-server')
        return answer(200, { issuer, token_endpoint: `${issuer}/token` });
      if (request.url !== '/token' || isBroken) return answer(503, {});
      brought.push(new URLSearchParams(body).get('refresh_token') ?? '');
      return answer(200, {
        access_token: `fresh-${brought.length}`,
        token_type: 'bearer',
        refresh_token: `r${brought.length}`,
        expires_in: 3_600,
      });
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  folder = await mkdtemp(join(tmpdir(), 'omnibus-session-'));
  tokens = new KeptTokens(join(folder, 'tokens.json'));
  vi.useFakeTimers({ toFake: ['Date'] });
});

afterEach(async () => {
  signedIn?.close();
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

it('a request after a suspension beyond the expiry of its token waits for a new one, which is requested once', async () => {
  const { authorization } = await signIn();
  expect(authorization()).toBe('Bearer first');
  vi.setSystemTime(Date.now() + 7_200_000);
  expect(await Promise.all([authorization(), authorization(), authorization()])).toEqual(
    Array.from({ length: 3 }, () => 'Bearer fresh-1'),
  );
  expect([brought, authorization()]).toEqual([['r0'], 'Bearer fresh-1']);
});

it('if no new token can be had, requests carry the expired one without waiting, and the problem is reported once', async () => {
  const { authorization } = await signIn();
  isBroken = true;
  vi.setSystemTime(Date.now() + 7_200_000);
  expect(await authorization()).toBe('Bearer first');
  expect(authorization()).toBe('Bearer first');
  expect(problems).toHaveLength(1);
});

it('a token that the gateway refuses is refreshed, or replaced by the one that another program has obtained meanwhile', async () => {
  const { authorization, refused } = await signIn();
  refused();
  refused();
  await expect.poll(authorization).toBe('Bearer fresh-1');
  const other = await signIn();
  await tokens.change(url, (before) =>
    Promise.resolve(before === undefined ? undefined : { ...before, accessToken: 'of-another-program' }),
  );
  other.refused();
  await expect.poll(other.authorization).toBe('Bearer of-another-program');
  expect(brought).toEqual(['r0']);
});
