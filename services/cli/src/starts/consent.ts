/**
 * The commands that a user has agreed to start, in a file among the user's settings: for each configuration a digest of each server's command. The
 * question is asked only at a terminal; without one, the gateway starts the configured programs.
 */
import { mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isObject } from '@omnibus/protocol';
import { notice } from '../output/outcome.ts';
import { confirm, isInteractive } from '../output/terminal.ts';
import { digestOfAll, type Start } from './starts.ts';

export interface ConsentOptions {
  readonly file: string;
  readonly starts: readonly Start[];
  /** Whether the file belongs to an MCP client. Other people may have written it, since repositories contain such files. */
  readonly isOfClient: boolean;
  /** Whether everything is agreed to: `--yes`. */
  readonly yes?: boolean | undefined;
  /** The digest of all commands, without which nothing is started: `--consent`. */
  readonly digest?: string | undefined;
  /** False with `--no-input`. */
  readonly input?: boolean | undefined;
}

/** @returns why nothing may be started, in words; undefined when everything may. */
export async function consentProblem(options: ConsentOptions): Promise<string | undefined> {
  const { file, starts, isOfClient, yes = false, digest } = options;
  const all = digestOfAll(starts);
  if (digest !== undefined)
    return digest === all
      ? undefined
      : `--consent: the servers of ${file} now start something else than what ${digest} stands for:\n${shownOf(starts)}\n"omnibus check ${file}" says the digest of what they start now: ${all}`;
  if (starts.length === 0) return undefined;
  const known = agreedIn(file);
  const isAsked = isAtTerminal(options);
  if (!isAsked && !yes) return undefined;
  const changed = starts.filter(({ server, digest: now }) => known?.[server] !== now);
  if (changed.length === 0) return undefined;
  if (known === undefined && !isOfClient && !yes) notice(`${file} starts on this machine:\n${shownOf(starts)}`);
  else if (!yes) {
    notice(
      known === undefined
        ? `${file} is a file of an MCP client, and starts on this machine:\n${shownOf(starts)}`
        : `${file} has changed since you last agreed to it, and starts on this machine:\n${shownOf(changed)}`,
    );
    if (!(await confirm(changed.length === 1 ? 'Start it?' : 'Start them?', false)))
      return 'nothing was started; take the server out of the file, or set "disabled: true" for it';
  }
  agree(file, starts);
  return undefined;
}

/** The commands that have changed since the user agreed; none where the user never did. */
export function changedSince(file: string, starts: readonly Start[]): readonly Start[] {
  const known = agreedIn(file);
  return known === undefined ? [] : starts.filter(({ server, digest }) => known[server] !== digest);
}

/** Adds commands that the user has added to a file which was agreed to before. */
export function agreeToAdded(file: string, starts: readonly Start[], servers: readonly string[]): void {
  const known = agreedIn(file);
  if (known === undefined) return;
  agree(
    file,
    starts.filter(({ server, digest }) => servers.includes(server) || known[server] === digest),
  );
}

export function shownOf(starts: readonly Start[]): string {
  return starts
    .flatMap(({ server, line, risks }) => [`  ${server}: ${line}`, ...risks.map((risk) => `    warning: ${risk}`)])
    .join('\n');
}

/** Whether a person can answer. In a container that is not assumed, even with a terminal. */
export function isAtTerminal({ input = true }: Pick<ConsentOptions, 'input'>): boolean {
  return isInteractive({ input }) && process.pid !== 1 && process.env['OMNIBUS_NO_INPUT'] === undefined;
}

type Agreed = Readonly<Record<string, string>>;

function store(): string {
  return join(process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'omnibus', 'consents.json');
}

function read(): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(store(), 'utf8'));
    return isObject(value) ? value : {};
  } catch {
    return {}; // The file does not exist or is not valid: everything must be agreed to once more.
  }
}

function agreedIn(file: string): Agreed | undefined {
  const known = read();
  const path = realpathSync(file);
  const agreed = Object.hasOwn(known, path) ? known[path] : undefined;
  return isObject(agreed)
    ? Object.fromEntries(
        Object.entries(agreed).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      )
    : undefined;
}

function agree(file: string, starts: readonly Start[]): void {
  const path = store();
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const written = `${path}.${process.pid}.new`;
    writeFileSync(
      written,
      `${JSON.stringify({ ...read(), [realpathSync(file)]: Object.fromEntries(starts.map(({ server, digest }) => [server, digest])) }, null, 2)}\n`,
      { mode: 0o600 },
    );
    renameSync(written, path);
  } catch (error) {
    notice(`omnibus: what you agreed to cannot be kept, and is asked for again next time: ${(error as Error).message}`);
  }
}
