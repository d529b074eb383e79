import { expect, it } from 'vitest';
import { createProgram } from '../command-line/program.ts';
import { commandTable } from '../command-line/command-table.ts';
import { jsonShapes, shapeText, withoutJson } from './json-shapes.ts';

const table = commandTable(createProgram(() => Promise.reject(new Error('no command runs here'))));
const named = ({ words }: { readonly words: readonly string[] }): string => words.join(' ');

it('every command that answers something has --json, and a shape of what it prints; the others are named with why', () => {
  expect(Object.keys(jsonShapes).toSorted()).toEqual(
    table
      .filter(({ options }) => options.some(({ long }) => long === '--json'))
      .map(named)
      .toSorted(),
  );
  expect([...Object.keys(jsonShapes), ...Object.keys(withoutJson)].toSorted()).toEqual(table.map(named).toSorted());
});

it('what a command asks can be answered or refused without a terminal', () => {
  const asks = new Set([
    'call',
    'calls replay',
    'get',
    'add',
    'remove',
    'import',
    'connect',
    'disconnect',
    'sign-in',
    'approvals approve',
    'definitions approve',
  ]);
  for (const row of table.filter((each) => asks.has(named(each))))
    expect(
      row.options.map(({ long }) => long),
      named(row),
    ).toContain('--no-input');
});

it('a shape of the admin API keeps its description, a sentence of its own documents, to itself', () => {
  const described = Object.values(jsonShapes).map(({ description = '' }) => description);
  expect(described.filter((each) => /^[A-Z]|\.$/.test(each))).toEqual([]);
});

it('a shape is written in one line', () => {
  expect(shapeText(jsonShapes['keys create'] as never)).toBe('{ id, key, subject, file }');
  expect(shapeText(jsonShapes['policy test'] as never)).toBe(
    '{ cases: [{ as, call, outcome, rule?, redacted?, guardrails: […], becomes?, expected, isAsExpected }], failed }',
  );
});
