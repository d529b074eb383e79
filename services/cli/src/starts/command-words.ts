/** Splits a command into its parts: the name of its program, the command inside of a wrapper such as `env`, and its first operand. */

/** For `/usr/bin/Python3.exe`, it is `python3`. */
export function nameOf(program: string): string {
  return (program.split(/[/\\]/).at(-1) ?? '').toLowerCase().replace(/\.(exe|cmd|bat|ps1)$/, '');
}

export interface Operand {
  /** The first argument that is neither an option nor the value of one. */
  readonly operand: string | undefined;
  /** The operand and all arguments after it. */
  readonly rest: readonly string[];
  /** Values of options, by option. */
  readonly options: ReadonlyMap<string, readonly string[]>;
}

/** @param withValue options with the next argument as value. */
export function operandOf(args: readonly string[], withValue: ReadonlySet<string>): Operand {
  const options = new Map<string, string[]>();
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (arg === '--') return { operand: args[at + 1], rest: args.slice(at + 1), options };
    if (!arg.startsWith('-') || arg === '-') return { operand: arg, rest: args.slice(at), options };
    const [option = '', value] = /^(--[^=]+)=(.*)$/s.exec(arg)?.slice(1) ?? [arg];
    const given = value ?? (withValue.has(option) ? args[(at += 1)] : undefined);
    if (given !== undefined) options.set(option, [...(options.get(option) ?? []), given]);
  }
  return { operand: undefined, rest: [], options };
}

/** Programs that only start the rest of their arguments, with those of their options that take a value. */
const wrappers: Readonly<Record<string, readonly string[]>> = {
  env: ['-u', '--unset', '-C', '--chdir'],
  nohup: [],
  nice: ['-n', '--adjustment'],
  ionice: ['-c', '-n', '-p'],
  setsid: [],
  stdbuf: ['-i', '-o', '-e'],
  time: [],
  exec: [],
  caffeinate: [],
};

/** @returns the command that a wrapper starts; undefined for a program that is no wrapper. */
export function withoutWrapper(name: string, args: readonly string[]): readonly string[] | undefined {
  if (name === 'timeout') return operandOf(args, new Set(['-s', '--signal', '-k', '--kill-after'])).rest.slice(1);
  const options = Object.hasOwn(wrappers, name) ? wrappers[name] : undefined;
  if (options === undefined) return undefined;
  // `env -S "sh -c …"` splits the text itself.
  const split = name === 'env' ? args.findIndex((arg) => arg === '-S' || arg === '--split-string') : -1;
  const given = split === -1 ? args : [...(args[split + 1] ?? '').split(/\s+/), ...args.slice(split + 2)];
  const { rest } = operandOf(given, new Set(options));
  return name === 'env' ? rest.slice(rest.findIndex((word) => !/^\w+=/.test(word))) : rest;
}
