/** A NATS that our processes share with another party: setup of the tests of the bus among strangers. */
import { afterAll, afterEach, beforeEach } from 'vitest';
import { latestLegacyRevision, type SessionRecord } from '@omnibus/protocol';
import type { Bus, BusFault } from '../bus.ts';
import { openNatsBus } from '../nats/bus.ts';
import { Heard } from './heard.ts';
import { startNatsServer } from './nats-server.ts';
import { Outsider } from './outsider.ts';

export class SharedNats {
  /** Two of our processes. */
  near!: Bus;
  far!: Bus;
  /** The other party, which publishes and stores anything. */
  outsider!: Outsider;
  /** Faults of both processes. */
  faults!: Heard<BusFault>;

  /** For a test file: one server, with new connections for each test. */
  static async start(): Promise<SharedNats> {
    const server = await startNatsServer();
    const shared = new SharedNats();
    beforeEach(async () => {
      shared.faults = new Heard();
      shared.near = await openNatsBus(
        { servers: server.url, clientName: 'near', connectTimeoutMs: 5_000 },
        shared.faults.add,
      );
      shared.far = await openNatsBus(
        { servers: server.url, clientName: 'far', connectTimeoutMs: 5_000 },
        shared.faults.add,
      );
      shared.outsider = await Outsider.connect(server.url);
    });
    afterEach(async () => {
      await shared.outsider[Symbol.asyncDispose]();
      await shared.near.drain();
      await shared.far.drain();
    });
    afterAll(() => server[Symbol.asyncDispose]());
    return shared;
  }
}

export const sampleRecord: SessionRecord = {
  caller: { principal: 'anonymous' as never, endpoint: '' as never },
  revision: latestLegacyRevision,
  capabilities: {},
  offered: [],
  isReady: true,
  touched: [],
  subscriptions: [],
  worker: 'worker' as never,
};
