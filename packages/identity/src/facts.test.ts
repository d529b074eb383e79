import { isToken } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { principalOf } from './facts.ts';

it('a principal is one name for one subject of one issuer, and can stand in a subject of the bus', () => {
  const ann = principalOf({ issuer: 'https://login.example', subject: 'ann' });
  expect(principalOf({ issuer: 'https://login.example', subject: 'ann' })).toBe(ann);
  expect(isToken(ann)).toBe(true);
});

it('nothing that could be read two ways makes two callers one', () => {
  const agent = { issuer: 'a', subject: 'agent' };
  const all = [
    principalOf({ issuer: 'a', subject: 'bc' }),
    principalOf({ issuer: 'ab', subject: 'c' }),
    principalOf({ issuer: 'a', subject: 'BC' }),
    principalOf({ issuer: 'a', subject: 'bc' }, 'tenant'),
    principalOf({ issuer: 'a', subject: 'bc' }, undefined, [agent]),
    principalOf({ issuer: 'a', subject: 'bc' }, undefined, [agent, agent]),
    principalOf({ issuer: 'a', subject: '2:bc' }),
    principalOf(agent),
  ];
  expect(new Set(all).size).toBe(all.length);
});
