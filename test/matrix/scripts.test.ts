/**
 * Every feature of a direct call from inside a script (`listing: code`), for clients of each revision, in both shapes. Prints the table. The gate runs the
 * newest revision of each era over NATS.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { shapesOfLane } from '../support/gateway.ts';
import { isLongLane } from '../support/lane.ts';
import { capabilitiesOf, EraClient } from './era-client.ts';
import { revisions, type MatrixRevision } from './era-server.ts';
import { scriptFeatures } from './script-features.ts';
import { startScriptGround, type ScriptGround } from './script-ground.ts';

const clients = isLongLane ? revisions : revisions.slice(-2);
const userOf = (revision: MatrixRevision): string => `user-${revision}`;

const answers = {
  'roots/list': () => ({ roots: [{ uri: 'file:///era', name: 'era' }] }),
  'sampling/createMessage': () => ({ role: 'assistant', content: { type: 'text', text: 'sampled' }, model: 'none' }),
  'elicitation/create': ({ requestedSchema }: JsonObject) => ({
    action: 'accept',
    content: JSON.stringify(requestedSchema)?.includes('"approve"') ? { approve: true } : { answer: 'given' },
  }),
};

describe.each(shapesOfLane)('every feature inside scripts, %s', (shape) => {
  const endings = new Map<string, Map<MatrixRevision, string>>();
  let ground: ScriptGround;

  beforeAll(async () => {
    ground = await startScriptGround(shape, clients.map(userOf));
  });
  afterAll(async () => {
    await ground[Symbol.asyncDispose]();
    const width = Math.max(...[...endings.keys()].map((feature) => feature.length)) + 2;
    const rows = [...endings].map(
      ([feature, cells]) =>
        feature.padEnd(width) + clients.map((revision) => (cells.get(revision) ?? '·').padEnd(12)).join(''),
    );
    process.stdout.write(`\n${shape}:\n${''.padEnd(width)}${clients.join('  ')}\n${rows.join('\n')}\n`);
  });

  for (const [feature, { since = revisions[0], run }] of Object.entries(scriptFeatures)) {
    it.each(clients.filter((revision) => revision >= since))(`${feature}: a client of %s`, async (revision) => {
      const cells = endings.get(feature) ?? new Map<MatrixRevision, string>();
      endings.set(feature, cells.set(revision, '✗'));
      const user = userOf(revision);
      const open = (as: string, more: JsonObject = {}): Promise<EraClient> =>
        EraClient.open({
          url: ground.url,
          revision,
          answers,
          capabilities: { ...capabilitiesOf(revision), ...more },
          headers: ground.headersOf(as),
        });
      using client = await open(user);
      await run(ground, client, user, open);
      cells.set(revision, '●');
      expect(cells.get(revision)).toBe('●');
    });
  }
});
