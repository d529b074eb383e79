import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { consoleSite, issuersOf } from './console-site.ts';

let folder: string;
let server: Server;
let isShown = true;
let isBuilt = true;
const script = 'console.log("page");'.repeat(100);

beforeEach(async () => {
  isShown = true;
  isBuilt = true;
  folder = `${mkdtempSync(join(tmpdir(), 'omnibus-page-'))}/`;
  mkdirSync(`${folder}assets`);
  writeFileSync(`${folder}index.html`, '<!doctype html>');
  writeFileSync(`${folder}assets/main-abc.js`, script);
  writeFileSync(`${folder}assets/main-abc.js.br`, brotliCompressSync(script));
  writeFileSync(`${folder}secret.txt`, 'secret');
  const sites = { built: consoleSite(() => isShown, folder), missing: consoleSite(() => isShown, undefined) };
  server = createServer(
    (asked, response) =>
      void sites[isBuilt ? 'built' : 'missing'].serve(asked, response, (asked.url ?? '/').split('?', 1)[0] as string),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

async function ask(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<{
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}> {
  const asked = request({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    path,
    headers,
    method,
    agent: false,
  }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

it('the page is asked for anew each time, its files never again, compressed for whoever takes that', async () => {
  const page = await ask('/');
  expect(page).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  });
  expect((await ask('/', { 'if-none-match': page.headers.etag as string })).status).toBe(304);
  const plain = await ask('/assets/main-abc.js');
  expect(plain).toMatchObject({
    status: 200,
    headers: {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    },
  });
  expect(plain.body.toString()).toBe(script);
  const small = await ask('/assets/main-abc.js', { 'accept-encoding': 'gzip, br;q=0.8' });
  expect(small.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(small.body).toString()).toBe(script);
  expect(
    (await ask('/assets/main-abc.js', { 'accept-encoding': 'br;q=0' })).headers['content-encoding'],
  ).toBeUndefined();
  expect((await ask('/', {}, 'HEAD')).body.length).toBe(0);
});

it('every answer forbids scripts of others, markup made of text, frames and guesses of types', async () => {
  for (const path of ['/', '/assets/main-abc.js', '/assets/none.js', '/console']) {
    const { headers } = await ask(path);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
    );
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['set-cookie']).toBeUndefined();
  }
});

it('nothing but the files of the page can be had, and it is changed by nobody', async () => {
  for (const path of [
    '/assets/../secret.txt',
    '/assets/..%2fsecret.txt',
    '/secret.txt',
    '/assets/',
    '/assets/main-abc.js.br',
    '/assets/__proto__',
  ])
    expect((await ask(path)).status).toBe(404);
  expect(await ask('/', {}, 'POST')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});

it('/console leads to the page, under whatever prefix it is served', async () => {
  const { covers } = consoleSite(() => true, folder);
  expect(['/console', '/console/', '/console/x', '/Console'].map((path) => covers(path))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(await ask('/console')).toMatchObject({ status: 302, headers: { location: './' } });
  expect(await ask('/console/')).toMatchObject({ status: 302, headers: { location: '../' } });
});

it('where the configuration wants no console, there is none, and where none is built, that is said', async () => {
  isShown = false;
  expect((await ask('/')).status).toBe(404);
  [isShown, isBuilt] = [true, false];
  expect(await ask('/')).toMatchObject({ status: 503 });
});

it('the page may send requests to those alone who give tokens for the port, besides its own', () => {
  const originsOf = (auth: object | undefined, publicUrl = 'https://mcp.example.com'): readonly string[] =>
    issuersOf({ auth, publicUrl } as Parameters<typeof issuersOf>[0]);
  const issuers = [{ issuer: 'https://login.example.com/realms/acme' }];
  expect(originsOf({ issuers, server: {}, admin: {} })).toEqual([
    'https://mcp.example.com',
    'https://login.example.com',
  ]);
  expect(originsOf({ issuers, admin: {} })).toEqual(['https://mcp.example.com', 'https://login.example.com']);
  expect([originsOf({ issuers }), originsOf({ issuers: [], admin: {} }), originsOf(undefined)]).toEqual([[], [], []]);
});
