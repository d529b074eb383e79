import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { addServer, type AddServerOptions } from './servers.ts';

let folder: string;
let said: string;
beforeEach(() => {
  // A command that fails ends its process after a second.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  folder = mkdtempSync(join(tmpdir(), 'omnibus-add-'));
  said = '';
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      said += String(text);
      return true;
    });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  process.exitCode = undefined;
  rmSync(folder, { recursive: true });
});

/** @returns the file that the command wrote; undefined where it wrote none. */
async function added(words: readonly string[], options: Partial<AddServerOptions> = {}): Promise<string | undefined> {
  const config = join(folder, 'new.json');
  await addServer('one', words, { config, yes: true, try: false, ...options } as AddServerOptions);
  try {
    return readFileSync(config, 'utf8');
  } catch {
    return undefined;
  }
}

it('an address is one in capitals too, and one of another scheme is refused', async () => {
  expect(JSON.parse((await added(['HTTPS://example.com/mcp'])) ?? '')).toEqual({
    mcpServers: { one: { url: 'HTTPS://example.com/mcp' } },
  });
  rmSync(join(folder, 'new.json'));
  expect(await added(['ftp://example.com/mcp'])).toBeUndefined();
  expect(said).toContain('mcpServers.one.url: expected an http://');
});

it('a program that serves an address is written with both', async () => {
  expect(JSON.parse((await added(['node', 'serve.js'], { url: 'http://127.0.0.1:1/mcp' })) ?? '')).toEqual({
    mcpServers: { one: { url: 'http://127.0.0.1:1/mcp', command: 'node', args: ['serve.js'] } },
  });
});

it('an HTTP API is added by its document, which is named from the folder of the configuration', async () => {
  const openapi = join(folder, 'apis', 'pets.yaml');
  expect(JSON.parse((await added([], { openapi, header: ['X-Key: ${KEY}'] })) ?? '')).toEqual({
    mcpServers: { one: { openapi: 'apis/pets.yaml', headers: { 'X-Key': '${KEY}' } } },
  });
  expect(JSON.parse((await added(['http://h/v1'], { openapi: 'https://h/openapi.json' })) ?? '')).toEqual({
    mcpServers: { one: { openapi: 'https://h/openapi.json', url: 'http://h/v1' } },
  });
});

it('a header for a program and a second address are refused, since neither would be written', async () => {
  expect(await added(['node', 'serve.js'], { header: ['Authorization: Bearer x'] })).toBeUndefined();
  expect(said).toContain('--header is for a server at an address');
  expect(await added(['http://127.0.0.1:2/mcp'], { url: 'http://127.0.0.1:1/mcp' })).toBeUndefined();
  expect(said).toContain('there are two addresses');
});

it('a secret that is given goes into a file that only its owner can read, and a reference stays one', async () => {
  const text = await added(['https://example.com/mcp'], {
    header: ['Authorization: Bearer abc', 'X-Api-Key: ${MY_KEY}', 'X-Team: red'],
  });
  expect(JSON.parse(text ?? '')).toMatchObject({
    mcpServers: {
      one: {
        headers: {
          Authorization: expect.stringMatching(/^\$\{file:.*new\.secrets\/one-Authorization\}$/) as string,
          'X-Api-Key': '${MY_KEY}',
          'X-Team': 'red',
        },
      },
    },
  });
  const file = join(folder, 'new.secrets', 'one-Authorization');
  expect(readFileSync(file, 'utf8')).toBe('Bearer abc\n');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(said).toMatch(/a secret goes into .*one-Authorization, readable by you only; to take it from the environment/);
  expect(said).not.toContain('Bearer abc');
});

it('a server that is added again with another secret gets it, although the configuration stays as it is', async () => {
  const secret = join(folder, 'new.secrets', 'one-Authorization');
  const text = await added(['https://example.com/mcp'], { header: ['Authorization: Bearer first'] });
  expect(await added(['https://example.com/mcp'], { header: ['Authorization: Bearer second'] })).toBe(text);
  expect(readFileSync(secret, 'utf8')).toBe('Bearer second\n');
  expect(said).toContain('omnibus reload');
  said = '';
  await added(['https://example.com/mcp'], { header: ['Authorization: Bearer second'] });
  expect(said).toContain('has that already');
  expect(said).not.toContain('a secret goes into');
});
