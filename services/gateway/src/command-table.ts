/** The commands as data, from the one place that has them (`cli.ts`): for the documentation, and for completion. */
import type { Argument, Command, Option } from 'commander';

export interface CommandRow {
  /** Words behind `omnibus`: `keys create`. */
  readonly words: readonly string[];
  readonly description: string;
  /** How it is written, with what follows. */
  readonly usage: string;
  readonly options: readonly OptionRow[];
  readonly args: readonly { readonly name: string; readonly description: string; readonly isRequired: boolean; readonly isMany: boolean }[];
}

interface OptionRow {
  readonly flags: string;
  readonly short: string | undefined;
  readonly long: string | undefined;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
  readonly description: string;
  readonly fallback: unknown;
}

/** Every command that does something, in the order of the help. */
export function commandTable(program: Command): CommandRow[] {
  return rowsOf(program, []);
}

function rowsOf(command: Command, words: readonly string[]): CommandRow[] {
  const inner = command.commands.flatMap((each) => rowsOf(each, [...words, each.name()]));
  if (words.length === 0 || command.commands.length > 0) return inner;
  return [{
    words, description: command.description(), usage: ['omnibus', ...words, command.usage()].join(' ').replace('[options] ', '').replace(' [options]', ''),
    options: command.options.filter((option) => !option.hidden).map((option) => optionRow(option)),
    args: command.registeredArguments.map((argument: Argument) => ({ name: argument.name(), description: argument.description, isRequired: argument.required, isMany: argument.variadic })),
  }];
}

function optionRow({ flags, short, long, required, optional, argChoices, description, defaultValue }: Option): OptionRow {
  return { flags, short, long, takesValue: required || optional, choices: argChoices ?? [], description, fallback: defaultValue as unknown };
}
