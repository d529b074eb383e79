/** Completion scripts for shells, made from the table of commands. They work without a running gateway. */
import { clients } from '@omnibus/config';
import type { Command } from 'commander';
import { commandTable, type CommandRow } from '../command-line/command-table.ts';
import { answer, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';

const shells = ['bash', 'zsh', 'fish'] as const;
/** Values of arguments, by the name of the argument. */
const values: Readonly<Record<string, readonly string[]>> = {
  shell: shells,
  client: clients.map(({ id }) => id),
  from: clients.map(({ id }) => id),
};

export function printCompletion(shell: string, program: Command): Promise<void> {
  return runCommand(false, () => {
    answer(scriptFor(shell, commandTable(program)));
    return Promise.resolve('done');
  });
}

/** @throws {CommandProblem} */
export function scriptFor(shell: string, table: readonly CommandRow[]): string {
  if (shell === 'bash') return bash(table);
  if (shell === 'zsh') return zsh(table);
  if (shell === 'fish') return fish(table);
  throw new CommandProblem('usage', `there is no completion for ${JSON.stringify(shell)}`, {
    advice: `There is one for ${shells.join(', ')}.`,
  });
}

/** The commands that may follow each group such as `keys`; the key is its words, joined by `/`. */
function steps(table: readonly CommandRow[]): ReadonlyMap<string, readonly string[]> {
  const map = new Map<string, string[]>();
  for (const { words } of table) {
    for (let depth = 0; depth < words.length; depth += 1) {
      const at = words.slice(0, depth).join('/');
      const next = map.get(at) ?? [];
      if (!next.includes(words[depth] as string)) next.push(words[depth] as string);
      map.set(at, next);
    }
  }
  return map;
}

/** Where the options of a command may stand: behind its words, and behind those before the last where these alone mean it. */
const placesOf = ({ words, isDefault }: CommandRow): string[] => [
  words.join('/'),
  ...(isDefault ? [words.slice(0, -1).join('/')] : []),
];
const defaultAt = (table: readonly CommandRow[], at: string): CommandRow | undefined =>
  table.find((row) => row.isDefault && row.words.slice(0, -1).join('/') === at);
const flagsOf = ({ options }: CommandRow): string[] => [
  ...options.flatMap(({ short, long }) => [long, short]).filter((flag) => flag !== undefined),
  '--help',
];
const wordsOf = ({ args }: CommandRow): readonly string[] => args.flatMap(({ name }) => values[name] ?? []);
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Those of the command that the words alone mean, and the help. */
function optionsAt(table: readonly CommandRow[], at: string): readonly string[] {
  const row = defaultAt(table, at);
  return row === undefined ? ['--help'] : flagsOf(row);
}

function bash(table: readonly CommandRow[]): string {
  const next = steps(table);
  const paths = [...next].flatMap(([at, words]) => words.map((word) => `${at}/${word}`.replace(/^(?!\/)/, '/')));
  const choices = table.flatMap((row) =>
    row.options
      .filter((option) => option.takesValue)
      .map(({ short, long, choices: some }) => {
        const flags = placesOf(row)
          .flatMap((place) =>
            [long, short]
              .filter((flag) => flag !== undefined)
              .map((flag) => `"${place === '' ? '' : `/${place}`} ${flag}"`),
          )
          .join('|');
        return `    ${flags}) ${some.length > 0 ? `COMPREPLY=($(compgen -W ${quote(some.join(' '))} -- "$current"))` : 'COMPREPLY=($(compgen -f -- "$current"))'}; return ;;`;
      }),
  );
  return `# Completion of omnibus for bash: source <(omnibus completion bash)
_omnibus() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" at="" index words=""
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at/\${COMP_WORDS[index]}" in
      ${paths.join('|')}) at="$at/\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$at $before" in
${choices.join('\n')}
  esac
  case "$at" in
${[...next].map(([at, words]) => `    ${quote(at === '' ? '' : `/${at}`)}) words=${quote([...words, ...(at === '' ? ['--version'] : []), ...optionsAt(table, at)].join(' '))} ;;`).join('\n')}
${table.map((row) => `    ${quote(`/${row.words.join('/')}`)}) words=${quote([...flagsOf(row), ...wordsOf(row)].join(' '))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _omnibus omnibus
`;
}

function zsh(table: readonly CommandRow[]): string {
  const described = (word: string, text: string): string => quote(`${word.replaceAll(':', '\\:')}:${text}`);
  const next = steps(table);
  const descriptionOf = (at: string, word: string): string =>
    table.find(({ words }) => words.join('/') === [at, word].filter((each) => each !== '').join('/'))?.description ??
    'more commands';
  const options = (row: CommandRow | undefined): string[] =>
    row?.options.flatMap(({ long, short, description }) =>
      [long, short].filter((flag) => flag !== undefined).map((flag) => described(flag, description)),
    ) ?? [];
  const rows = [
    ...[...next].map(
      ([at, words]) =>
        `    ${quote(at)}) choices=(${[...words.map((word) => described(word, descriptionOf(at, word))), ...options(defaultAt(table, at))].join(' ')}) ;;`,
    ),
    ...table.map(
      (row) =>
        `    ${quote(row.words.join('/'))}) choices=(${[...options(row), ...wordsOf(row).map((word) => described(word, ''))].join(' ')}) ;;`,
    ),
  ];
  const values = table.flatMap((row) =>
    row.options
      .filter((option) => option.takesValue)
      .map(({ long, short, choices }) => {
        const flags = placesOf(row)
          .flatMap((place) =>
            [long, short].filter((flag) => flag !== undefined).map((flag) => quote(`${place} ${flag}`)),
          )
          .join('|');
        return `    ${flags}) ${choices.length > 0 ? `compadd -- ${choices.join(' ')}` : '_files'}; return ;;`;
      }),
  );
  return `#compdef omnibus
# Completion of omnibus for zsh: omnibus completion zsh > "\${fpath[1]}/_omnibus", or source <(omnibus completion zsh)
_omnibus() {
  local at="" word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at/}$word" in
      ${[...new Set([...next.keys()].filter((each) => each !== '')), ...table.map(({ words }) => words.join('/'))].join('|')}) at="\${at:+$at/}$word" ;;
    esac
  done
  case "$at $words[CURRENT-1]" in
${values.join('\n')}
  esac
  case "$at" in
${rows.join('\n')}
  esac
  _describe 'omnibus' choices
  _files
}
compdef _omnibus omnibus
`;
}

function fish(table: readonly CommandRow[]): string {
  const groups = [...new Set(table.filter(({ words }) => words.length > 1).map(({ words }) => words[0] as string))];
  const lines = [
    ...groups.map((group) => `complete -c omnibus -n __fish_use_subcommand -f -a ${group} -d 'more commands'`),
    ...table.flatMap((row) => {
      const [first = '', second] = row.words;
      const begin =
        second === undefined
          ? '__fish_use_subcommand'
          : `'__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${table
              .filter(({ words }) => words[0] === first)
              .map(({ words }) => words[1])
              .join(' ')}'`;
      const here = row.words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ');
      const others = table
        .filter(({ words }) => words[0] === first && second !== undefined)
        .map(({ words }) => words[1])
        .filter((word) => word !== second);
      // Where the words before the last mean it, its options are good as long as no other is named.
      const alone =
        second === undefined
          ? '__fish_use_subcommand'
          : `__fish_seen_subcommand_from ${first}${others.length === 0 ? '' : `; and not __fish_seen_subcommand_from ${others.join(' ')}`}`;
      const within = quote(row.isDefault ? (second === undefined ? `${here}; or ${alone}` : alone) : here);
      return [
        `complete -c omnibus -n ${begin} -f -a ${second ?? first} -d ${quote(row.description)}`,
        ...row.options.map(
          ({ short, long, takesValue, choices, description }) =>
            `complete -c omnibus -n ${within}${short === undefined ? '' : ` -s ${short.slice(1)}`}${long === undefined ? '' : ` -l ${long.slice(2)}`}${takesValue ? (choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : ' -r') : ''} -d ${quote(description)}`,
        ),
        ...(wordsOf(row).length === 0 ? [] : [`complete -c omnibus -n ${within} -a ${quote(wordsOf(row).join(' '))}`]),
      ];
    }),
  ];
  return `# Completion of omnibus for fish: omnibus completion fish | source\n${lines.join('\n')}\n`;
}
