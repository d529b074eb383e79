/** How many unknown tokens are looked at, and how many wait. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fault } from '@omnibus/protocol';
import { factsWithoutToken } from './facts.ts';
import type { Outcome } from './issuers/issuer.ts';
import { KnownTokens } from './known-tokens.ts';

const refused: Outcome = { fault: fault('auth.invalid') };
const accepted: Outcome = {
  audiences: [],
  facts: factsWithoutToken({ issuer: 'https://login.example.com', subject: 'ann' }, { groups: [] }),
};

let tokens: KnownTokens;
/** Ends the checks that run, oldest first. */
let running: ((outcome: Outcome) => void)[] = [];

beforeEach(() => {
  tokens = new KnownTokens();
  running = [];
});

afterEach(() => vi.useRealTimers());

function look(token: string, address = '198.51.100.1'): Promise<string> {
  const verify = (): Promise<Outcome> => new Promise((resolve) => running.push(resolve));
  return tokens
    .look(tokens.digestOf(token), address, true, verify)
    .then((looked) => ('fault' in looked ? looked.fault.reason : 'accepted'));
}

const many = (count: number, name: string, address?: string): Promise<string>[] =>
  Array.from({ length: count }, (_, index) => look(`${name}-${index}`, address));

async function endAll(): Promise<void> {
  while (running.length > 0) {
    for (const end of running.splice(0)) end(refused);
    // Those that waited begin.
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

it('clients behind one address wait for their turn, and a token that comes twice is looked at once', async () => {
  const all = [...many(300, 'one'), look('one-0'), look('one-250')];
  expect(running).toHaveLength(100);
  await endAll();
  expect(new Set(await Promise.all(all))).toEqual(new Set(['auth.invalid']));
});

it('beyond a number of waiting ones an address is refused, and no other', async () => {
  const all = many(1_120, 'one');
  const elsewhere = look('other', '198.51.100.2');
  expect(running).toHaveLength(101);
  await endAll();
  expect((await Promise.all(all)).filter((reason) => reason === 'auth.unavailable')).toHaveLength(20);
  expect(await elsewhere).toBe('auth.invalid');
});

it('nobody waits long for an issuer that does not answer', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const all = many(150, 'one');
  vi.advanceTimersByTime(5_001);
  await endAll();
  expect((await Promise.all(all)).filter((reason) => reason === 'auth.unavailable')).toHaveLength(50);
  const next = look('next');
  await endAll();
  expect(await next).toBe('auth.invalid');
});

it('a token whose check began before keys were removed is checked again', async () => {
  const digest = tokens.digestOf('one');
  const before = look('one');
  tokens.forgetKnown();
  running.pop()?.(accepted);
  expect(await before).toBe('accepted');
  expect(tokens.find(digest)).toBeUndefined();
  const after = look('one');
  running.pop()?.(accepted);
  expect(await after).toBe('accepted');
  expect(tokens.find(digest)).toBe(accepted);
});
