import { describe, expect, it } from 'vitest';
import { anonymous, newRequestKey, type ExchangeEvent } from '@omnibus/protocol';
import { CallWords } from './call-words.ts';

function words(wantsProgress: boolean) {
  const said: ExchangeEvent[] = [];
  const context = {
    principal: anonymous,
    session: newRequestKey(),
    capabilities: {},
    standsAlone: false,
    logLevel: undefined,
    wantsProgress,
    maxTimeMs: 1_000,
  };
  return {
    said,
    made: new CallWords({
      context,
      reply: (event) => said.push(event),
      dropped: () => undefined,
      least: () => 'warning',
    }),
  };
}

describe('what a server says before it answers', () => {
  it('progress never goes back, also when a later round counts from the beginning; the call is alive all the same', () => {
    const { said, made } = words(true);
    for (const progress of [1, 3, 3, 2, 4]) made.progress({ token: 7, progress, message: 'm' });
    expect(said).toEqual(
      [1, 3, 4].flatMap((progress) => [
        ...(progress === 4 ? [{ kind: 'alive' }] : []),
        { kind: 'progress', progress, message: 'm' },
      ]),
    );
  });

  it('log messages below the level its client wants go no further', () => {
    const { said, made } = words(false);
    for (const level of ['info', 'warning', 'odd']) made.log({ level, data: 'x' });
    expect(said).toEqual(['warning', 'odd'].map((level) => ({ kind: 'log', params: { level, data: 'x' } })));
  });

  it('of a client that asked for none, progress is a sign of life, and few of them however much is reported', () => {
    const { said, made } = words(false);
    for (let progress = 1; progress <= 1_000; progress += 1) made.progress({ token: 7, progress });
    expect(said[0]).toEqual({ kind: 'alive' });
    expect(said.length).toBeLessThan(10);
  });
});
