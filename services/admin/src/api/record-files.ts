/** What operations about files of records share: where a file is, and errors in words for the operator. */
import { resolve } from 'node:path';
import { UnknownRecord } from '../records/rewrite.ts';
import { ApiProblem } from './api-problem.ts';

/** @param problem says that the configuration names no file. @throws {ApiProblem} */
export function fileOf(file: string | undefined, baseFolder: string, problem: string, advice?: string): string {
  if (file === undefined) throw new ApiProblem('conflict', problem, advice);
  return resolve(baseFolder, file);
}

/** @throws {ApiProblem} with the words of an error, which are for the operator. */
export async function inWords<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    throw new ApiProblem(error instanceof UnknownRecord ? 'unknown' : 'invalid', (error as Error).message);
  }
}
