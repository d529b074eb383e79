import { CommandProblem } from '@omnibus/client';
import { parseDuration } from '@omnibus/config';

/** The time of an option, in milliseconds; undefined if it is not given. @throws {CommandProblem} */
export function durationOf(option: string, text: string | undefined): number | undefined {
  const ms = text === undefined ? undefined : parseDuration(text);
  if (text !== undefined && (ms === undefined || ms <= 0))
    throw new CommandProblem(
      'usage',
      `${option}: expected a time such as "30m", "1h" or "168h", not ${JSON.stringify(text)}`,
    );
  return ms;
}
