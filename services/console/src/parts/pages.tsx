/** Lists of which a button brings further pages. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { get, problemWords } from '../api/ask.ts';
import { Problem } from './basics.tsx';

interface Page {
  /** The cursor of the page after it; undefined for the last. */
  readonly next?: string | undefined;
}

/**
 * @param first the page that the view has already.
 * @param pathOf the path of the page at a cursor.
 * @returns all pages so far, and a button for the next, with the problem of the last request.
 */
export function usePages<Answer extends Page>(
  first: Answer,
  pathOf: (cursor: string) => string,
): {
  readonly pages: readonly [Answer, ...Answer[]];
  readonly last: Answer;
  readonly more: (label: string) => ComponentChildren;
} {
  const [later, setLater] = useState<readonly Answer[]>([]);
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const last = later.at(-1) ?? first;
  const { next } = last;
  const load = async (cursor: string): Promise<void> => {
    try {
      setLater([...later, await get<Answer>(pathOf(cursor))]);
      setProblem(undefined);
    } catch (error) {
      setProblem(problemWords(error));
    }
  };
  return {
    pages: [first, ...later],
    last,
    more: (label) => (
      <>
        {problem !== undefined && <Problem {...problem} />}
        {next !== undefined && (
          <button type="button" onClick={() => void load(next)}>
            {label}
          </button>
        )}
      </>
    ),
  };
}
