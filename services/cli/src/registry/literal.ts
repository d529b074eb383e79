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

/**
 * Tests that a text made of others refers to nothing that none of them refers to: "$" before "{NAME}" would send a secret of this machine to the publisher.
 * @param parts in the form of the configuration. @throws {CommandProblem}
 */
export function checkJoined(text: string, parts: readonly string[]): void {
  const known = new Set(parts.flatMap(referencesIn));
  const made = referencesIn(text).find((each) => !known.has(each));
  if (made !== undefined || (isTemplate(text) && !parts.some(isTemplate)))
    throw new CommandProblem(
      'other',
      `the registry's description is refused: its texts together read ${printable(text, 200)}, which refers to a value of this machine or to a caller`,
    );
}

function referencesIn(text: string): readonly string[] {
  return [...text.matchAll(/\$\$\{|\$\{[^}]*\}/g)].map(([each]) => each).filter((each) => each !== '$${');
}
