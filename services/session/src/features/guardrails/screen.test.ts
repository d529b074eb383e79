/** The order of messages behind an external check. */
import type { Guardrail, OutsideCheck } from '@omnibus/policy';
import { anonymous, parseServerName } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import type { Wanted } from '../../call/permission.ts';
import type { Verdict } from './message.ts';
import { Screen } from './screen.ts';

const check: OutsideCheck = {
  kind: 'outside',
  asked: { kind: 'tool', server: 'judge', tool: 'check' },
  config: undefined,
  timeoutMs: 1_000,
  concurrency: 1,
  isOpen: false,
};
const judge: Guardrail = {
  id: 'judge',
  stages: new Set(['results']),
  action: 'deny',
  label: 'judge',
  isRecorded: false,
  because: undefined,
  check,
};
const wanted: Wanted = { kind: 'server', server: parseServerName('crm'), name: 'log', method: 'log' };

it('a message that cannot be passed on after its check keeps back none of those after it', () => {
  const asked: ((verdict: Verdict) => void)[] = [];
  const screen = new Screen(
    undefined,
    { all: [judge], at: { requests: [], results: [judge], questions: [], lists: [] }, hasOutside: true },
    wanted,
    {
      outside: { ask: (_question, hear) => void asked.push(hear), keep: () => undefined },
      schemaProblem: () => undefined,
      refusalAfter: () => undefined,
      outsideCaller: () => ({ principal: anonymous, owner: 'ann', isKnown: false, about: wanted }),
      tell: () => undefined,
    },
  );
  const said: unknown[] = [];
  const tell = (data: string, then: (shown: object) => void): void =>
    screen.said('notifications/message', { data }, then);
  tell('one', () => {
    throw new Error('it cannot be written');
  });
  tell('two', (shown) => said.push(shown));
  screen.after(() => said.push('after'));
  expect(() => asked[0]?.({ kind: 'allow' })).toThrow('it cannot be written');
  asked[1]?.({ kind: 'allow' });
  expect(said).toEqual([{ data: 'two' }, 'after']);
});
