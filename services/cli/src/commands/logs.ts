/** Prints the stderr output of a server and the states of its connection, in the order of their times. */
import type { FollowedLogs, Line } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { fitLine } from '../output/terminal.ts';
import { askApi, followApi, queryOf, type ApiOptions } from './api.ts';
import { sayMissing } from './calls.ts';

export interface LogsOptions extends ApiOptions {
  readonly follow?: boolean;
}

export function showLogs(server: string, options: LogsOptions): Promise<void> {
  return runCommand(options.json, async () => {
    if (options.follow === true) {
      await followLogs(server, options);
      return 'done';
    }
    const logs = await askApi(options, 'logs', `/servers/${encodeURIComponent(server)}/logs`);
    if (options.json === true) answerJson(logs);
    else {
      for (const line of logs.lines) print(line, options);
      sayMissing(logs.missing);
    }
  });
}

/** Prints the last lines and then each new one. Resolves never; ends when the stream does. @throws {CommandProblem} */
async function followLogs(server: string, options: LogsOptions): Promise<void> {
  let silent = '';
  try {
    await followApi(options, `/watch${queryOf({ topics: 'logs', server })}`, (name, data) => {
      if (name !== 'logs') return true;
      const { lines, dropped, missing } = data as FollowedLogs;
      if (dropped > 0) notice(`${dropped} lines were not shown, because more are written than can be kept`);
      for (const line of lines) print(line, options);
      const now = JSON.stringify(missing);
      if (now !== silent) sayMissing(missing);
      silent = now;
      return true;
    });
  } catch (error) {
    if (error instanceof CommandProblem && error.message.includes('there is no topic'))
      throw new CommandProblem(
        'other',
        `${options.admin}: the gateway is older than this command, and tells nobody of new lines`,
        { advice: 'Leave out --follow, or update the gateway.' },
      );
    throw error;
  }
}

function print(line: Line, { json }: LogsOptions): void {
  answer(json === true ? `${JSON.stringify(line)}\n` : lineOf(line));
}

function lineOf({ at, process: name, text }: Line): string {
  if (!process.stdout.isTTY) return `${at}\t${printable(name)}\t${printable(text, 2_000)}\n`;
  return `${fitLine(`${at.slice(11, 23)}  ${printable(text, 2_000)}`)}\n`;
}
