/**
 * The risks of a command that a person should know before it is started: shells, pipes into shells, other users, code among the arguments, containers
 * without isolation.
 */
import { printable } from '@omnibus/protocol';
import { nameOf, operandOf, withoutWrapper } from './command-words.ts';

const shells = new Set(['sh', 'bash', 'zsh', 'dash', 'ash', 'ksh', 'fish', 'csh', 'tcsh', 'pwsh', 'powershell']);
const shellLine = /^-[a-z]*c$|^-c(ommand)?$|^-e(ncodedcommand)?$/i;
const otherUser = new Set(['sudo', 'doas', 'pkexec', 'su', 'runas', 'gsudo', 'run0']);
const evaluators: Readonly<Record<string, RegExp>> = {
  node: /^(-e|-p|-pe|--eval|--print)$|^--(eval|print)=|^(--(import|loader|experimental-loader)=)?data:/,
  python: /^-c$/,
  perl: /^-[a-z]*[eE]$/,
  ruby: /^-e$/,
  bun: /^(-e|--eval)$|^--eval=/,
  deno: /^eval$/,
  php: /^-r$/,
};
/** Downloads, or output of another command, that are executed by a shell or an interpreter. */
const piped =
  /\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:env\s+)?(?:[\w./-]*\/)?(?:ba|z|da|a|k|fi)?sh\b|\|\s*(?:sudo\s+)?(?:[\w./-]*\/)?(?:python3?|node|perl|ruby)\b|\b(?:eval|source|\.)\s+["']?(?:\$\(|<\(|`)\s*(?:curl|wget)|<\(\s*(?:curl|wget)|\biex\b|\binvoke-expression\b/i;
const containers = new Set(['docker', 'podman', 'nerdctl']);
/** Characters of a line of shell that a warning shows. */
const shownCharacters = 200;

/** @returns a sentence for each risk; none for the usual commands of servers. */
export function risksOf(command: string, args: readonly string[]): readonly string[] {
  const risks: string[] = [];
  let words: readonly string[] = [command, ...args];
  // Each turn removes a program that only starts another one: `sudo env sh -c …`.
  for (let turns = 0; turns <= args.length && words.length > 0; turns += 1) {
    const [program = '', ...rest] = words;
    const name = nameOf(program);
    if (name === 'busybox') {
      words = rest;
      continue;
    }
    if (otherUser.has(name)) {
      risks.push(`${name} runs it as another user, as a rule as root; name a user by "user" instead`);
      words = operandOf(
        rest,
        new Set(['-u', '-g', '-U', '-C', '-h', '-p', '-r', '-t', '--user', '--group', '-l', '--login']),
      ).rest;
      continue;
    }
    const inner = withoutWrapper(name, rest);
    if (inner !== undefined) {
      words = inner;
      continue;
    }
    risks.push(...risksOfProgram(name, rest));
    break;
  }
  return risks;
}

function risksOfProgram(name: string, args: readonly string[]): readonly string[] {
  const whole = args.join(' ');
  if (shells.has(name) || name === 'cmd') {
    const at = args.findIndex((arg) => (name === 'cmd' ? /^\/[ck]$/i.test(arg) : shellLine.test(arg)));
    const line = args.slice(at + 1).join(' ');
    if (at === -1) return [];
    if (piped.test(line)) return [`it pipes into a shell whatever comes, each time it is started: ${shown(line)}`];
    // `cmd /c npx …` is the usual way to start programs on Windows.
    return name === 'cmd' && !/[&|<>^]/.test(line) ? [] : [`a shell runs this line: ${shown(line)}`];
  }
  const code = evaluators[name.replace(/[\d.]+$/, '')];
  if (code !== undefined && ownOptions(args).some((arg) => code.test(arg)))
    return [`${name} runs code that stands among the arguments: ${shown(whole)}`];
  if (!containers.has(name)) return [];
  return [
    ...(args.some((arg) => /^--privileged(=true)?$/.test(arg)) ? ['the container is privileged, and so is none'] : []),
    ...(/docker\.sock|podman\.sock|containerd\.sock/.test(whole)
      ? ['the container is given the socket of its engine, by which it can start anything on this machine']
      : []),
    ...(args.some(
      (arg, index) =>
        /^(?:(?:-v|--volume=?)?\/:|.*(?:source|src)=\/(?:,|$))/.test(arg) &&
        (arg.startsWith('-') || /^(-v|--volume|--mount)$/.test(args[index - 1] ?? '')),
    )
      ? ['the container is given all files of this machine']
      : []),
  ];
}

/** The arguments for the interpreter itself: those before the program or module that it runs. */
function ownOptions(args: readonly string[]): readonly string[] {
  const takesNext = /^(-r|--require|--import|-W|-X|-I)$/;
  const end = args.findIndex(
    (arg, index) => arg === '-m' || (!arg.startsWith('-') && arg !== 'eval' && !takesNext.test(args[index - 1] ?? '')),
  );
  return end === -1 ? args : args.slice(0, end);
}

function shown(line: string): string {
  return printable(line, shownCharacters);
}
