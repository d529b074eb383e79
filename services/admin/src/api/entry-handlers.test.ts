import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { configOf } from '@omnibus/config/testing';
import { entryHandlers } from './entry-handlers.ts';
import type { ApiRequest } from './site.ts';

function open(options: object, starts?: string) {
  const done: string[] = [];
  const denied: string[] = [];
  const handlers = entryHandlers({
    config: () => configOf(options),
    history: { source: { loaded: undefined, overrides: {}, discovered: new Set(['found']) } },
    editor: {
      read: () => ({ file: 'omnibus.yaml', digest: 'now' }),
      plan: (server) => ({
        file: 'omnibus.yaml',
        digest: 'now',
        difference: [`+ ${server}`],
        warnings: [],
        starts,
        write: () => void done.push('written'),
      }),
    },
    reload: () => Promise.resolve({ problems: [], later: [] }),
    note: (_request, act, { server, change }) => void done.push(`${act} ${String(server)} ${String(change)}`),
    denied: (_request, act, { server, problem }) => void denied.push(`${act} ${String(server)} ${String(problem)}`),
  });
  const change = (given: string, digest?: string, entry: string | null = 'url: https://a.example') => {
    const body = { entry, ...(digest === undefined ? {} : { digest }) };
    return handlers.changeEntry({ request: {} as IncomingMessage, given, body } as ApiRequest<'changeEntry'>);
  };
  return { change, done, denied };
}

it('a change is shown first, and written and recorded only with the digest of what was shown', async () => {
  const { change, done } = open({ console: { edit: 'addresses' } });
  expect(await change('a')).toMatchObject({ difference: ['+ a'], isWritten: false });
  await expect(change('a', 'old')).rejects.toMatchObject({ reason: 'conflict' });
  expect(done).toEqual([]);
  expect(await change('a', 'now')).toMatchObject({ isWritten: true, problems: [] });
  expect(await change('a', 'now', null)).toMatchObject({ isWritten: true });
  expect(done).toEqual(['written', 'servers.change a set', 'written', 'servers.change a remove']);
});

it.each([
  ['unless the operator permits it', {}, undefined, 'a', 'mode'],
  ['with a program, where only addresses are permitted', { console: { edit: 'addresses' } }, 'npx x', 'a', 'mode'],
  ['from Kubernetes', { console: { edit: 'programs' } }, undefined, 'found', 'conflict'],
  [
    'of a gateway of several processes',
    { console: { edit: 'programs' }, bus: 'nats://127.0.0.1:1' },
    undefined,
    'a',
    'conflict',
  ],
  ['with no name', { console: { edit: 'programs' } }, undefined, 'a b', 'invalid'],
] as const)('no server is changed %s', async (_when, options, starts, server, reason) => {
  const { change, done } = open(options, starts);
  await expect(change(server, 'now')).rejects.toMatchObject({ reason });
  expect(done).toEqual([]);
});

it('a program is started where that is permitted', async () => {
  const { change } = open({ console: { edit: 'programs' } }, 'npx x');
  expect(await change('a', 'now')).toMatchObject({ isWritten: true, starts: 'npx x' });
});

it('a change that the options of the operator refuse is on record, with the reason', async () => {
  const { change, denied } = open({ console: { edit: 'addresses' } }, 'npx x');
  await expect(change('a')).rejects.toMatchObject({ reason: 'mode' });
  expect(denied).toEqual([expect.stringMatching(/^servers\.change a a would start a program/)]);
  const none = open({});
  await expect(none.change('a')).rejects.toMatchObject({ reason: 'mode' });
  expect(none.denied).toEqual([expect.stringContaining('console.edit is "no"')]);
});
