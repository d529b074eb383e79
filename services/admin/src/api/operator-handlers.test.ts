import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Audit, AuditEvent } from '@omnibus/audit';
import { createLogger, Faults, Metrics, type Logger } from '@omnibus/telemetry';
import { AdminAccess } from '../access.ts';
import { Recovery, recoveryProof } from '../recovery.ts';
import { operatorHandlers } from './operator-handlers.ts';
import { loadedFrom } from '@omnibus/config/testing';

it('who has tried to recover the port without the key has done nothing, is counted and on record as refused, and has one line in the log however often he tries', async () => {
  const key = randomBytes(32);
  const loaded = loadedFrom('{}');
  const [metrics, recovery] = [new Metrics({ processMetrics: false }), new Recovery([key])];
  const lines: string[] = [];
  const log: Logger = Object.assign(createLogger({ level: 'silent', format: 'json' }), {
    warn: (_details: object, what: string) => void lines.push(what),
  });
  const faults = new Faults({ log, metrics });
  const config = (): typeof loaded.config => loaded.config;
  const recorded: AuditEvent[] = [];
  const audit = (): Audit => ({
    isStrict: false,
    wantsResults: true,
    wants: () => true,
    record: (event) => void recorded.push(event),
    confirm: () => Promise.resolve(true),
  });
  const access = new AdminAccess({ config, authenticator: () => undefined, recovery, metrics, faults, audit });
  const { recover } = operatorHandlers({
    config,
    baseFolder: '/',
    access,
    recovery,
    metrics,
    log,
    faults,
    audit,
    note: () => undefined,
    keyUses: () => Promise.resolve(new Map()),
    reload: () => Promise.resolve({ problems: [], later: [] }),
  });
  const recoveredWith = async (proofKey: Buffer): Promise<unknown> => {
    const question = recovery.question();
    return recover({
      request: { socket: new Socket(), headers: {} } as IncomingMessage,
      response: {} as ServerResponse,
      given: '',
      query: {},
      body: { question, proof: recoveryProof(proofKey, question) },
    });
  };
  for (let count = 0; count < 20; count += 1)
    await expect(recoveredWith(randomBytes(32))).rejects.toMatchObject({ reason: 'forbidden' });
  expect(lines).toEqual(['somebody tried to recover the admin port without the sealing key']);
  expect(await recoveredWith(key)).toMatchObject({ token: expect.stringMatching(/^oma_/) as string });
  const text = await metrics.text();
  expect(text).toContain('omnibus_admin_refusals_total{act="recovery",why="unknown"} 20');
  expect(recorded.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
    ...Array.from({ length: 20 }, () => 'admin.recovery denied'),
    'admin.recovery ok',
  ]);
});

it('a gateway without a file of API keys is told apart from one with a file that cannot be read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'omnibus-keys-'));
  try {
    writeFileSync(join(folder, 'keys.yaml'), 'keys: [');
    const asked = async (text: string): Promise<unknown> => {
      const loaded = loadedFrom(text);
      const { config } = loaded;
      const { keys } = operatorHandlers({
        config: () => config,
        baseFolder: folder,
        keyUses: () => Promise.resolve(new Map()),
      } as unknown as Parameters<typeof operatorHandlers>[0]);
      return keys({
        request: { socket: new Socket(), headers: {} } as IncomingMessage,
        response: {} as ServerResponse,
        given: '',
        query: {},
        body: undefined,
      }).catch((error: unknown) => error);
    };
    expect(await asked('{}')).toMatchObject({
      reason: 'conflict',
      message: expect.stringContaining('names no file') as string,
    });
    expect(await asked('auth: { keys: { file: keys.yaml } }')).toMatchObject({ reason: 'invalid' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
