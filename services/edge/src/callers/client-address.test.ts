import { IncomingMessage, type IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { addressKey, ClientAddresses } from './client-address.ts';

/** A request as it arrives from an address. */
function from(remoteAddress: string, headers: IncomingHttpHeaders = {}): IncomingMessage {
  const request = new IncomingMessage(Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress }));
  Object.assign(request.headers, headers);
  return request;
}

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
])('%s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

it('what a stranger says about where it comes from is not believed', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8']);
  expect(addresses.of(from('192.0.2.1', { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=198.51.100.7' }))).toBe(
    '192.0.2.1',
  );
  expect(new ClientAddresses([]).of(from('10.0.0.1', { 'x-forwarded-for': '198.51.100.7' }))).toBe('10.0.0.1');
});

it('a trusted proxy says who is behind it: the last hop that is not trusted, whatever stands before it', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '2001:db8:ffff::1']);
  expect(addresses.of(from('::ffff:10.0.0.1', { 'x-forwarded-for': '1.1.1.1, 198.51.100.7, 10.2.3.4' }))).toBe(
    '198.51.100.7',
  );
  expect(
    addresses.of(from('10.0.0.1', { forwarded: 'for=1.1.1.1;proto=http, for="[2001:db8:1:2::3]:4711";by=10.0.0.1' })),
  ).toBe('2001:db8:1:2::/64');
  expect(addresses.of(from('2001:db8:ffff::1', { 'x-forwarded-for': '198.51.100.7:1234' }))).toBe('198.51.100.7');
});

it('where a proxy is to be believed and says nothing, nonsense, or two things, it is the client itself', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8']);
  for (const headers of [
    {},
    { 'x-forwarded-for': 'unknown' },
    { 'x-forwarded-for': '' },
    { 'x-forwarded-for': '10.9.9.9' },
    { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=1.1.1.1' },
  ]) {
    expect(addresses.of(from('10.0.0.1', headers))).toBe('10.0.0.1');
  }
});

it('a client has an origin if its address is its own: not on this machine, and not behind an untrusted proxy', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8']);
  expect(addresses.originOf(from('192.0.2.1'))).toBe('192.0.2.1');
  expect(addresses.originOf(from('2001:db8:1:2::3'))).toBe('2001:db8:1:2::/64');
  expect(addresses.originOf(from('10.0.0.1', { 'x-forwarded-for': '198.51.100.7' }))).toBe('198.51.100.7');
  expect(addresses.originOf(from('10.0.0.1', { 'x-forwarded-for': '127.0.0.1' }))).toBeUndefined();
  expect(addresses.originOf(from('10.0.0.1', { 'x-forwarded-for': 'nonsense' }))).toBeUndefined();
  for (const local of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])
    expect(addresses.originOf(from(local)), local).toBeUndefined();
  for (const header of ['x-forwarded-for', 'forwarded'])
    expect(addresses.originOf(from('192.0.2.1', { [header]: 'for=198.51.100.7' })), header).toBeUndefined();
});

it("requests are the one local user's where nobody else can connect, and a proxy does not say that it speaks for others", () => {
  const local = new ClientAddresses([], true);
  expect(local.clientOf(from('127.0.0.1'))).toEqual({ id: 'local', isOne: false });
  for (const header of ['x-forwarded-for', 'forwarded'])
    expect(local.clientOf(from('127.0.0.1', { [header]: 'for=198.51.100.7' })), header).toBeUndefined();
  expect(new ClientAddresses([]).clientOf(from('127.0.0.1'))).toBeUndefined();
});
