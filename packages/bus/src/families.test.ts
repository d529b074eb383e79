import { expect, it } from 'vitest';
import type { EndpointName, ServerName, SessionKey, StreamId, WorkerId } from '@omnibus/protocol';
import { families } from './families.ts';
import { subjectTable } from './subject-table.ts';
import { catalogBucket, sessionsBucket, streamJournal, subjects } from './subjects.ts';
import type { Subject } from './subject.ts';
import { samples } from './testing/samples.ts';

const names = Object.keys(families) as (keyof typeof families)[];

/** Every subject, made from each entry of `subjects` with any arguments. */
function allSubjects(): Subject<unknown, unknown>[] {
  const tokens = ['one', 'two', 'three'] as unknown as readonly [
    SessionKey & ServerName & WorkerId & EndpointName & StreamId,
    StreamId & WorkerId,
  ];
  return Object.values(subjects).flatMap((entry) => {
    if (typeof entry !== 'function') return [entry as Subject<unknown, unknown>];
    const make = entry as (...given: readonly (string | undefined)[]) => Subject<unknown, unknown>;
    return [
      make(...tokens),
      ...[[undefined], [tokens[0], undefined]].flatMap((given) => {
        try {
          return [make(...given)];
        } catch {
          return []; // This entry needs a token.
        }
      }),
    ];
  });
}

it('every subject is of a family, with its tokens, and every family has a subject', () => {
  const made = allSubjects();
  expect(new Set(made.map(({ family }) => family))).toEqual(new Set(names));
  for (const { name, family, shapes } of made) {
    expect(name.split('.').length - 3, name).toBe(families[family as keyof typeof families].tokens.length);
    expect(shapes).toBe(families[family as keyof typeof families]);
  }
  expect(subjectTable.length).toBe(names.length);
});

it('everything that is kept has a shape', () => {
  for (const { name, shape } of [catalogBucket, sessionsBucket, streamJournal])
    expect(shape, name).toBeTypeOf('function');
});

it.each(names)('%s takes what it should, in a form that has been over NATS, and no junk', (name) => {
  const family = families[name] as {
    readonly request: (value: unknown) => string;
    readonly reply?: (value: unknown) => string;
  };
  const sample = samples[name];
  const travelled = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
  expect(family.request(travelled(sample.request))).toBe('fits');
  expect('reply' in sample).toBe(family.reply !== undefined);
  if (family.reply !== undefined) expect(family.reply(travelled(sample.reply))).toBe('fits');
  for (const check of [family.request, family.reply]) {
    for (const junk of [
      null,
      0,
      '',
      'text',
      true,
      [],
      [{}],
      {},
      { kind: null },
      { kind: 1 },
      { key: '*' },
      { key: 'a.b', worker: '>' },
    ])
      expect(check?.(junk) ?? 'junk', JSON.stringify(junk)).toBe('junk');
  }
});

it.each(names)(
  '%s without one of its members, or with one of another type, is junk or something that may be left out',
  (name) => {
    const { request } = families[name] as { readonly request: (value: unknown) => string };
    const sample = JSON.parse(JSON.stringify(samples[name].request)) as Record<string, unknown>;
    for (const member of Object.keys(sample)) {
      for (const other of [null, [7], [null], ['a.b', '*']])
        expect(request({ ...sample, [member]: other }), `${member}: ${JSON.stringify(other)}`).toBe('junk');
    }
  },
);

/** The same payload with an unknown member in each of its objects, as a newer version may send. */
function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore);
  if (typeof value !== 'object' || value === null) return value;
  return {
    ...Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withMore(member)])),
    'of-a-newer-version': { nested: [1, null] },
  };
}

it.each(names)('%s is read with members that only a newer version knows, wherever they are', (name) => {
  // Headers of a client are a map with free names, not an object with known fields.
  const { request, reply } = JSON.parse(JSON.stringify(samples[name])) as {
    readonly request: { readonly parameterHeaders?: unknown };
    readonly reply?: unknown;
  };
  const headers = request.parameterHeaders === undefined ? {} : { parameterHeaders: request.parameterHeaders };
  const family = families[name] as {
    readonly request: (value: unknown) => string;
    readonly reply?: (value: unknown) => string;
  };
  expect(family.request({ ...(withMore(request) as object), ...headers })).toBe('fits');
  if (reply !== undefined) expect(family.reply?.(withMore(reply))).toBe('fits');
});

it('a kind that only a newer version knows is told apart from junk', () => {
  expect(families['backend-control'].request({ kind: 'from-the-future' })).toBe('unknown');
  expect(families.session.request({ key: 'key', command: { kind: 'from-the-future' } })).toBe('unknown');
  expect(families.session.request({ key: 'a.b', command: { kind: 'from-the-future' } })).toBe('junk');
  expect(families.backend.reply({ kind: 'from-the-future' })).toBe('unknown');
  // A receiver of an exchange has time limits; a receiver of frames waits for the last frame, so an unknown kind of frame is refused.
  expect(families.session.reply({ kind: 'from-the-future' })).toBe('junk');
  expect(families.notices.request({ kind: 'log', server: 'server', params: {}, sessions: ['key'], new: true })).toBe(
    'fits',
  );
});
