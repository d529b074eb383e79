import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { fetchPublic, isPublic } from './public-address.ts';

describe('what somebody else tells us to fetch', () => {
  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.18.0.1',
    '168.63.129.16',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    '64:ff9b::7f00:1',
    '64:ff9b::808:808',
    '2002:7f00:1::',
    '2001:0:1::1',
    '2001:db8::1',
    'ff02::1',
    '[::1]',
    'nonsense',
  ])('is not at %s', (address) => {
    expect(isPublic(address)).toBe(false);
  });

  it('is not at any address of this machine', () => {
    for (const { address } of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
      expect(isPublic(address)).toBe(false);
  });

  it.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])('may be at %s', (address) => {
    expect(isPublic(address)).toBe(true);
  });

  it.each([
    ['http://example.com/client.json', 'is not https://'],
    ['https://127.0.0.1/client.json', 'not of the public Internet'],
    ['https://2130706433/client.json', 'not of the public Internet'],
    ['https://0x7f.1/client.json', 'not of the public Internet'],
    ['https://[::ffff:127.0.0.1]/client.json', 'not of the public Internet'],
    ['https://localhost/client.json', 'not of the public Internet'],
    ['https://example.com:8443/client.json', 'its port'],
  ])('is never asked for at %s', async (address, problem) => {
    await expect(fetchPublic(new URL(address), new Headers(), [])).rejects.toThrow(problem);
  });
});
