/**
 * The text of a target of a rule or limit: `server/tool`, `prompt:server/name` and `resource:server/uri`, each a glob over the server's own names, or the
 * name of a server for all it has, or `*`.
 */

/** The kind of thing that a text is limited to. */
export type SelectedKind = 'tool' | 'prompt' | 'resource';

const marks: Readonly<Record<string, SelectedKind>> = { 'tool:': 'tool', 'prompt:': 'prompt', 'resource:': 'resource' };
const serverName = /^[A-Za-z0-9_-]{1,64}$/;
const extended = /[?*+@!]\(/;
/** Escapes, and sets of characters. */
const closed = /\\.|\[(?:\\.|[^\]\\])+\]/gsu;
/** Blanks around the text, or around the name of the server. */
const blanks = /^\s|\s$|^[^/]*\s\/|^[^/]*\/\s/u;
const maxLength = 1_000;

/** The problem of a selector, for the operator. */
export function selectorProblem(text: string): string | undefined {
  const { glob } = splitSelector(text);
  if (glob.length > maxLength) return `is longer than ${maxLength} characters`;
  if (glob === '*') return undefined;
  if (blanks.test(glob)) return 'a blank stands at its beginning or end, or at its first "/": names have none there';
  if (glob.startsWith('!'))
    return '"!" takes nothing away here; leave it out and say what is meant, or write a rule with `deny`';
  if (extended.test(glob)) return 'a group in parentheses has no meaning in a glob here; give a glob for each part';
  if (isOpen(glob))
    return '"[" or "{" is opened and not closed, and would stand for itself; write "\\[" or "\\{" if that is meant';
  if (glob.includes('/'))
    return glob.startsWith('/') || glob.endsWith('/')
      ? 'expected a server in front of "/" and a name after it'
      : undefined;
  return serverName.test(glob)
    ? undefined
    : 'expected "server/tool", "prompt:server/name", "resource:server/uri", the name of a server, or "*"';
}

/** Whether a bracket or brace is opened and not closed. */
function isOpen(glob: string): boolean {
  const rest = glob.replaceAll(closed, '');
  let depth = 0;
  for (const character of rest) depth = Math.max(0, depth + (character === '{' ? 1 : character === '}' ? -1 : 0));
  return depth > 0 || rest.includes('[');
}

/** @returns `kind`: undefined where the text names none. */
export function splitSelector(text: string): { readonly kind: SelectedKind | undefined; readonly glob: string } {
  const mark = Object.keys(marks).find((each) => text.startsWith(each));
  return mark === undefined ? { kind: undefined, glob: text } : { kind: marks[mark], glob: text.slice(mark.length) };
}
