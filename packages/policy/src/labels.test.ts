/** Rules about labels of conversations: what adds them, and decisions by them. */
import { laterLabels, noLabels, type Labels } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { decide, decisionOf, policyOf, targetOf } from './testing/deciding.ts';
import type { RuleSettings } from './settings.ts';

const carrying = (...labels: string[]): Labels => ({
  has: (label) => labels.includes(label),
  sourceOf: (label) => (labels.includes(label) ? `web/${label} at 10:02 UTC` : undefined),
});
const everything: RuleSettings = { id: 'all', who: 'everyone', allow: '*' };

describe('a rule after labels', () => {
  it.each<[RuleSettings, string, string, string]>([
    [{ id: 'r', who: 'everyone', deny: 'mail/*', after: ['a', 'b'] }, 'allow all', 'allow all', 'deny r'],
    [{ id: 'r', who: 'everyone', ask: 'mail/*', after: 'a' }, 'allow all', 'ask r', 'ask r'],
  ])('%j', async (rule, none, one, both) => {
    const policy = await policyOf([everything, rule]);
    const after = (labels: Labels | undefined): string => decide(policy, 'mail/send', { labels });
    expect([after(noLabels), after(carrying('a')), after(carrying('a', 'b'))]).toEqual([none, one, both]);
    // Labels that are unknown count against the caller, and those that a gate reads later are not asked for yet.
    expect([after(undefined), after(laterLabels)]).toEqual([both, none]);
  });

  it('allows only what has the labels', async () => {
    const policy = await policyOf([{ id: 'r', who: 'everyone', allow: 'mail/*', after: 'checked' }]);
    const after = (labels: Labels | undefined): string => decide(policy, 'mail/send', { labels });
    expect([noLabels, carrying('checked'), undefined, laterLabels].map(after)).toEqual([
      'deny r',
      'allow r',
      'deny r',
      'allow r',
    ]);
  });

  it('names the result that added the label', async () => {
    const policy = await policyOf([everything, { who: 'everyone', deny: 'mail', after: 'x', because: 'ask Ann' }]);
    expect(decisionOf(policy, 'mail/send', { labels: carrying('x') }).because).toBe(
      'ask Ann; this conversation is labelled "x" since the result of web/x at 10:02 UTC',
    );
  });
});

describe('a rule that labels', () => {
  it('neither allows nor denies, and labels results of what it covers', async () => {
    const policy = await policyOf([
      { id: 'one', who: 'everyone', label: ['web', 'resource:files/*'], as: ['untrusted', 'web'] },
      { id: 'two', who: 'group:ops', label: '*', as: 'other' },
    ]);
    expect(decide(policy, 'web/read')).toBe('hidden');
    const labels = (what: string): readonly object[] => {
      const { kind, server, name } = targetOf(what);
      const around = { facts: undefined, kind, server, name, method: 'x', args: undefined, now: 0, address: undefined };
      return policy.rightsOf(undefined).labels(targetOf(what), around);
    };
    const added = [
      { rule: 'one', label: 'untrusted' },
      { rule: 'one', label: 'web' },
    ];
    expect(['web/read', 'resource:files/a', 'server:web/x', 'files/read'].map(labels)).toEqual([
      added,
      added,
      added,
      [],
    ]);
  });
});
