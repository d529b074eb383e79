import { expect, it } from 'vitest';
import { parseServerName, toErrorObject } from '@omnibus/protocol';
import { describeFailure } from './request-failure.ts';

const server = parseServerName('up');

it('a server that says when it takes requests again is tried again then, and one that does not say is not', () => {
  const refused = { kind: 'refused', problem: 'HTTP 429', httpStatus: 429 } as const;
  expect(toErrorObject(describeFailure({ ...refused, retryAfterMs: 1_000 }, server))).toMatchObject({
    message: 'server "up": HTTP 429; it takes requests again in 1 s',
    data: { reason: 'upstream.later', retry: 'same', retryAfterMs: 1_000, httpStatus: 429 },
  });
  expect(toErrorObject(describeFailure(refused, server)).data).toMatchObject({
    reason: 'upstream.refused',
    retry: 'never',
    httpStatus: 429,
  });
});
