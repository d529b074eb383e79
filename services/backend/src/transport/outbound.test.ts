/** How issuers are reached that a server names. */
import { expect, it } from 'vitest';
import { Agents } from './agents.ts';
import { forbiddenHost } from './address-rule.ts';
import { issuersOf, outbound } from './outbound.ts';

it.each([
  'https://127.0.0.1/token',
  'https://169.254.169.254/token',
  'https://localhost/token',
  'https://10.1.2.3/token',
  'https://172.31.0.1/token',
  'https://192.168.1.1/token',
  'https://100.64.0.1/token',
  'https://[fd12::1]/token',
  'https://[::ffff:10.1.2.3]/token',
])('%s is refused with the option that would allow it', async (address) => {
  const agents = new Agents();
  const fetch = outbound(agents.of(issuersOf(['https://server.example/mcp'], [])));
  await expect(fetch(address)).rejects.toThrow(
    /cannot be asked: the address is not allowed: .*; see `issuer` or `allowedHosts` of the server's `credentials`$/,
  );
  await agents.destroy();
});

it('an issuer in a private network gets requests if the operator has named it, or the server itself is in one', () => {
  const isAsked = (own: readonly string[], allowedHosts: readonly string[], host: string): boolean =>
    forbiddenHost(host, issuersOf(own, allowedHosts)) === undefined;
  expect(isAsked(['https://server.example/mcp'], [], '10.1.2.3')).toBe(false);
  expect(isAsked(['https://server.example/mcp', 'https://10.1.2.3'], [], '10.1.2.3')).toBe(true);
  expect(isAsked(['https://server.example/mcp'], ['10.1.2.3'], '10.1.2.3')).toBe(true);
  expect(isAsked(['https://10.9.9.9/mcp'], [], '10.1.2.3')).toBe(true);
  expect(isAsked(['http://127.0.0.1:7/mcp'], [], '10.1.2.3')).toBe(true);
  expect(isAsked(['https://10.9.9.9/mcp'], [], '169.254.169.254')).toBe(false);
});
