/**
 * Runs a page as a reader does: it writes the files, executes the commands in their order in an empty folder, and looks for the output that the page shows.
 *
 * - A block of the language `sh` is executed by bash, and must succeed; with the word `fails` after the language it ends with 1, and with `running` it keeps running.
 * - A block of another language with a first line that is a comment `# FILE` is written to that file; so is one with `file=NAME` after the language.
 * - A block `text` is the output of the command before it: each line occurs in the output, in this order, or in any order where the command keeps running.
 *   `…` stands for any characters.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { freePorts } from '@omnibus/bus/testing';
import { omnibusProgram, root } from '../support/processes.ts';

interface Block {
  readonly language: string;
  /** What follows the language. */
  readonly words: readonly string[];
  readonly text: string;
  readonly line: number;
}

export interface PageOptions {
  /** Texts of the page, such as addresses of the reader's provider, and what stands for them in the test. */
  readonly instead?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Acts as the reader outside the terminal, while commands of a block with that word run. `output`: theirs so far. */
  readonly acts?: Readonly<Record<string, (output: Output) => Promise<void>>>;
  /** Files and folders of the checkout that the folder of the reader has too. */
  readonly links?: readonly string[];
  /** Folders of programs, before those of the PATH. */
  readonly path?: readonly string[];
  /** Looks at the folder of the reader when the page is done. */
  readonly after?: (folder: string) => Promise<void>;
  /** Words of blocks that are not executed, each with the reason, which is printed. */
  readonly leftOut?: Readonly<Record<string, string>>;
}

export interface Output {
  /** Resolves with the match in a command's output, now or later. Rejects if it ends without. */
  find(pattern: RegExp): Promise<RegExpExecArray>;
}

const limitMs = 60_000;
const defaultPorts = ['7300', '7301'];

/** The code blocks of a page, in their order. */
function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\S+)(.*)\n([^]*?)^```$/gm)].map(({ index, 1: language, 2: info, 3: text }) => ({
    language: language as string,
    words: (info as string).trim().split(/\s+/).filter(Boolean),
    text: text as string,
    line: page.slice(0, index).split('\n').length,
  }));
}

class Command implements Output {
  readonly #child: ChildProcess;
  readonly #isEnded: Promise<unknown>;
  readonly #changed = new Set<() => void>();
  #text = '';
  #status: number | undefined;

  constructor(text: string, cwd: string, env: NodeJS.ProcessEnv) {
    // One pipe for both outputs keeps their order. A separate group, so that its children end with it.
    this.#child = spawn('bash', ['-euo', 'pipefail', '-c', `exec 2>&1\n${text}`], { cwd, env, detached: true });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.#text += chunk;
        for (const changed of this.#changed) changed();
      });
    this.#isEnded = once(this.#child, 'close').then(([status]) => {
      this.#status = (status as number | null) ?? -1;
      for (const changed of this.#changed) changed();
    });
  }

  get text(): string {
    return this.#text;
  }

  get isRunning(): boolean {
    return this.#status === undefined;
  }

  /** @returns its exit status. */
  async end(): Promise<number> {
    await this.#isEnded;
    return this.#status as number;
  }

  find(pattern: RegExp): Promise<RegExpExecArray> {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const fail = (why: string): void => reject(new Error(`${why} without ${String(pattern)}:\n${this.#text}`));
    const timer = setTimeout(fail, limitMs, 'a minute passed');
    const look = (): void => {
      const found = pattern.exec(this.#text);
      if (found !== null) resolve(found);
      else if (this.#status !== undefined) fail('it ended');
    };
    this.#changed.add(look);
    look();
    return promise.finally(() => {
      clearTimeout(timer);
      this.#changed.delete(look);
    });
  }

  async kill(): Promise<void> {
    if (this.#status !== undefined) return;
    process.kill(-(this.#child.pid as number), 'SIGTERM');
    await this.#isEnded;
  }
}

/** Lines that follow each other in an output, other lines between them; runs of blanks are alike. */
function patternOf(shown: string): RegExp {
  const lines = shown
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) =>
      line
        .trim()
        .split('…')
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`[ \t]+`))
        .join('.*'),
    );
  return new RegExp(lines.join(String.raw`[^]*?\n[^]*?`));
}

/**
 * The programs that the page uses: the built `omnibus`, which takes the ports of the test from the environment, and an `npx` that starts packages which are
 * installed here.
 */
async function programs(folder: string): Promise<void> {
  const node = join(root, 'node_modules/.bin/node');
  const write = (name: string, text: string): Promise<void> =>
    writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  await mkdir(folder, { recursive: true });
  await write('omnibus', `exec "${node}" "${omnibusProgram}" "$@"`);
  await write(
    'npx',
    `[ "$1" = -y ] && shift\npackage="$1"; shift\nexec "${node}" "$("${node}" -p "const { bin } = require('${root}/node_modules/$package/package.json'); '${root}/node_modules/$package/' + Object.values(bin)[0]")" "$@"`,
  );
  await symlink(node, join(folder, 'node'));
}

/** Runs a page: a tutorial, or another page with commands and their output. `name`: its path in `docs`. @throws {Error} with the line of the block that differs from the page. */
export async function runPage(name: string, options: PageOptions = {}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-tutorial-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const [work, home, bin] = ['work', 'home', 'bin'].map((each) => join(folder, each)) as [string, string, string];
  for (const each of [work, home]) await mkdir(each);
  const ports = await freePorts(defaultPorts.length);
  const places = {
    ...options.instead,
    ...Object.fromEntries(defaultPorts.map((port, at) => [port, String(ports[at])])),
  };
  const put = (text: string): string =>
    Object.entries(places).reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
  const [listen, admin] = ports.map((port) => `127.0.0.1:${port}`) as [string, string];
  await programs(bin);
  const env = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    PATH: [bin, ...(options.path ?? []), process.env['PATH']].join(delimiter),
    OMNIBUS_LISTEN: listen,
    OMNIBUS_ADMIN: admin,
    OMNIBUS_URL: `http://${listen}/mcp`,
    ...options.environment,
  };
  for (const path of options.links ?? []) await symlink(join(root, path), join(work, path));
  let command: Command | undefined;
  const page = await readFile(join(root, 'docs', `${name}.md`), 'utf8');
  for (const { language, words, text: raw, line } of blocksOf(page)) {
    const text = put(raw);
    const at = `docs/${name}.md:${line}`;
    const reason = words.map((word) => options.leftOut?.[word]).find((each) => each !== undefined);
    if (reason !== undefined) {
      console.error(`${at}: not executed: ${reason}`);
      command = undefined;
      continue;
    }
    const file =
      /^file=(.+)$/.exec(words[0] ?? '')?.[1] ?? (language === 'sh' ? undefined : /^# (\S+\.\w+)\n/.exec(text)?.[1]);
    if (file !== undefined) {
      await mkdir(dirname(join(work, file)), { recursive: true });
      await writeFile(join(work, file), text);
    } else if (language === 'sh') {
      const started = new Command(text, work, env);
      command = started;
      stack.defer(() => started.kill());
      for (const word of words) await options.acts?.[word]?.(started);
      if (!words.includes('running'))
        expect(await started.end(), `${at}:\n${started.text}`).toBe(words.includes('fails') ? 1 : 0);
    } else if (language === 'text' && command !== undefined) {
      const patterns = command.isRunning ? text.split('\n').map(patternOf) : [patternOf(text)];
      await Promise.all(patterns.map((pattern) => (command as Command).find(pattern))).catch((error: unknown) => {
        throw new Error(`${at}: the page shows other output`, { cause: error });
      });
    }
  }
  await options.after?.(work);
}
