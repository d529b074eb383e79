/** Words where the name of a command should be. A command with a default one takes every such word for an argument of that. */
import type { Command } from 'commander';

/**
 * The words that name no command, and where they stand.
 * @param args the words after the program's name.
 * @returns undefined where every command is known.
 */
export function unknownCommand(
  program: Command,
  args: readonly string[],
): { readonly within: Command; readonly word: string } | undefined {
  let within = program;
  for (const word of args) {
    if (word.startsWith('-') || within.commands.length === 0) return undefined;
    // The words after it name the command for the help.
    if (word === 'help') continue;
    const next = within.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (next === undefined) return { within, word };
    within = next;
  }
  return undefined;
}
