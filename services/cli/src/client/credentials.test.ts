/** Which credentials a command sends: those that are nearest to the person that runs it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { KeptTokens } from '../sign-in/kept-tokens.ts';
import { credentials } from './open.ts';

const url = 'http://127.0.0.1:1/mcp';
let folder: string;
let tokens: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-credentials-'));
  tokens = join(folder, 'tokens.json');
  await new KeptTokens(tokens).change(url, () =>
    Promise.resolve({ issuer: 'http://127.0.0.1:1', clientId: 'omnibus', accessToken: 'signed-in' }),
  );
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

it.each([
  ['a header', 'variable', ['Authorization: Bearer header'], { Authorization: 'Bearer header' }],
  ['OMNIBUS_TOKEN', 'variable', ['x-team: a'], { 'x-team': 'a', authorization: 'Bearer variable' }],
  ['a sign-in, where the variable is empty', '', [], { authorization: 'Bearer signed-in' }],
])('%s comes first', async (_what, variable, header, expected) => {
  vi.stubEnv('OMNIBUS_TOKEN', variable);
  expect(await credentials({ header, tokens }, url)).toEqual(expected);
});
