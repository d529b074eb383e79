/** The problem of a server, in words for its operator: callers never see the output of a program. */
import type { CatalogRecord } from './catalog-record.ts';
import { printable } from './printable.ts';

/** @param lastWords last line on stderr of the program of a server that is down. */
export function problemWords(problem: string | undefined, lastWords: string | undefined): string | undefined {
  return problem === undefined || lastWords === undefined || problem.includes(lastWords)
    ? problem
    : `${problem}: ${printable(lastWords, 500)}`;
}

/** The record of a server; its problem has the reason if its program started and did not serve. */
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
