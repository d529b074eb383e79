/** Scripts for the completion of shells, made of the table of commands. They ask nobody for anything. */
import { clients } from '@omnibus/config';
import { commandTable, type CommandRow } from '../command-table.ts';
import { answer, CommandProblem, runCommand } from '../outcome.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
/** What an argument of that name may be. */
const values: Readonly<Record<string, readonly string[]>> = { shell: shells, client: clients.map(({ id }) => id), from: clients.map(({ id }) => id) };

export function printCompletion(shell: string): Promise<void> {
  return runCommand(false, async () => {
    const { createProgram } = await import('../cli.ts');
    const table = commandTable(createProgram());
    if (shell === 'bash') answer(bash(table));
    else if (shell === 'zsh') answer(zsh(table));
    else if (shell === 'fish') answer(fish(table));
    else throw new CommandProblem('usage', `there is no completion for ${JSON.stringify(shell)}`, { advice: `There is one for ${shells.join(', ')}.` });
    return 'done';
  });
}

/** Words that may follow a beginning such as `keys`: of the next command, or of the options. */
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

const flagsOf = ({ options }: CommandRow): string[] => [...options.flatMap(({ short, long }) => [long, short]).filter((flag) => flag !== undefined), '--help'];
const wordsOf = ({ args }: CommandRow): readonly string[] => args.flatMap(({ name }) => values[name] ?? []);
const quote = (text: string): string => `'${text.replaceAll('\'', '\'\\\'\'')}'`;

function bash(table: readonly CommandRow[]): string {
  const next = steps(table);
  const paths = [...next].flatMap(([at, words]) => words.map((word) => `${at}/${word}`.replace(/^(?!\/)/, '/')));
  const choices = table.flatMap((row) => row.options.filter((option) => option.takesValue).map(({ short, long, choices: some }) => {
    const flags = [long, short].filter((flag) => flag !== undefined).map((flag) => `"/${row.words.join('/')} ${flag}"`).join('|');
    return `    ${flags}) ${some.length > 0 ? `COMPREPLY=($(compgen -W ${quote(some.join(' '))} -- "$current"))` : 'COMPREPLY=($(compgen -f -- "$current"))'}; return ;;`;
  }));
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
${[...next].map(([at, words]) => `    ${quote(at === '' ? '' : `/${at}`)}) words=${quote([...words, ...(at === '' ? ['--help', '--version'] : ['--help'])].join(' '))} ;;`).join('\n')}
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
  const descriptionOf = (at: string, word: string): string => table.find(({ words }) => words.join('/') === [at, word].filter((each) => each !== '').join('/'))?.description ?? 'more commands';
  const rows = [
    ...[...next].map(([at, words]) => `    ${quote(at)}) choices=(${words.map((word) => described(word, descriptionOf(at, word))).join(' ')}) ;;`),
    ...table.map((row) => `    ${quote(row.words.join('/'))}) choices=(${[...row.options.flatMap(({ long, short, description }) => [long, short].filter((flag) => flag !== undefined).map((flag) => described(flag, description))), ...wordsOf(row).map((word) => described(word, ''))].join(' ')}) ;;`),
  ];
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
      const begin = second === undefined ? '__fish_use_subcommand' : `'__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${table.filter(({ words }) => words[0] === first).map(({ words }) => words[1]).join(' ')}'`;
      const within = `'${row.words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ')}'`;
      return [
        `complete -c omnibus -n ${begin} -f -a ${second ?? first} -d ${quote(row.description)}`,
        ...row.options.map(({ short, long, takesValue, choices, description }) => `complete -c omnibus -n ${within}${short === undefined ? '' : ` -s ${short.slice(1)}`}${long === undefined ? '' : ` -l ${long.slice(2)}`}${takesValue ? (choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : ' -r') : ''} -d ${quote(description)}`),
        ...(wordsOf(row).length === 0 ? [] : [`complete -c omnibus -n ${within} -a ${quote(wordsOf(row).join(' '))}`]),
      ];
    }),
  ];
  return `# Completion of omnibus for fish: omnibus completion fish | source\n${lines.join('\n')}\n`;
}
