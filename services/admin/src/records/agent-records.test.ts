import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { addAgent, readAgents, rotateAgent } from './agent-records.ts';

const hourMs = 3_600_000;
let file: string;

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-agents-'));
  file = join(folder, 'agents.yaml');
  return () => rm(folder, { recursive: true });
});

const newKey = (): JsonWebKey => generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const add = (keys?: readonly JsonWebKey[]): Promise<string | undefined> =>
  addAgent(file, { name: 'one', owner: 'ann', groups: [], scopes: [], keys });

it('a key that is kept beside its successor ends in time, and no later at the next change', async () => {
  const [first, second, third] = [newKey(), newKey(), newKey()];
  await add([first]);
  await rotateAgent(file, 'one', { keepMs: hourMs, keys: [second] });
  await rotateAgent(file, 'one', { keepMs: 24 * hourMs, keys: [third] });
  const [agent] = readAgents(file);
  const latest = Date.now() + hourMs;
  expect(agent?.keys.map(({ x }) => x)).toEqual([third.x, second.x, first.x]);
  expect(agent?.keys.map(({ until }) => (until === undefined ? 'open' : Date.parse(until) <= latest))).toEqual([
    'open',
    false,
    true,
  ]);
});

it('a secret does not stay beside a key, nor a key beside a secret', async () => {
  await add();
  await expect(rotateAgent(file, 'one', { keepMs: hourMs, keys: [newKey()] })).rejects.toThrow(/secret and a key/);
  await rotateAgent(file, 'one', { keepMs: 0, keys: [newKey()] });
  await expect(rotateAgent(file, 'one', { keepMs: hourMs, keys: [] })).rejects.toThrow(/secret and a key/);
  expect(readAgents(file)[0]).toMatchObject({ secrets: [], keys: [{ kty: 'OKP' }], round: 1 });
});
