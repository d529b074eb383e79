import { expect, it } from 'vitest';
import { find } from './docs.ts';

const pages = [
  { topic: 'timeouts', kind: 'how-to', title: 'Timeouts', markdown: '# Timeouts\n' },
  { topic: 'policy', kind: 'how-to', title: 'Rules', markdown: '# Rules\nRedaction. More redaction. A redaction.\n' },
];

it('finds a page by its topic, its kind and topic, and the path that messages name', () => {
  for (const name of ['timeouts', 'how-to/timeouts', 'docs/how-to/timeouts.md', 'Timeouts'])
    expect(find(name, pages).topic).toBe('timeouts');
});

it.each([
  ['timeuots', /omnibus docs timeouts/],
  ['timeout', /omnibus docs timeouts/],
  ['redaction', /omnibus docs policy/],
  ['xyzzy', /^"omnibus docs" lists all/],
])('suggests pages near the unknown topic %s', (topic, advice) => {
  expect(() => find(topic, pages)).toThrow(
    expect.objectContaining({ exit: 'unknown', advice: expect.stringMatching(advice) as string }) as Error,
  );
});
