/** A hundred rules about claims cost a call nearly nothing: they are chosen for a caller once. The work is counted, not timed. */
import { StandInIssuer } from '@omnibus/identity/testing';
import { expect, it } from 'vitest';
import { startUpstream } from '../bench/subjects.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { countedOf, startCounting } from './counted.ts';

/** Calls before the first one that counts: parts that are made once exist then. */
const callsBefore = 5;
const countedCalls = 15;
/** Steps with a hundred rules, as a share of those with one. */
const most = 1.05;

const one = { id: 'core', who: 'claim:team=core', allow: ['up/*'] };
/** A third each: about other callers, about other tools of this caller, and with conditions on claims. */
const many = [
  one,
  ...Array.from({ length: 33 }, (_, index) => [
    { id: `allow-${index}`, who: { claim: `team=other ${index}` }, allow: ['up/*'] },
    { id: `deny-${index}`, who: 'claim:team=*', deny: [`up/deleting-${index}-*`] },
    {
      id: `ask-${index}`,
      who: 'known',
      ask: [`up/sending-${index}`],
      when: `caller.claims.team != "core" && size(args) > ${index}`,
    },
  ]).flat(),
];

/** @returns the steps of one call of each era: of every function the least over some calls, since timers run beside calls. */
async function stepsWith(rules: readonly object[]): Promise<readonly number[]> {
  await using upstream = await startUpstream(1);
  await using issuer = await StandInIssuer.start();
  await using gateway = await startCounting({
    publicUrl: 'http://gateway.example',
    auth: { audience: ['http://gateway.example/mcp'], issuers: [{ issuer: issuer.issuer, claims: ['team'] }] },
    mcpServers: { up: { url: `${upstream.url}/0` } },
    access: { default: 'deny', rules },
  });
  const token = await issuer.token({ sub: 'ada', team: 'core', aud: 'http://gateway.example/mcp' });
  const headers = { authorization: `Bearer ${token}` };
  using legacy = await RawClient.open(gateway.url, '2025-11-25', headers);
  await legacy.untilTools((names) => names.includes('tool-0'));
  using modern = new ModernClient(gateway.url, {}, headers);
  const args = { text: 'hello' };
  const steps: number[] = [];
  for (const call of [() => legacy.callTool('tool-0', args), () => modern.call('tool-0', { arguments: args })]) {
    for (let before = 0; before < callsBefore; before += 1)
      expect((await call()).last.result).toMatchObject({ content: [{ text: 'hello' }] });
    await countedOf(gateway.edge);
    let least: ReadonlyMap<string, number> | undefined;
    for (let counted = 0; counted < countedCalls; counted += 1) {
      await call();
      const now = new Map((await countedOf(gateway.edge)).map((each) => [`${each.file} ${each.name}`, each.steps]));
      least =
        least === undefined
          ? now
          : new Map(
              [...least].flatMap(([name, count]) => (now.has(name) ? [[name, Math.min(count, now.get(name)!)]] : [])),
            );
    }
    steps.push([...(least ?? [])].reduce((sum, [, count]) => sum + count, 0));
  }
  return steps;
}

it(`a call takes at most ${most} times the steps with a hundred rules about claims as with one`, async () => {
  expect(many).toHaveLength(100);
  const [few, all] = [await stepsWith([one]), await stepsWith(many)];
  process.stdout.write(`\nsteps of a call of each era: ${few.join(', ')} with one rule, ${all.join(', ')} with 100\n`);
  for (const [index, steps] of few.entries()) {
    expect(steps).toBeGreaterThan(100);
    expect(all[index]).toBeLessThanOrEqual(most * steps);
  }
});
