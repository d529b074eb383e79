/** `omnibus tokens` against an admin port that a test scripts. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { showTokens } from './tokens.ts';

let server: Server | undefined;
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  server?.close();
});

const costs = {
  endpoint: '',
  endpoints: [''],
  rows: [{ name: 'files', tools: 2, tokens: 90, slim: 80 }],
  total: { tools: 2, tokens: 90, slim: 80 },
  savings: [],
  search: 248,
  code: 590,
  bounded: 100,
  listed: { mode: 'full', isSlim: false, tools: 2, tokens: 90 },
  saved: { results: 0, tokens: 0 },
  counting: 'characters / 4',
  missing: [{ process: 'session-2', role: 'session' }],
};

it.each([false, true])('names the processes that did not answer (JSON: %s)', async (json) => {
  server = createServer((_request, response) => response.end(JSON.stringify(costs))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let [said, noticed] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((words) => ((said += String(words)), true));
  vi.spyOn(process.stderr, 'write').mockImplementation((words) => ((noticed += String(words)), true));
  await showTokens({ admin: `127.0.0.1:${(server.address() as AddressInfo).port}`, json });
  expect(noticed).toContain('not answering: session-2 (session)');
  expect(said).toContain(json ? '"process": "session-2"' : 'listing: full');
});
