/** What is wrong with a server, in words for its operator: callers are never shown what a program wrote. */
import type { CatalogRecord } from './catalog-record.ts';
import { printable } from './printable.ts';

/** @param lastWords what the program of a server that is down wrote last on stderr. */
export function problemWords(problem: string | undefined, lastWords: string | undefined): string | undefined {
  return problem === undefined || lastWords === undefined || problem.includes(lastWords)
    ? problem
    : `${problem}: ${printable(lastWords, 500)}`;
}

/** The record of a server, whose problem has the reason in it where its program was started and did not serve. */
export function withReason({
  record,
  lastWords,
}: {
  readonly record: CatalogRecord;
  readonly lastWords: string | undefined;
}): CatalogRecord {
  const problem =
    record.status === 'up' || record.trouble === undefined ? undefined : problemWords(record.problem, lastWords);
  return problem === undefined ? record : { ...record, problem };
}
