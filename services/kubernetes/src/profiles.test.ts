import { expect, it } from 'vitest';
import { readProfile } from './profiles.ts';
import type { ServerObject } from './server-object.ts';

const profile = (spec: object): ServerObject =>
  ({ kind: 'McpProfile', namespace: 'docs', name: 'reading', spec, generation: 1 }) as unknown as ServerObject;

it('an endpoint of a team says which tools its list shows and how large results are, by the names that servers have in the namespace', () => {
  const listing = {
    mode: 'search',
    show: ['wiki/get_*'],
    budget: { tools: 5 },
    descriptions: { 'wiki/get_page': 'Reads a page.', 'other/x': 'of no server here' },
  };
  expect(readProfile(profile({ listing }), ['docs_wiki'])).toMatchObject({
    config: {
      listing: {
        mode: 'search',
        show: ['docs_wiki/get_*'],
        budget: { tools: 5 },
        descriptions: { 'docs_wiki/get_page': 'Reads a page.' },
      },
    },
  });
  expect(
    readProfile(profile({ results: { maxTokens: 2_000, tools: { 'wiki/get_*': 500, '*/list': 300 } } }), ['docs_wiki']),
  ).toMatchObject({
    config: {
      results: { maxTokens: 2_000, tools: { 'docs_wiki/get_*': 500, 'docs_*/list': 300 }, structured: 'omit' },
    },
  });
  expect(readProfile(profile({ results: { maxTokens: 5 } }), ['docs_wiki'])).toMatchObject({
    problem: expect.stringMatching(/^spec\.results\.maxTokens: /) as string,
  });
  expect(readProfile(profile({ listing: { mode: 'some' } }), ['docs_wiki'])).toMatchObject({
    problem: expect.stringMatching(/^spec\.listing.*"full", "search" or "code"/) as string,
  });
});

it('an endpoint of a team may be guarded, and cannot take the protection of the gateway away', () => {
  expect(readProfile(profile({ flow: 'guarded' }), ['docs_wiki'])).toMatchObject({ config: { flow: 'guarded' } });
  expect(readProfile(profile({}), ['docs_wiki'])).toMatchObject({ config: { servers: ['docs_wiki'] } });
  for (const flow of ['rules', 'closed', 7])
    expect(readProfile(profile({ flow }), ['docs_wiki'])).toMatchObject({
      problem: expect.stringMatching(/^spec\.flow: expected "guarded"/) as string,
    });
});
