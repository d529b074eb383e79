/** The callers that a comparison of rules tries. */
import { configOf } from '@omnibus/config/testing';
import { expect, it } from 'vitest';
import { peopleOf } from './people.ts';

it('nobody is tried as somebody with names of two issuers at once', () => {
  const config = configOf(
    'mcpServers: { up: { url: http://127.0.0.1:4001/mcp } }\naccess: { rules: [{ who: "group:https://a.example|x", deny: up }, { who: "group:https://b.example|y", allow: up }, { who: "client:https://a.example|c", allow: up }] }',
  );
  const both = peopleOf([config])
    .map(({ of }) => of)
    .filter(({ length }) => length > 0);
  expect(both.map((labels) => labels.toSorted())).toEqual([
    ['client:https://a.example|c', 'group:https://a.example|x'],
  ]);
});
