/** The file of tokens: under which address tokens are found, and what becomes of the file and its lock. */
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { KeptTokens, type Kept } from './kept-tokens.ts';

const kept: Kept = { issuer: 'https://mcp.example.com', clientId: 'c', accessToken: 'a' };
const address = 'https://mcp.example.com/mcp';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'omnibus-tokens-'));
  path = join(folder, 'tokens.json');
});

afterEach(() => rmSync(folder, { recursive: true }));

const gatewaysIn = (file: string): readonly string[] =>
  Object.keys((JSON.parse(readFileSync(file, 'utf8')) as { readonly gateways: object }).gateways);

it.each([address, `${address}/`, 'HTTPS://MCP.example.com/mcp', 'https://mcp.example.com:443/mcp', `${address}#top`])(
  'who has signed in at a gateway is found when it is called %s',
  async (typed) => {
    const tokens = new KeptTokens(path);
    await tokens.change(address, () => Promise.resolve(kept));
    expect(tokens.find(typed)).toEqual(kept);
    await tokens.change(typed, () => Promise.resolve({ ...kept, accessToken: 'b' }));
    expect([
      gatewaysIn(path),
      tokens.find(address)?.accessToken,
      tokens.find('https://mcp.example.com/mcp/github'),
    ]).toEqual([[address], 'b', undefined]);
  },
);

it.each(['mcp.example.com/mcp', 'localhost:7300/mcp', 'ws://mcp.example.com/ws', 'nonsense'])(
  '%s is said to be no address of a gateway',
  (typed) => {
    expect(() => new KeptTokens(path).find(typed)).toThrow(
      expect.objectContaining({
        exit: 'usage',
        message: expect.stringContaining('such as https://mcp.example.com/mcp') as string,
      }),
    );
  },
);

it.each(['https://ann:hunter2@mcp.example.com/mcp', 'ann:hunter2@mcp.example.com/mcp'])(
  'a password in an address is refused, and not repeated: %s',
  (typed) => {
    expect(() => new KeptTokens(path).find(typed)).toThrow(
      expect.objectContaining({ exit: 'usage', message: expect.not.stringContaining('hunter2') as string }),
    );
  },
);

it('a symbolic link to the file stays one', async () => {
  const target = join(folder, 'elsewhere.json');
  writeFileSync(target, '{"gateways":{}}', { mode: 0o600 });
  symlinkSync(target, path);
  await new KeptTokens(path).change(address, () => Promise.resolve(kept));
  expect([lstatSync(path).isSymbolicLink(), gatewaysIn(target), lstatSync(target).mode & 0o777]).toEqual([
    true,
    [address],
    0o600,
  ]);
});

it('the lock of a program that was killed keeps nobody waiting, and that of a program that works is respected', async () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(`${path}.lock`, JSON.stringify({ host: hostname(), pid, id: 'gone' }));
  const order: string[] = [];
  const tokens = new KeptTokens(path);
  let finish: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begun: () => void = () => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const first = tokens.change(address, async () => {
    begun();
    await waiting;
    order.push('first');
    return kept;
  });
  await hasBegun;
  const second = new KeptTokens(path).change(address, (before) => {
    order.push(`second after ${before?.accessToken ?? 'nothing'}`);
    return Promise.resolve(before);
  });
  finish();
  await Promise.all([first, second]);
  expect([order, existsSync(`${path}.lock`)]).toEqual([['first', 'second after a'], false]);
});

it('a file that is a folder, or no file of tokens, is named', () => {
  expect(() => new KeptTokens(folder).find(address)).toThrow(`${folder} cannot be read: it is a folder`);
  writeFileSync(path, '{');
  expect(() => new KeptTokens(path).find(address)).toThrow(`${path} is no file of tokens`);
});
