/** Bodies that come in many pieces. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterEach, expect, it, vi } from 'vitest';
import { EdgeUnderTest } from '../edge-under-test.ts';

afterEach(() => vi.restoreAllMocks());

it('a body that comes byte by byte is read, and is not held as an object for each byte', async () => {
  await using test = await EdgeUnderTest.start();
  await test.serveStateless();
  const { headers, body } = test.stateless({}, 'tools/list');
  const concat = Buffer.concat.bind(Buffer);
  const pieces: number[] = [];
  vi.spyOn(Buffer, 'concat').mockImplementation((list, length) => {
    pieces.push(list.length);
    return concat(list, length);
  });
  const post = request(`${test.origin}/mcp`, { method: 'POST', headers });
  for (const byte of body + ' '.repeat(20_000)) post.write(byte);
  const answered = once(post, 'response');
  post.end();
  const [answer] = (await answered) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  expect(answer.statusCode).toBe(200);
  expect(Math.max(...pieces)).toBeLessThan(100);
});
