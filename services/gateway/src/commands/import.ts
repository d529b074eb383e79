/** Copies the servers of MCP clients into the configuration, with Omnibus' names of options. Secrets go into files of their own, and everything that is not copied is reported. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { clientById, clients, entriesAt, formatOf, readClientFile, setEntry, type ClientFile } from '@omnibus/config';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { CommandProblem, notice, runCommand } from '../outcome.ts';
import { readText } from '../write-file.ts';
import { filesOf } from './connect.ts';
import { agreeToAdded, shownOf } from '../starts/consent.ts';
import { startsOf } from '../starts/starts.ts';
import { attempt, checkText, write, type FileOptions } from './servers.ts';
import { findConfigFile } from './settings.ts';

const newFile = 'omnibus.yaml';
/** Names of environment variables and headers whose values are treated as secrets. */
const secretName = /key|token|secret|password|passwd|authorization|credential|cookie/i;

interface Taken {
  readonly server: string;
  readonly from: string;
  readonly client: string;
}

interface Report {
  readonly taken: Taken[];
  /** Servers that the configuration has already. */
  readonly same: Taken[];
  readonly remarks: { readonly from: string; readonly line: number; readonly path: string; readonly text: string }[];
  /** Files to write, each with one secret, readable by their owner only. */
  readonly secrets: { readonly file: string; readonly text: string }[];
}

/** @param sources clients by their ids, or files; none: every client's file that is found, and those of the project in this folder. */
export function importServers(sources: readonly string[], options: FileOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const file = findConfigFile(options.config) ?? newFile;
    const files = sources.length === 0 ? everywhere() : sources.flatMap((source) => filesFor(source));
    if (files.length === 0)
      throw new CommandProblem('unknown', 'no file of an MCP client was found', {
        advice: 'Name one: omnibus import FILE. "omnibus clients" lists where files are looked for.',
      });
    const before = attempt(file, () => readText(file));
    const report: Report = { taken: [], same: [], remarks: [], secrets: [] };
    let text = before;
    for (const source of files) {
      if (resolve(source) === resolve(file))
        throw new CommandProblem('usage', `${source} is the configuration itself`, {
          advice: 'Name another file to write the servers to: --config omnibus.yaml.',
        });
      text = take(source, file, text, report);
    }
    const starts = report.taken.length === 0 ? [] : startsOf(checkText(file, text));
    const added = starts.filter(({ server }) => report.taken.some((taken) => taken.server === server));
    if (options.json !== true) {
      say(report);
      if (added.length > 0) notice(`what they start on this machine:\n${shownOf(added)}`);
    }
    // Secrets are written before the configuration, so that a gateway that follows it finds them.
    const writeSecrets = (): void => {
      for (const secret of report.secrets) writeSecret(secret.file, secret.text);
    };
    const last = (): void =>
      agreeToAdded(
        file,
        starts,
        added.map(({ server }) => server),
      );
    return write(
      {
        file,
        before,
        after: text,
        about: { taken: report.taken, same: report.same, remarks: report.remarks, starts: added },
        first: writeSecrets,
        last,
      },
      options,
    );
  });
}

function everywhere(): string[] {
  return clients
    .flatMap((client) => [
      filesOf(client, {}).find((file) => existsSync(file)),
      filesOf(client, { project: true }).find((file) => existsSync(file)),
    ])
    .filter((file) => file !== undefined);
}

function filesFor(source: string): string[] {
  const client = clientById(source);
  if (client === undefined || existsSync(source)) {
    if (!existsSync(source))
      throw new CommandProblem('unknown', `${source} is neither a file nor the name of a client`, {
        advice: `Clients are ${clients.map(({ id }) => id).join(', ')}.`,
      });
    return [source];
  }
  const found = [...filesOf(client, {}), ...filesOf(client, { project: true })].filter((file) => existsSync(file));
  if (found.length === 0)
    throw new CommandProblem('unknown', `${client.name} has no file here`, {
      advice: `Omnibus looks for it at ${filesOf(client, {}).join(', ')}.`,
    });
  return found;
}

function take(source: string, file: string, before: string, report: Report): string {
  const read: ClientFile = attempt(source, () => readClientFile(source, readText(source)));
  const from = read.client.name;
  for (const { path, line, text } of read.remarks) report.remarks.push({ from: source, line, path, text });
  let changed = before;
  for (const [given, had] of Object.entries(read.servers)) {
    const servers = attempt(file, () => entriesAt(changed, formatOf(file, changed), ['mcpServers']));
    const there = isObject(servers) ? servers : {};
    const wanted = withoutBridge(had);
    const twin = Object.keys(there).find((name) => isSame(there[name], wanted));
    if (twin !== undefined) {
      report.same.push({ server: twin, from: source, client: from });
      continue;
    }
    const name = freeName(given, there);
    const entry = hideSecrets(wanted, name, file, report);
    changed = attempt(file, () => setEntry(changed, formatOf(file, changed), ['mcpServers'], name, entry));
    report.taken.push({ server: name, from: source, client: from });
  }
  return changed;
}

function freeName(given: string, taken: JsonObject): string {
  let name = given;
  for (let number = 2; Object.hasOwn(taken, name); number += 1) name = `${given}-${number}`;
  return name;
}

/** Replaces `npx mcp-remote URL`, a program that connects to an address, by the address itself, since the gateway can connect to it. */
function withoutBridge(entry: JsonObject): JsonObject {
  const { command, args, ...rest } = entry;
  if (
    typeof command !== 'string' ||
    !Array.isArray(args) ||
    !/(^|[/\\])(npx|bunx|pnpx|mcp-remote)(\.cmd)?$/.test(command)
  )
    return entry;
  const words = args.map(String);
  const at = words.findIndex((word) => /^mcp-remote(@.*)?$/.test(word));
  if (at === -1 && !command.includes('mcp-remote')) return entry;
  const url = words.slice(at + 1).find((word) => /^https?:\/\//.test(word));
  if (url === undefined) return entry;
  const headers = Object.fromEntries(
    words.flatMap((word, index) => {
      const line = word === '--header' ? words[index + 1] : undefined;
      return line === undefined || !line.includes(':')
        ? []
        : [[line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()] as const];
    }),
  );
  return { ...rest, type: undefined, url, ...(Object.keys(headers).length === 0 ? {} : { headers }) };
}

/** Whether two entries name the same server, whatever their other options are. */
function isSame(one: unknown, other: JsonObject): boolean {
  if (!isObject(one)) return false;
  if (typeof one['url'] === 'string' || typeof other['url'] === 'string')
    return String(one['url']).replace(/\/$/, '') === String(other['url']).replace(/\/$/, '');
  return one['command'] === other['command'] && isDeepStrictEqual(one['args'] ?? [], other['args'] ?? []);
}

/** Moves secrets of an entry into files, to which the entry refers as `${file:...}`. */
function hideSecrets(entry: JsonObject, server: string, file: string, report: Report): JsonObject {
  const folder = `${file.replace(/\.[^.]*$/, '')}.secrets`;
  const hidden = (option: 'env' | 'headers'): object => {
    const given = entry[option];
    if (!isObject(given)) return {};
    return {
      [option]: Object.fromEntries(
        Object.entries(given).map(([name, value]) => {
          if (typeof value !== 'string' || value === '' || !secretName.test(name) || value.includes('${'))
            return [name, value];
          const path = join(
            folder,
            `${server}-${name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}${Object.keys(given).filter((each) => each.toLowerCase() === name.toLowerCase()).length > 1 ? `-${createHash('sha256').update(name).digest('hex').slice(0, 4)}` : ''}`,
          );
          report.secrets.push({ file: path, text: value });
          return [name, `\${file:${path.slice(dirname(file) === '.' ? 0 : dirname(file).length + 1)}}`];
        }),
      ),
    };
  };
  return Object.fromEntries(
    Object.entries({ ...entry, ...hidden('env'), ...hidden('headers') }).filter(([, value]) => value !== undefined),
  );
}

function writeSecret(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
}

function say({ taken, same, remarks, secrets }: Report): void {
  for (const { server, client, from } of taken) notice(`${server}  from ${client}, ${from}`);
  for (const { server, from } of same) notice(`${server}  is in the configuration already; ${from} has it too`);
  for (const { from, line, path, text } of remarks) notice(`  ${from}:${line}: ${path}: ${text}`);
  if (secrets.length > 0)
    notice(
      `  ${secrets.length === 1 ? 'a secret goes' : `${secrets.length} secrets go`} into ${dirname(secrets[0]?.file ?? '')}, readable by you only`,
    );
}
