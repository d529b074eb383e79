import { expect, it } from 'vitest';
import { consoleMode } from './console-schema.ts';
import { configOf } from './testing/config-of.ts';

const modeOf = (options: object): string => consoleMode(configOf(options));
const guarded = { auth: { keys: { file: 'keys.yaml' }, admin: { roles: { admin: ['key:a'] } } } };

it('everything is served where only this machine is listened on or somebody is known, and nothing elsewhere, unless it is said', () => {
  expect(modeOf({})).toBe('full');
  expect(modeOf({ admin: '[::1]:7301' })).toBe('full');
  expect(modeOf({ admin: '0.0.0.0:7301' })).toBe('off');
  expect(modeOf({ admin: '0.0.0.0:7301', ...guarded })).toBe('full');
  expect(modeOf({ admin: '0.0.0.0:7301', auth: 'none' })).toBe('off');
});

it('what is said counts, but nobody changes anything at an open address without being known', () => {
  expect(modeOf({ console: 'off' })).toBe('off');
  expect(modeOf({ console: { mode: 'read', payloads: true } })).toBe('read');
  expect(modeOf({ console: 'full', admin: '0.0.0.0:7301' })).toBe('read');
  expect(modeOf({ console: 'full', admin: '0.0.0.0:7301', ...guarded })).toBe('full');
  expect(() => modeOf({ console: 'on' })).toThrow();
});
