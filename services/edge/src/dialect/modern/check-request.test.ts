/** What a request of 2026-07-28 says of itself in its metadata and headers. */
import { describe, expect, it } from 'vitest';
import { metaKeys, type PostedMessage } from '@omnibus/protocol';
import { ownContext } from './check-request.ts';

const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
const calls = (name: string, _meta: object = meta): PostedMessage => ({
  kind: 'request',
  message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, _meta } },
});
const headers = (name: string): Record<string, string> => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': name,
});
const wrapped = (name: string): string => `=?base64?${Buffer.from(name).toString('base64')}?=`;
const reasonOf = (posted: PostedMessage, given: Record<string, string>): string | undefined => {
  const context = ownContext(posted, given);
  return context !== undefined && 'fault' in context ? context.fault.reason : undefined;
};

describe('a name in Mcp-Name', () => {
  it.each([
    ['as it is', 'echo', 'echo'],
    ['wrapped, since a header cannot contain it', 'grüßen', wrapped('grüßen')],
    ['wrapped without need', 'echo', '=?base64?ZWNobw==?='],
    ['with the beginning of a wrapped one', '=?echo', '=?echo'],
  ])('is the one of the body: %s', (_how, name, header) => {
    expect(ownContext(calls(name), headers(header))).toEqual({ capabilities: {}, logLevel: undefined });
  });

  it.each([
    ['another one', 'echo', 'other'],
    ['another one, wrapped', 'echo', wrapped('öther')],
    ['the wrapped form of the body, which must be wrapped again', '=?base64?ZWNobw==?=', '=?base64?ZWNobw==?='],
    ['no base64', 'echo', '=?base64?ZWNobw?='],
  ])('is refused: %s', (_how, name, header) => {
    expect(reasonOf(calls(name), headers(header))).toBe('header.mismatch');
  });
});

describe('the revision', () => {
  it('of neither body nor header belongs to a session', () => {
    expect(ownContext(calls('echo', {}), { 'mcp-protocol-version': '2025-11-25' })).toBeUndefined();
  });

  it('of the header alone lacks the metadata', () => {
    expect(reasonOf(calls('echo', {}), headers('echo'))).toBe('envelope.invalid');
  });

  it.each([
    ['no text', 7, 'envelope.invalid'],
    ['another one than in the header', '2025-11-25', 'header.mismatch'],
  ])('of the body that is %s is refused', (_what, revision, reason) => {
    expect(reasonOf(calls('echo', { ...meta, [metaKeys.protocolVersion]: revision }), headers('echo'))).toBe(reason);
  });

  it('that is unknown in body and header is refused with those that are known', () => {
    const posted = calls('echo', { ...meta, [metaKeys.protocolVersion]: '2030-01-01' });
    expect(reasonOf(posted, { ...headers('echo'), 'mcp-protocol-version': '2030-01-01' })).toBe('revision.unknown');
  });
});
