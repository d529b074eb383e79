/** Commands that use a gateway or server as a client: lists, calls, prompts, resources and completion. */
import { writeFileSync } from 'node:fs';
import { nearestOf } from '@omnibus/config';
import { isObject, ownLimitKey, printable, type JsonObject } from '@omnibus/protocol';
import { missingOf, readArguments, wholeOf } from '../client/arguments.ts';
import { printContents, printPrompt, printResult, signatureOf } from '../client/printing.ts';
import { askField } from '../client/questions.ts';
import { withClient, type Opened, type TargetOptions } from '../client/open.ts';
import { type RequestOptions, type Exit, CommandProblem } from '@omnibus/client';
import { answer, answerJson, notice, runCommand, textOf } from '../output/outcome.ts';
import { confirm, fitLine, isInteractive, paint, shown } from '../output/terminal.ts';

export interface UseOptions extends TargetOptions {
  /** Seconds, or a duration: `90`, `90s`, `5m`. */
  readonly timeout?: string;
}

export interface CallOptions extends UseOptions {
  readonly args?: string;
  readonly yes?: boolean;
  /** File for binary content. */
  readonly save?: string;
}

type Kind = 'tools' | 'prompts' | 'resources';

export function listTools(
  pattern: string | undefined,
  options: UseOptions & { readonly schema?: boolean },
): Promise<void> {
  return runCommand(options.json, () =>
    using(options, async (opened, request) => {
      const tools = matching(await all(opened, 'tools', request), 'name', pattern);
      const end = found(tools, pattern, 'tools');
      if (options.json === true) answerJson(tools);
      else
        for (const tool of tools)
          answer(
            `${lineOf(String(tool['name']), signatureOf(tool), tool['description'])}${options.schema === true ? `${JSON.stringify(tool['inputSchema'], null, 2)}\n` : ''}`,
          );
      return end;
    }),
  );
}

export function listPrompts(pattern: string | undefined, options: UseOptions): Promise<void> {
  return runCommand(options.json, () =>
    using(options, async (opened, request) => {
      const prompts = matching(await all(opened, 'prompts', request), 'name', pattern);
      const end = found(prompts, pattern, 'prompts');
      if (options.json === true) answerJson(prompts);
      else
        for (const prompt of prompts)
          answer(lineOf(String(prompt['name']), argumentsOf(prompt), prompt['description']));
      return end;
    }),
  );
}

export function listResources(pattern: string | undefined, options: UseOptions): Promise<void> {
  return runCommand(options.json, () =>
    using(options, async (opened, request) => {
      const resources = matching(await all(opened, 'resources', request), 'uri', pattern);
      const templates = matching(
        await pages(opened, 'resources/templates/list', 'resourceTemplates', request).catch((error: unknown) =>
          error instanceof CommandProblem && error.exit === 'other' ? [] : Promise.reject(error as Error),
        ),
        'uriTemplate',
        pattern,
      );
      const end = found([...resources, ...templates], pattern, 'resources');
      if (options.json === true) answerJson({ resources, resourceTemplates: templates });
      else
        for (const each of [...resources, ...templates])
          answer(
            lineOf(
              String(each['uri'] ?? each['uriTemplate']),
              textOf(each['mimeType'] ?? ''),
              each['description'] ?? each['title'] ?? each['name'],
            ),
          );
      return end;
    }),
  );
}

export function callTool(name: string, words: readonly string[], options: CallOptions): Promise<void> {
  return runCommand(options.json, () =>
    using(options, async (opened, request) => {
      const tool = named('tool', name, await all(opened, 'tools', request));
      const schema = isObject(tool['inputSchema']) ? tool['inputSchema'] : undefined;
      const given = await complete(readArguments(words, schema, await wholeOf(options.args)), schema, options);
      if (
        isObject(tool['annotations']) &&
        tool['annotations']['destructiveHint'] === true &&
        options.yes !== true &&
        isInteractive(options) &&
        !(await confirm(`${printable(name)} says that it may destroy something. Call it?`, false))
      )
        throw new CommandProblem('interrupted', 'the tool was not called');
      const result = await opened.client.request(
        'tools/call',
        { name, arguments: given },
        { ...request, onProgress: showProgress(options) },
      );
      clearProgress();
      if (options.json === true) answerJson(result);
      else printResult(result, saver(options.save));
      return opened.questions.declined.length > 0 ? 'unanswered' : result['isError'] === true ? 'toolError' : 'done';
    }),
  );
}

export function getPrompt(name: string, words: readonly string[], options: CallOptions): Promise<void> {
  return runCommand(options.json, () =>
    using(options, async (opened, request) => {
      const prompt = named('prompt', name, await all(opened, 'prompts', request));
      const declared = Array.isArray(prompt['arguments']) ? prompt['arguments'].filter(isObject) : [];
      const schema = {
        properties: Object.fromEntries(
          declared.map((each) => [String(each['name']), { type: 'string', description: each['description'] }]),
        ),
        required: declared.filter((each) => each['required'] === true).map((each) => String(each['name'])),
      };
      const result = await opened.client.request(
        'prompts/get',
        { name, arguments: await complete(readArguments(words, schema, await wholeOf(options.args)), schema, options) },
        request,
      );
      if (options.json === true) answerJson(result);
      else printPrompt(result, saver(options.save));
      return opened.questions.declined.length > 0 ? 'unanswered' : 'done';
    }),
  );
}

export function readResource(uri: string, options: CallOptions): Promise<void> {
  return runCommand(options.json, () =>
    using(options, async (opened, request) => {
      const result = await opened.client.request('resources/read', { uri }, request);
      if (options.json === true) answerJson(result);
      else printContents(result, saver(options.save));
      return 'done';
    }),
  );
}

/** @param about the name of a prompt, or a resource template. @param word the argument and the beginning of its value, `ARGUMENT=BEGINNING`. */
export function completeArgument(
  about: string,
  word: string,
  options: UseOptions & { readonly context?: readonly string[] },
): Promise<void> {
  return runCommand(options.json, () =>
    using(options, async (opened, request) => {
      const at = word.indexOf('=');
      if (at < 1)
        throw new CommandProblem('usage', `${JSON.stringify(word)} is not of the form ARGUMENT=BEGINNING`, {
          advice: 'write ARGUMENT=BEGINNING, such as language=py',
        });
      const ref =
        about.includes('://') || about.includes('{')
          ? { type: 'ref/resource', uri: about }
          : { type: 'ref/prompt', name: about };
      const known = readArguments(options.context ?? [], undefined, undefined);
      const result = await opened.client.request(
        'completion/complete',
        {
          ref,
          argument: { name: word.slice(0, at), value: word.slice(at + 1) },
          ...(Object.keys(known).length === 0 ? {} : { context: { arguments: known } }),
        },
        request,
      );
      const values =
        isObject(result['completion']) && Array.isArray(result['completion']['values'])
          ? result['completion']['values'].map(String)
          : [];
      if (options.json === true) answerJson(result);
      else for (const value of values) answer(`${shown(value)}\n`);
      return 'done';
    }),
  );
}

export type Requesting = Pick<RequestOptions, 'signal'> & { readonly signal: AbortSignal };

/** Opens the target of a command and runs `work` within the time limit. Ctrl-C cancels the running request; a second one ends the process. */
export async function using(
  options: UseOptions,
  work: (opened: Opened, request: Requesting) => Promise<Exit>,
): Promise<Exit> {
  const limitMs = limitOf(options.timeout);
  const ending = new AbortController();
  const limit = setTimeout(
    () =>
      ending.abort(
        new CommandProblem('timeout', `there is no answer after ${limitMs / 1_000} s`, {
          advice: 'Give it longer: --timeout 30m.',
        }),
      ),
    limitMs,
  );
  const interrupt = (): void => {
    if (ending.signal.aborted) process.exit(130);
    ending.abort(new CommandProblem('interrupted', 'interrupted; the running request was cancelled'));
  };
  process.on('SIGINT', interrupt);
  try {
    const aborted = new Promise<never>((_, reject) => {
      ending.signal.addEventListener('abort', () => reject(ending.signal.reason as Error), { once: true });
    });
    return await Promise.race([withClient(options, (opened) => work(opened, { signal: ending.signal })), aborted]);
  } finally {
    clearTimeout(limit);
    process.off('SIGINT', interrupt);
    clearProgress();
  }
}

function limitOf(text = '10m'): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text);
  if (match === null)
    throw new CommandProblem(
      'usage',
      `--timeout: expected 30s, 5m or a number of seconds, not ${JSON.stringify(text)}`,
    );
  return Number(match[1]) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[(match[2] ?? 's') as 's'];
}

/** All pages of a list; empty where the server does not have the capability. */
export async function all({ client, introduction }: Opened, kind: Kind, request: Requesting): Promise<JsonObject[]> {
  if (!isObject(introduction['capabilities']) || !Object.hasOwn(introduction['capabilities'], kind)) return [];
  return pages({ client }, `${kind}/list`, kind, request);
}

/** Milliseconds that a list may wait for servers without lists for such a client yet. */
const listWaitMs = 15_000;
/** How often a list that changes while it is read is read from the beginning. */
const maxRestarts = 5;
/** Whether a server refused a cursor, which is an invalid parameter (2025-11-25 server/utilities/pagination). */
const isOfCursor = (error: unknown): boolean =>
  error instanceof CommandProblem &&
  (error.reason === undefined ? error.exit === 'usage' : error.reason === 'cursor.invalid');

/** Bound on pages of one list, against a server whose cursors never end. */
const maxPages = 1_000;

async function pages(
  { client }: Pick<Opened, 'client'>,
  method: string,
  member: string,
  request: Requesting,
): Promise<JsonObject[]> {
  let entries: JsonObject[] = [];
  let cursor: unknown;
  let restarts = 0;
  for (let page = 0; page < maxPages; page += 1) {
    let result: JsonObject;
    try {
      // The first page waits for the servers' lists for such a client.
      result = await client.request(
        method,
        cursor === undefined ? { _meta: { [ownLimitKey]: listWaitMs } } : { cursor },
        request,
      );
    } catch (error) {
      // The list has changed since its first page, so its cursors lead nowhere: it is read from the beginning.
      if (cursor === undefined || restarts === maxRestarts || !isOfCursor(error)) throw error;
      restarts += 1;
      page = -1;
      entries = [];
      cursor = undefined;
      continue;
    }
    if (Array.isArray(result[member])) entries.push(...result[member].filter(isObject));
    cursor = result['nextCursor'];
    if (page === 0 && restarts === 0) sayMissing(result);
    if (cursor === undefined) return entries;
  }
  return entries;
}

/** Prints the servers that are missing in a list, and the tools and prompts that are left out, which its first page names. */
function sayMissing(result: JsonObject): void {
  const meta = isObject(result['_meta']) ? result['_meta'] : {};
  const { 'omnibus.dev/missing': missing, 'omnibus.dev/left-out': leftOut } = meta;
  for (const { name, problem } of Array.isArray(leftOut) ? leftOut.filter(isObject) : [])
    notice(`omnibus: without ${printable(String(name))}: clients would refuse the list: ${printable(textOf(problem))}`);
  for (const each of Array.isArray(missing) ? missing.filter(isObject) : [])
    notice(
      `omnibus: without ${printable(String(each['server']))}: ${printable(textOf(each['problem'] ?? each['reason'] ?? 'it is down'))}`,
    );
}

function matching(entries: readonly JsonObject[], member: string, pattern: string | undefined): JsonObject[] {
  if (pattern === undefined) return [...entries];
  const regular = new RegExp(
    `^${pattern
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    'iu',
  );
  return entries.filter(
    (entry) =>
      regular.test(String(entry[member])) ||
      (!/[*?]/.test(pattern) && String(entry[member]).toLowerCase().includes(pattern.toLowerCase())),
  );
}

function found(entries: readonly JsonObject[], pattern: string | undefined, kind: Kind): Exit {
  if (entries.length > 0) return 'done';
  if (pattern === undefined) notice(`omnibus: there are no ${kind}`);
  else throw new CommandProblem('unknown', `no ${kind} match ${JSON.stringify(pattern)}`);
  return 'done';
}

/** One line of a list: cut to the width of a terminal and in colours, or whole with tabs in a pipe. */
function lineOf(name: string, detail: string, description: unknown): string {
  const words = typeof description === 'string' ? printable(description, 10_000) : '';
  if (!process.stdout.isTTY) return `${printable(name)}\t${printable(detail, 10_000)}\t${words}\n`;
  const line = fitLine(`${printable(name)}${detail}${words === '' ? '' : `  ${words}`}`);
  return `${paint('bold', line.slice(0, printable(name).length))}${line.slice(printable(name).length)}\n`;
}

function argumentsOf(prompt: JsonObject): string {
  const names = Array.isArray(prompt['arguments'])
    ? prompt['arguments']
        .filter(isObject)
        .map((each) => (each['required'] === true ? String(each['name']) : `[${String(each['name'])}]`))
    : [];
  return `(${names.join(', ')})`;
}

/** @throws {CommandProblem} which names entries with similar names. */
function named(kind: string, name: string, entries: readonly JsonObject[]): JsonObject {
  const found = entries.find((each) => each['name'] === name);
  if (found !== undefined) return found;
  const names = entries.map((each) => String(each['name']));
  const similar = nearestOf(name, names);
  const near = [
    ...new Set([
      ...(similar === undefined ? [] : [similar]),
      ...names.filter((each) => each.includes(name) || each.endsWith(`__${name}`) || name.includes(each)),
    ]),
  ].slice(0, 3);
  throw new CommandProblem('unknown', `there is no ${kind} ${JSON.stringify(name)}`, {
    advice:
      near.length > 0
        ? `Did you mean ${near.map((each) => printable(each)).join(' or ')}?`
        : `"omnibus ${kind}s" lists all.`,
  });
}

/** Asks for missing required arguments on a terminal. @throws {CommandProblem} where there is none. */
async function complete(
  given: Record<string, unknown>,
  schema: JsonObject | undefined,
  options: UseOptions,
): Promise<Record<string, unknown>> {
  const missing = missingOf(given, schema);
  if (missing.length === 0) return given;
  if (!isInteractive(options))
    throw new CommandProblem('usage', `required arguments are missing: ${missing.join(', ')}`, {
      advice: `Write ${missing.map((name) => `${name}=…`).join(' ')}.`,
    });
  const fields = isObject(schema?.['properties']) ? schema['properties'] : {};
  for (const name of missing) await askField(given, name, isObject(fields[name]) ? fields[name] : {}, true);
  return given;
}

let hasProgress = false;

function showProgress({ quiet }: UseOptions): (progress: JsonObject) => void {
  return ({ progress, total, message }) => {
    if (quiet === true) return;
    const line = `${String(progress)}${total === undefined ? '' : ` of ${textOf(total)}`}${typeof message === 'string' ? `  ${printable(message)}` : ''}`;
    if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${line}`);
    else notice(line);
    hasProgress = true;
  };
}

function clearProgress(): void {
  if (hasProgress && process.stderr.isTTY) process.stderr.write('\r\u001B[K');
  hasProgress = false;
}

/** Writes binary content to the file of `--save`; further contents go to files with a number appended. */
function saver(file: string | undefined): ((bytes: Buffer) => string) | undefined {
  let count = 0;
  return file === undefined
    ? undefined
    : (bytes) => {
        count += 1;
        const name = count === 1 ? file : `${file}.${count}`;
        writeFileSync(name, bytes);
        return name;
      };
}
