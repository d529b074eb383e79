import type { LookupAddress } from 'node:dns';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { forbiddenAddress, forbiddenHost, lookupUnder } from './address-rule.ts';

const nothing = { allowedHosts: [] };

describe('where servers of others may be', () => {
  it.each([
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '0.1.2.3',
    '169.254.169.254',
    '169.254.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '100.100.100.200',
    '168.63.129.16',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    'fd00:ec2::254',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '[::1]',
    'nonsense',
  ])('not at %s', (address) => {
    expect(forbiddenAddress(address)).toBeDefined();
  });

  it('nor at any address of this machine', () => {
    for (const { address } of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
      expect(forbiddenAddress(address)).toBeDefined();
  });

  it.each(['10.96.0.10', '192.168.250.251', '172.31.250.1', '1.1.1.1', '2606:4700::1111', 'fd12:3456::1'])(
    'but at %s',
    (address) => {
      expect(forbiddenAddress(address)).toBeUndefined();
    },
  );

  it('names of this machine are refused at once, others when they are resolved', () => {
    expect(
      ['localhost', 'LOCALHOST.', 'a.localhost', '127.0.0.1', '[::1]'].map(
        (host) => forbiddenHost(host, nothing) !== undefined,
      ),
    ).toEqual([true, true, true, true, true]);
    expect(['example.com', 'wiki.team.svc'].map((host) => forbiddenHost(host, nothing))).toEqual([
      undefined,
      undefined,
    ]);
    expect(forbiddenHost('localhost', { allowedHosts: ['localhost'] })).toBeUndefined();
  });

  const resolve = (allowedHosts: string[], all: boolean): Promise<unknown> =>
    new Promise((done) => {
      lookupUnder({ allowedHosts })('localhost', { all }, (error, address: string | LookupAddress[]) =>
        done(error?.message ?? address),
      );
    });

  it.each([true, false])(
    'a name that leads to this machine is not resolved unless it is allowed (all: %s)',
    async (all) => {
      expect(await resolve([], all)).toContain('the address is not allowed');
      expect(JSON.stringify(await resolve(['localhost'], all))).toMatch(/127\.0\.0\.1|::1/);
    },
  );
});
