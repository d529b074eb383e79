/** Finds texts that a shell, Docker or another client reads in another way than the gateway: programs, arguments, headers, addresses, names of tools. */
import type { Path } from './problem.ts';
import { shown, shownWords } from './right-forms.ts';
import type { ServerConfig } from './schema.ts';

type Note = (path: Path, message: string) => void;

const shells = /(^|[/\\])((ba|z|k|da|fi)?sh|cmd|powershell|pwsh)(\.exe)?$/i;
const containers = /(^|[/\\])(docker|podman)(\.exe)?$/i;
/** Words with a meaning for shells alone. */
const operator = /^(\||\|\||&&|&|;|>>?|<|2>&1|2>)$/;

/**
 * @param name of the server.
 * @param server with `command` and `args` as the file has them, since notes repeat these. Values of headers are never shown.
 */
export function commandNotes(
  name: string,
  { command, args, headers, env, url, ...tools }: ServerConfig,
  at: Note,
): void {
  if (command !== undefined) {
    if (!shells.test(command)) argumentNotes(args, at);
    if (containers.test(command)) containerNotes(args, at);
    const mistake = programMistake(command, args);
    if (mistake !== undefined) at(['command'], mistake);
    if (/^(.*\/)?(sudo|doas)$/.test(command))
      at(
        ['command'],
        `asks for a password, and the gateway has no terminal for it: write command: ${programOf(args)}, and start the gateway as the user that the server needs`,
      );
  }
  if (/(^|[:;])\$\{?PATH\}?([:;]|$)/.test(env['PATH'] ?? ''))
    at(['env', 'PATH'], '"$PATH" is passed on as it is: write ${PATH} for the path of the gateway');
  for (const variable of Object.keys(env))
    if (!/^[\w.-]+$/.test(variable))
      at(
        ['env', variable],
        `no program asks for a variable of this name: write ${JSON.stringify(variable.trim().replaceAll(/\W+/g, '_'))}`,
      );
  for (const option of ['includeTools', 'excludeTools'] as const)
    for (const [index, tool] of (tools[option] ?? []).entries())
      for (const prefix of [`${name}/`, `${name}__`])
        if (tool.startsWith(prefix))
          at(
            [option, index],
            `names of tools stand without their server here: write ${JSON.stringify(tool.slice(prefix.length))}`,
          );
  for (const [header, value] of Object.entries(headers))
    headerNote(header, value, (words) => at(['headers', header], words));
  if (url !== undefined && isRepository(url))
    at(
      ['url'],
      'is the page of a repository, which people read: write the address of the server itself, or its program under "command", as the page says',
    );
}

/** A program that cannot be started, by its name alone. Each text is repeated without the secrets that stand in it. */
function programMistake(command: string, args: readonly string[]): string | undefined {
  if (/^(https?|wss?):\/\//.test(command)) return 'is an address, and no program: write url in place of command';
  if (/^[A-Z_][A-Z0-9_]*=/.test(command)) {
    const [name = ''] = command.split('=', 1);
    return `begins with a variable, which a shell would set: write env: { ${name}: "…" }, and the program under command`;
  }
  if (command === 'cd') {
    const [folder = 'FOLDER'] = args;
    // With blanks in it, it is a line for a shell, and not a folder.
    return `is a command of the shell alone: write cwd: ${JSON.stringify(/\s/.test(folder) ? 'FOLDER' : shown(folder))}, and the program under command`;
  }
  if (/^(export|source|set|alias|exec|eval)$/.test(command))
    return 'is a command of the shell alone: write command: sh and args: ["-c", "…"] with the whole line';
  if (!command.startsWith('~/') && !/^\$[A-Z_]+\//.test(command)) return undefined;
  const [program = '', ...rest] = shownWords(command.trim().split(/\s+/));
  const right = JSON.stringify(program.replace(/^(~|\$HOME)/, '${HOME}').replace(/^\$([A-Z_]+)/, '${$1}'));
  return rest.length === 0
    ? `no shell reads this: write ${right}`
    : `no shell reads this: write command: ${right} and args: ${JSON.stringify([...rest, ...shownWords(args)])}`;
}

/** The program among the arguments of `sudo` or `doas`; the word PROGRAM where that is unclear, since another word could be a secret. */
function programOf(args: readonly string[]): string {
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as string;
    // Short options whose value is the next argument, and long ones, which may have one there.
    if (/^-[^-aCcDghpRrTtUu]*[aCcDghpRrTtUu]$/.test(arg)) index += 1;
    else if (/^--[^=]+$/.test(arg)) break;
    else if (!arg.startsWith('-') && !arg.includes('=')) return arg;
  }
  return 'PROGRAM';
}

function argumentNotes(args: readonly string[], at: Note): void {
  args.forEach((text, index) => {
    const path = ['args', index];
    if (operator.test(text))
      at(
        path,
        `${JSON.stringify(text)} is handed to the program, since no shell reads this: leave it out, or write command: sh and args: ["-c", "…"] with the whole line`,
      );
    if (/^'[^']*'$/.test(text))
      at(
        path,
        `keeps its quotes, which no shell removes here: write ${JSON.stringify(shownWords([...args.slice(0, index), text.slice(1, -1)]).at(-1))}`,
      );
    const words = text.trim().split(/\s+/);
    if (/^--?[A-Za-z][\w-]*\s/.test(text) && !args[index - 1]?.startsWith('-') && !text.includes('\n'))
      at(path, `is one argument with a blank in it: write ${JSON.stringify(shownWords(parts(words))).slice(1, -1)}`);
  });
}

/** An option and its value, which may have blanks. Words that look like further options stand apart. */
const parts = ([option = '', ...rest]: readonly string[]): readonly string[] =>
  rest.some((word) => word.startsWith('-')) || rest.length === 1 ? [option, ...rest] : [option, rest.join(' ')];

/** Mistakes with which `docker run` cannot speak MCP. */
function containerNotes(args: readonly string[], at: Note): void {
  if (args[0] !== 'run') return;
  const own = args.slice(1, imageOf(args));
  const background = own.findIndex((arg) => /^(-[a-z]*d[a-z]*|--detach)$/.test(arg));
  if (background !== -1)
    at(
      ['args', background + 1],
      `${JSON.stringify(own[background])} runs the container in the background, where no message reaches it: leave it out`,
    );
  if (!own.some((arg) => /^(-[a-z]*i[a-z]*|--interactive(=true)?)$/.test(arg)))
    at(['args', 0], 'without "-i" no message reaches the container: write "run", "-i"');
}

function headerNote(header: string, value: string, note: (words: string) => void): void {
  if (value.toLowerCase().startsWith(`${header.toLowerCase()}:`))
    note(
      `its value begins with its name again: write ${header}: "${/^\S+:\s*((?:bearer|basic|token) )/i.exec(value)?.[1] ?? ''}…"`,
    );
  else if (/^(bearer|basic)\s*:/i.test(value)) note('a scheme has a blank behind it and no colon: write "Bearer …"');
}

/** Whether an address is that of a repository or of a package. */
function isRepository(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname, pathname } = new URL(url);
  return (
    (/^(www\.)?(github|gitlab)\.com$/.test(hostname) && /^\/[^/]+\/[^/]+(\/(tree|blob)\/.*)?\/?$/.test(pathname)) ||
    (/^(www\.)?npmjs\.com$/.test(hostname) && pathname.startsWith('/package/'))
  );
}

/** The index of the image in the arguments of `docker run`: the first one that is neither an option nor the value of one before it, by a guess. */
export function imageOf(args: readonly string[]): number {
  const at = args.findIndex(
    (arg, index) =>
      index > 0 &&
      !arg.startsWith('-') &&
      !/^(-[a-z]*[evpuw]|--(env|volume|name|network|user|mount|workdir|env-file|publish|platform|entrypoint))$/.test(
        args[index - 1] as string,
      ),
  );
  return at === -1 ? args.length : at;
}
