import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import type { EndpointName } from '@omnibus/protocol';
import { configOf } from '@omnibus/config/testing';
import { AnonymousCallers } from './anonymous-callers.ts';
import { ClientAddresses } from './client-address.ts';

const config = configOf('mcpServers: {}');
const endpoint = '' as EndpointName;
const callersOf = (): AnonymousCallers => new AnonymousCallers(config, new ClientAddresses(['10.0.0.1']));
const over = (socket: object, headers: object = {}): IncomingMessage => ({ socket, headers }) as IncomingMessage;

it('requests of one connection have the same caller, and those of another connection have another address', () => {
  const callers = callersOf();
  const [one, other] = [{ remoteAddress: '192.0.2.1' }, { remoteAddress: '192.0.2.2' }];
  const callerOver = (socket: object): unknown => {
    const request = over(socket);
    return callers.admit(request, '/mcp', endpoint).byOrigin(request);
  };
  const first = callerOver(one);
  expect(first).toMatchObject({ origin: '192.0.2.1' });
  expect(callerOver(one)).toBe(first);
  expect(callerOver(other)).toMatchObject({ origin: '192.0.2.2' });
});

it('requests that a trusted proxy sends over one connection have the address that each of them names', () => {
  const callers = callersOf();
  const proxy = { remoteAddress: '10.0.0.1' };
  const origins = ['192.0.2.1', '192.0.2.2'].map((client) => {
    const request = over(proxy, { 'x-forwarded-for': client });
    return callers.admit(request, '/mcp', endpoint).byOrigin(request).origin;
  });
  expect(origins).toEqual(['192.0.2.1', '192.0.2.2']);
});
