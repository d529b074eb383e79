import { describe, expect, it } from 'vitest';
import { ownLimitKey, readOwnLimit, withOwnLimit } from './own-limit.ts';

const request = (meta?: unknown) => ({
  kind: 'request' as const,
  message: {
    jsonrpc: '2.0' as const,
    id: 1,
    method: 'tools/call',
    params: { name: 'x', ...(meta === undefined ? {} : { _meta: meta }) },
  },
});
const limitIn = (posted: ReturnType<typeof withOwnLimit>): unknown =>
  posted.kind === 'request' ? readOwnLimit(posted.message.params ?? {}) : undefined;
const refused = { problem: expect.stringContaining('whole number of milliseconds') as string };

describe('a time limit that a client brings', () => {
  it.each([
    ['none', undefined, undefined, undefined],
    ['a header', undefined, '250', 250],
    ['a member', { [ownLimitKey]: 300 }, undefined, 300],
    ['both, of which the shorter counts', { [ownLimitKey]: 300 }, '250', 250],
    ['both, the other way round', { [ownLimitKey]: 200 }, '250', 200],
    ['a header that says nothing of the kind', { [ownLimitKey]: 200 }, 'soon', refused],
    ['a member that says nothing of the kind', { [ownLimitKey]: '200' }, '250', refused],
    ['a header twice', undefined, '250, 250', refused],
    ['zero', undefined, '0', refused],
    ['more than any number', undefined, '9'.repeat(400), refused],
  ])('%s', (_title, meta, header, expected) => {
    expect(limitIn(withOwnLimit(request(meta), header))).toEqual(expected);
  });

  it('leaves a request whose metadata is none to be refused for that, and answers and notifications alone', () => {
    const odd = request('metadata');
    expect(withOwnLimit(odd, '250')).toBe(odd);
    const notification = {
      kind: 'notification' as const,
      message: { jsonrpc: '2.0' as const, method: 'notifications/initialized' },
    };
    expect(withOwnLimit(notification, '250')).toBe(notification);
  });
});
