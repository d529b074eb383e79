import { expect, it } from 'vitest';
import type { JsonObject } from './json-rpc.ts';
import { metaKeys, searchExtension } from './modern.ts';
import { withOwnListing } from './own-listing.ts';
import type { PostedMessage } from './session-messages.ts';

const request = (method: string, params: JsonObject): PostedMessage => ({
  kind: 'request',
  message: { jsonrpc: '2.0', id: 1, method, params },
});
const wished = { [searchExtension]: {} };

it('the header becomes an extension that a client declares in `initialize`, beside its others', () => {
  const given = { capabilities: { roots: {}, extensions: { other: {} } } };
  expect(withOwnListing(request('initialize', given), 'search')).toEqual(
    request('initialize', { capabilities: { roots: {}, extensions: { other: {}, ...wished } } }),
  );
});

it('the header becomes an extension that a client of 2026-07-28 declares with each request', () => {
  const meta = (capabilities: JsonObject): JsonObject => ({
    _meta: { a: 1, [metaKeys.clientCapabilities]: capabilities },
  });
  expect(withOwnListing(request('tools/list', meta({})), 'search')).toEqual(
    request('tools/list', meta({ extensions: wished })),
  );
});

it.each([
  ['another value', request('initialize', { capabilities: {} }), 'full'],
  ['no header', request('initialize', { capabilities: {} }), undefined],
  ['a request within a session', request('tools/list', {}), 'search'],
  ['a notification', { kind: 'notification', message: { jsonrpc: '2.0', method: 'initialize' } } as const, 'search'],
])('%s changes nothing', (_what, posted, header) => {
  expect(withOwnListing(posted, header)).toBe(posted);
});

it('capabilities of another form stay, to be refused where they are read', () => {
  const given = request('initialize', { capabilities: 'all' });
  expect(withOwnListing(given, 'search')).toEqual(given);
});
