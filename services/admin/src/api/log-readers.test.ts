import type { FollowedLogs } from '@omnibus/admin-api';
import { DeadlineWheel } from '@omnibus/lifecycle';
import type { WorkerId } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { ApiProblem } from './api-problem.ts';
import type { LinesSaid } from './board.ts';
import { LogReaders } from './log-readers.ts';

const fail = (error: unknown): never => {
  throw error as Error;
};

/** Readers of a gateway that answers what each test says, one answer after the other, and then nothing any more. */
function readersOf(...answers: readonly (LinesSaid | ApiProblem)[]) {
  const asked: Readonly<Record<string, number>>[] = [];
  const heard: FollowedLogs[] = [];
  const refused: ApiProblem[] = [];
  const over = Promise.withResolvers<void>();
  const readers = new LogReaders(
    new DeadlineWheel({ onFault: fail }),
    (_server, since) => {
      const answer = answers[asked.length];
      asked.push({ ...since });
      if (answer === undefined) {
        over.resolve();
        return new Promise(() => undefined);
      }
      return answer instanceof ApiProblem
        ? Promise.reject(answer)
        : Promise.resolve({ said: [{ process: 'b' as WorkerId, role: 'backend', body: answer }], missing: [] });
    },
    (_what, error) => fail(error),
  );
  readers.add('near', { told: (logs) => heard.push(logs), refused: (problem) => refused.push(problem) });
  return { asked, heard, refused, over: over.promise, readers };
}

const line = (text: string): { readonly at: string; readonly text: string } => ({
  at: '2026-01-01T00:00:00.000Z',
  text,
});

it('a reader is told of new lines only, of equal ones too, and of how many were written and are kept no more', async () => {
  const { asked, heard, over, readers } = readersOf(
    { written: 700, lines: [line('one'), line('two')] },
    { written: 700, lines: [] },
    { written: 702, lines: [line('two'), line('two')] },
    { written: 1_300, lines: [line('last')] },
  );
  await over;
  readers.stop();
  expect(asked).toEqual([{}, { b: 700 }, { b: 700 }, { b: 702 }, { b: 1_300 }]);
  expect(heard.map(({ lines, dropped }) => [lines.map(({ text }) => text), dropped])).toEqual([
    [['one', 'two'], 0],
    [['two', 'two'], 0],
    [['last'], 597],
  ]);
});

it('a server that is not there any more ends the reading', async () => {
  const { heard, refused, over, readers } = readersOf(
    new ApiProblem('starting', 'wait'),
    new ApiProblem('unknown', 'there is no server near'),
  );
  await over;
  readers.stop();
  expect(heard).toEqual([]);
  expect(refused.map(({ message }) => message)).toEqual(['there is no server near']);
});
