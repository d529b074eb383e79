import { expect, it } from 'vitest';
import { isOfThisMachine } from './loopback.ts';

it('an address is of this machine however it is written, and no other is', () => {
  for (const address of [
    '127.0.0.1:7300',
    'localhost:0',
    'LOCALHOST:7300',
    '127.1:7300',
    '127.9.8.7:7300',
    '[::1]:7300',
    '[0:0:0:0:0:0:0:1]:7300',
    '0x7f000001:80',
  ])
    expect(isOfThisMachine(address), address).toBe(true);
  for (const address of [
    '0.0.0.0:7300',
    '[::]:7300',
    '0:7300',
    '10.0.0.1:7300',
    'localhost.example.com:7300',
    '127.0.0.1.example.com:7300',
    '128.0.0.1:80',
    '127.0.0.999:80',
    '',
    ':7300',
  ])
    expect(isOfThisMachine(address), address).toBe(false);
});
