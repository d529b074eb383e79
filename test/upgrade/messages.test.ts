/**
 * This version reads every message of the previous one: a member that becomes necessary, or a subject that goes, would lose calls during an upgrade
 * (docs/internals/formats.md). The previous version's messages are its samples of every family, as they travel over NATS.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { families } from '@omnibus/bus/testing';
import { before, fixtures } from './released.ts';

type Shapes = Readonly<Partial<Record<'request' | 'reply', (payload: unknown) => string>>>;

const released = JSON.parse(await readFile(join(fixtures, `messages-${before}.json`), 'utf8')) as Readonly<
  Record<string, Readonly<Record<string, unknown>>>
>;

it.each(Object.entries(released))('%s is understood as the version before sends it', (name, sample) => {
  const shapes = (families as Readonly<Record<string, Shapes>>)[name];
  const read = Object.entries(sample).map(([part, payload]) => [part, shapes?.[part as keyof Shapes]?.(payload)]);
  expect(read).toEqual(Object.keys(sample).map((part) => [part, 'fits']));
});
