/** Tokens that an edge holds for callers that directories remove. */
import { Blocks, MemoryBus, subjects } from '@omnibus/bus';
import { configOf } from '@omnibus/config/testing';
import { TokenReceiver } from '@omnibus/credentials';
import { factsWithoutToken } from '@omnibus/identity/testing';
import { newWorkerId, type CallerTokenReply, type ServerName } from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { expect, it } from 'vitest';
import { openExchange } from './open-exchange.ts';

const issuer = 'https://login.example';
const credentials = { kind: 'exchange', issuer, clientId: 'gateway', clientSecret: 's' };
const config = configOf({
  publicUrl: 'https://gateway.example',
  auth: { issuers: [{ issuer }] },
  mcpServers: { records: { url: 'http://127.0.0.1:9/mcp', credentials } },
});

it('the token of a removed user is dropped, and does not come back when the directory gives the name again', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const blocks = await Blocks.open(bus);
  const exchange = openExchange({
    config,
    bus,
    blocks,
    authorization: undefined,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
  });
  const edge = newWorkerId('edge');
  await exchange.start({ current: (facts) => facts, onRevoked: () => undefined }, edge);
  const facts = factsWithoutToken({ issuer, subject: 'ann' }, { groups: [] });
  const key = { ...(await new TokenReceiver().key()) };
  /** Asks for a server that the edge does not know, which it says only of a caller whose token it holds. */
  const ask = (): Promise<CallerTokenReply> =>
    new Promise((resolve, reject) => {
      const asked = { server: 'unknown' as ServerName, principal: facts.principal, key };
      const pending = bus.request(subjects.callerToken(edge), asked, {
        reply(said) {
          pending.close();
          resolve(said);
        },
        failed: reject,
      });
    });
  // Those that are held longest are looked at with each new one.
  for (const subject of ['bob', 'cid', 'dan', 'eve', 'fay'])
    exchange.hold(factsWithoutToken({ issuer, subject }, { groups: [] }), 'another token');
  exchange.hold(facts, 'token of ann');
  expect(await ask()).toMatchObject({ problem: expect.stringContaining('knows of no such server') as string });

  const ann = { name: `${issuer}|ann` };
  await blocks.addGone({ ...ann, by: 'scim', at: Date.now() });
  await expect.poll(() => blocks.size).toBe(1);
  // A request of the removed user is authenticated before it is refused.
  exchange.hold(facts, 'token of ann');
  await blocks.removeGone(ann, (await blocks.goneRevision(ann)) ?? 0);
  await expect.poll(() => blocks.size).toBe(0);
  expect(await ask()).toMatchObject({ problem: expect.stringContaining('was revoked') as string });
  await exchange.stop();
  blocks.close();
});
