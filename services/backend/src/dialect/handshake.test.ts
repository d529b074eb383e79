/** Handshakes with servers that react to `server/discover` in ways of their own. */
import { describe, expect, it } from 'vitest';
import { fault, type ExchangeOutcome } from '@omnibus/protocol';
import type { Transport } from '../transport/transport.ts';
import { shakeHands, type Handshake } from './handshake.ts';
import { Era } from './modern/discovery.ts';

const introduced: ExchangeOutcome = {
  kind: 'result',
  result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'old', version: '1' } },
};
const silent: ExchangeOutcome = { kind: 'fault', fault: fault('upstream.timeout', 'it was not answered') };
const refusing = (httpStatus: number): ExchangeOutcome => ({
  kind: 'fault',
  fault: fault('upstream.refused', `HTTP ${httpStatus}`, { httpStatus }),
});

/** @param answers in their order. */
async function meeting(
  answers: readonly ExchangeOutcome[],
): Promise<{ readonly met: Handshake; readonly asked: readonly string[]; readonly era: Era }> {
  const left = [...answers];
  const asked: string[] = [];
  const era = new Era('auto');
  const met = await shakeHands({
    era,
    transport: { needsNoProbe: false, closesToCancel: true } as Transport,
    capabilities: {},
    connectTimeoutMs: 1_000,
    ask: (_dialect, method) => {
      asked.push(method);
      return Promise.resolve(left.shift() ?? expect.fail(`${method} is one too many`));
    },
    repairs: undefined,
    isCurrent: () => true,
    plain: (message) => message,
  });
  return { met, asked, era };
}

describe('a server over HTTP', () => {
  it.each([
    ['never answers', silent],
    ['has a firewall in front that forbids', refusing(403)],
    ['crashes over', refusing(500)],
  ])('that %s a method that it does not know is initialized', async (_way, first) => {
    const { met, asked, era } = await meeting([first, introduced]);
    expect(asked).toEqual(['server/discover', 'initialize']);
    expect(met).toMatchObject({ introduction: { revision: '2025-06-18' } });
    expect(era.current).toBe('legacy');
  });

  it.each([
    ['is silent', silent, 'time'],
    ['refuses with 403', refusing(403), 'credentials'],
  ])('that %s whatever it is asked keeps its first problem, and nothing is learned', async (_way, answer, trouble) => {
    const { met, era } = await meeting([answer, answer]);
    expect(met).toMatchObject({ problem: answer.kind === 'fault' ? answer.fault.message : '', trouble });
    expect(era.current).toBeUndefined();
  });

  it('that refuses credentials is asked nothing else', async () => {
    const { asked } = await meeting([refusing(401)]);
    expect(asked).toEqual(['server/discover']);
  });
});
