/** Prints what a server wrote to stderr and the states of its connection, in the order of their times. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Line } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerJson, runCommand } from '../outcome.ts';
import { fitLine } from '../terminal.ts';
import { askApi, type ApiOptions } from './api.ts';
import { sayMissing } from './calls.ts';

export interface LogsOptions extends ApiOptions {
  readonly follow?: boolean;
}

const lookMs = 1_000;

export function showLogs(server: string, options: LogsOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const ask = async (): Promise<Awaited<ReturnType<typeof askApi<'logs'>>>> => askApi(options, 'logs', `/servers/${encodeURIComponent(server)}/logs`);
    const first = await ask();
    const print = (line: Line): void => answer(options.json === true ? `${JSON.stringify(line)}\n` : lineOf(line));
    if (options.json === true && options.follow !== true) {
      answerJson(first);
      return 'done';
    }
    for (const line of first.lines) print(line);
    sayMissing(first.missing);
    let seen = new Set(first.lines.map(keyOf));
    while (options.follow === true) {
      await delay(lookMs);
      const { lines } = await ask();
      for (const line of lines) if (!seen.has(keyOf(line))) print(line);
      seen = new Set(lines.map(keyOf));
    }
    return 'done';
  });
}

const keyOf = ({ at, process: name, text }: Line): string => `${at} ${name} ${text}`;

function lineOf({ at, process: name, text }: Line): string {
  if (!process.stdout.isTTY) return `${at}\t${printable(name)}\t${printable(text, 2_000)}\n`;
  return `${fitLine(`${at.slice(11, 23)}  ${printable(text, 2_000)}`)}\n`;
}
