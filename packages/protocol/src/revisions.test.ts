import { expect, it } from 'vitest';
import { legacyRevisions, negotiateRevision, spokenRevision } from './revisions.ts';

it('2024-10-07 is spoken as 2024-11-05, each revision as itself, and an unknown one is none', () => {
  expect(spokenRevision('2024-10-07')).toBe('2024-11-05');
  expect(legacyRevisions.map(spokenRevision)).toEqual(legacyRevisions);
  expect(['2024-10-08', '2026-07-28', undefined].map(spokenRevision)).toEqual([undefined, undefined, undefined]);
  expect(negotiateRevision('2024-10-07')).toBe('2024-11-05');
});
