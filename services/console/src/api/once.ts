/** Answers of the API that are requested once, for questions that cost something or are put on record. */
import { useEffect, useState } from 'preact/hooks';
import { get, problemWords } from './ask.ts';

export interface Once<Answer> {
  readonly value: Answer | undefined;
  readonly problem: ReturnType<typeof problemWords> | undefined;
  readonly isAsking: boolean;
  /** Requests it again. */
  readonly again: () => void;
}

/** Requests a path when it changes, and when `again` is called. @param path undefined: nothing is requested. */
export function useOnce<Answer>(path: string | undefined): Once<Answer> {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{
    readonly of: string;
    readonly value?: Answer;
    readonly problem?: ReturnType<typeof problemWords>;
  }>();
  const of = `${round} ${path ?? ''}`;
  useEffect(() => {
    if (path === undefined) return undefined;
    const ending = new AbortController();
    get<Answer>(path, ending.signal).then(
      (value) => setState({ of, value }),
      (error: unknown) => {
        if (!ending.signal.aborted) setState({ of, problem: problemWords(error) });
      },
    );
    return () => ending.abort();
  }, [of]);
  const isCurrent = state?.of === of;
  return {
    value: isCurrent ? state.value : undefined,
    problem: isCurrent ? state.problem : undefined,
    isAsking: path !== undefined && !isCurrent,
    again: () => setRound(round + 1),
  };
}
