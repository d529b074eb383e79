/** The option `--workers`. */
import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from 'commander';

/** More than any machine needs: one worker uses about one core. */
const maxWorkers = 256;

/** @throws {InvalidArgumentError} */
export function parseWorkers(text: string): number {
  if (text === 'auto') return Math.min(availableParallelism(), maxWorkers);
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > maxWorkers)
    throw new InvalidArgumentError(`Write a number from 1 to ${maxWorkers}, or "auto" for one worker for each core.`);
  return count;
}
