import { expect, it } from 'vitest';
import { defaultLimits } from '@omnibus/protocol';
import { parseMessage } from './parse-message.ts';

const parse = (body: unknown): ReturnType<typeof parseMessage> => parseMessage(JSON.stringify(body), defaultLimits);
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

it('a batch is taken entry by entry, and what is no message in it is refused under its id, or null', () => {
  const parsed = parse([
    1,
    ping,
    { jsonrpc: '2.0', id: 'a', method_: 'ping' },
    { jsonrpc: '2.0', id_: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 'initialize', params: {} },
  ]);
  if (parsed.kind !== 'batch') throw new Error(parsed.kind);
  expect(parsed.messages).toEqual([{ kind: 'request', message: ping }]);
  expect(parsed.refusals?.map((refusal) => JSON.parse(refusal) as unknown)).toMatchObject(
    [null, 'a', null, 2].map((id) => ({ jsonrpc: '2.0', id, error: { code: -32_600 } })),
  );
});

it('params that are null are absent, alone and in a batch', () => {
  expect(parse({ ...ping, params: null })).toEqual({ kind: 'single', message: { kind: 'request', message: ping } });
  expect(parse([{ ...ping, params: null }])).toMatchObject({
    messages: [{ kind: 'request', message: ping }],
    refusals: [],
  });
  for (const other of [[], 'x', 1]) expect(parse({ ...ping, params: other })).toMatchObject({ kind: 'refused', id: 1 });
});

it('a batch of nothing is one that is refused as a whole', () => {
  expect(parse([])).toMatchObject({ kind: 'refused', fault: { reason: 'batch.invalid' }, id: undefined });
});
