import { createLogger } from '@omnibus/telemetry';
import { expect, it } from 'vitest';
import { ConfigHistory } from '@omnibus/admin/history';
import { compose } from './compose.ts';
import type { Part, ProcessOptions } from './part.ts';
import { configOf } from '@omnibus/config/testing';

const options = (): ProcessOptions => {
  const config = configOf('{"mcpServers":{}}');
  return {
    config,
    baseFolder: '.',
    role: 'all',
    isServing: false,
    log: createLogger({ level: 'silent', format: 'json' }),
    reload: () => Promise.resolve({ problems: [], later: [] }),
    history: new ConfigHistory('', undefined),
  };
};

/** A part that writes down all that it must do. */
function noting(name: string, notes: string[], more: Partial<Part<string>> = {}): Part<string> {
  return {
    name,
    start: () => {
      notes.push(`${name} starts`);
      return {
        offers: `what ${name} offers`,
        prepare: () => {
          notes.push(`${name} prepares`);
          return () => void notes.push(`${name} applies`);
        },
        leave: () => {
          notes.push(`${name} leaves`);
          return Promise.resolve();
        },
        stop: () => void notes.push(`${name} stops`),
      };
    },
    ...more,
  };
}

it('parts start in order, and all leave before the first stops, the last part first', async () => {
  const notes: string[] = [];
  const { stop } = await compose(options(), [noting('one', notes), noting('two', notes)]);
  await stop();
  expect(notes).toEqual(['one starts', 'two starts', 'two leaves', 'one leaves', 'two stops', 'one stops']);
});

it('a part that is not in this process does not start, and offers nothing', async () => {
  const notes: string[] = [];
  const absent = noting('absent', notes, { isIn: ({ options: { isServing } }) => isServing });
  const { host } = await compose(options(), [absent]);
  expect(notes).toEqual([]);
  expect(host.find(absent)).toBeUndefined();
  expect(() => host.of(absent)).toThrow('absent has not started');
});

it('a part gets what the parts before it offer', async () => {
  const first = noting('first', []);
  const second: Part<string> = { name: 'second', start: (host) => ({ offers: `${host.of(first)}, and more` }) };
  const { host } = await compose(options(), [first, second]);
  expect(host.of(second)).toBe('what first offers, and more');
});

it('a part that fails to start is named in the error, and the parts before it stop', async () => {
  const notes: string[] = [];
  const failing = noting('the failing part', notes, { start: () => Promise.reject(new Error('it is broken')) });
  await expect(compose(options(), [noting('one', notes), failing, noting('three', notes)])).rejects.toThrow(
    'the failing part: it is broken',
  );
  expect(notes).toEqual(['one starts', 'one leaves', 'one stops']);
});

it('a part that fails to stop keeps no other part from stopping', async () => {
  const notes: string[] = [];
  const failing: Part = {
    name: 'the failing part',
    start: () => ({
      offers: undefined,
      leave: () => Promise.reject(new Error('no')),
      stop: () => Promise.reject(new Error('no')),
    }),
  };
  const { stop } = await compose(options(), [noting('one', notes), failing]);
  await stop();
  expect(notes).toEqual(['one starts', 'one leaves', 'one stops']);
});

it('all parts prepare a configuration before the first applies it', async () => {
  const notes: string[] = [];
  const { host, apply } = await compose(options(), [noting('one', notes), noting('two', notes)]);
  const changed = { ...host.config };
  await apply(changed);
  expect(notes.slice(2)).toEqual(['one prepares', 'two prepares', 'one applies', 'two applies']);
  expect(host.config).toBe(changed);
});

it('a part that needs time to apply a configuration does not delay other parts', async () => {
  const notes: string[] = [];
  const isLoaded = Promise.withResolvers<void>();
  const slow: Part = { name: 'slow', start: () => ({ offers: undefined, prepare: () => () => isLoaded.promise }) };
  const { host, apply } = await compose(options(), [slow, noting('other', notes)]);
  const applied = apply({ ...host.config }).then(() => notes.push('all have applied'));
  await expect.poll(() => notes).toContain('other applies');
  expect(notes).not.toContain('all have applied');
  isLoaded.resolve();
  await applied;
  expect(notes.at(-1)).toBe('all have applied');
});

it('a configuration that a part rejects is applied by no part', async () => {
  const notes: string[] = [];
  const rejecting: Part = {
    name: 'rejecting',
    start: () => ({ offers: undefined, prepare: () => Promise.reject(new Error('a wrong rule')) }),
  };
  const { host, apply } = await compose(options(), [noting('one', notes), rejecting]);
  const { config } = host;
  await expect(apply({ ...config })).rejects.toThrow('a wrong rule');
  expect(notes).toEqual(['one starts', 'one prepares']);
  expect(host.config).toBe(config);
});

it('a process is ready when all parts have started and none says otherwise', async () => {
  let problems = ['one part waits'];
  const waiting: Part = { name: 'waiting', start: () => ({ offers: undefined, notReady: () => problems }) };
  const asked: (readonly string[])[] = [];
  const asking: Part = { name: 'asking', start: (host) => ({ offers: asked.push(host.notReady()) }) };
  const { host, stop } = await compose(options(), [waiting, asking]);
  expect(asked).toEqual([['one part waits', 'still starting']]);
  expect(host.notReady()).toEqual(problems);
  problems = [];
  expect(host.notReady()).toEqual([]);
  await stop();
  expect(host.notReady()).toEqual(['stopping']);
});
