import { CommandProblem } from '@omnibus/client';
import { isTemplate, printable } from '@omnibus/protocol';

/** A text of a stranger in a configuration: no reference to the environment or a file, and no fact about a caller. @throws {CommandProblem} */
export function literal(text: string): string {
  if (isTemplate(text))
    throw new CommandProblem(
      'other',
      `the registry's description has the text ${printable(text, 200)}, which would send facts about callers`,
    );
  // A function, since `$$` in a replacement is one `$`.
  return text.replaceAll('${', () => '$${');
}
