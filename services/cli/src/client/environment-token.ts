/** The key or token in the environment of a command. It is a secret, so messages name its problem without it. */
import { CommandProblem } from '@omnibus/client';

/** @returns undefined where OMNIBUS_TOKEN is empty or not set. @throws {CommandProblem} where it cannot be sent. */
export function environmentToken({ OMNIBUS_TOKEN: given = '' }: NodeJS.ProcessEnv = process.env): string | undefined {
  // Files of secrets often end with a line break, and headers are copied with their scheme.
  const token = given.trim().replace(/^Bearer\s+/i, '');
  if (token === '') return undefined;
  if (!/^[\x21-\x7E]+$/.test(token))
    throw new CommandProblem(
      'usage',
      'OMNIBUS_TOKEN has characters that no API key or token has, such as blanks within it',
    );
  return token;
}
