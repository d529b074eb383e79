/** A session worker on a bus in memory: what all tests of whole workers share. */
import { expect } from 'vitest';
import type { Bus } from '@omnibus/bus';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { latestLegacyRevision } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { createSessionWorker } from './create.ts';
import type { SessionWorker } from './worker.ts';
import { configOf } from '@omnibus/config/testing';

/** @param configuration as in a file. */
export async function startedWorker(
  bus: Bus,
  configuration: string,
  more: Partial<Omit<Parameters<typeof createSessionWorker>[0], 'config' | 'bus'>> = {},
): Promise<SessionWorker> {
  const config = configOf(configuration);
  const wheel = new DeadlineWheel({ tickMs: 5, onFault: (error) => expect.fail(String(error)) });
  const worker = await createSessionWorker({
    config,
    bus,
    wheel,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    tracing: undefined,
    ...more,
  });
  await worker.start();
  return worker;
}

/** How a client of the last revision with sessions introduces itself. */
export const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: latestLegacyRevision, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
} as const;
