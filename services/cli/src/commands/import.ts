/** Copies the servers of MCP clients into the configuration, with Omnibus' names of options. Secrets go into files of their own, and everything that is not copied is reported. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { clientById, clients, entriesAt, formatOf, readClientFile, setEntry } from '@omnibus/config';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { answer, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { readText } from '../output/write-file.ts';
import { filesOf } from './connect.ts';
import { agreeToAdded, shownOf } from '../starts/consent.ts';
import { startsOf } from '../starts/starts.ts';
import { hideSecrets, writeSecret, type Secret } from './secret-files.ts';
import { attempt, checkText, write, type FileOptions } from './servers.ts';
import { findOwnFile } from './settings.ts';
import { Twins } from './twins.ts';

const newFile = 'omnibus.yaml';

interface Taken {
  readonly server: string;
  readonly from: string;
  readonly client: string;
  /** The name that the client gives it, where that may be another. */
  readonly given?: string;
  /** The options in which it differs from the server of that name in the configuration. */
  readonly differences?: readonly string[];
}

interface Report {
  readonly taken: Taken[];
  /** Servers that the configuration has already. */
  readonly same: Taken[];
  readonly remarks: { readonly from: string; readonly line: number; readonly path: string; readonly text: string }[];
  /** Clients with files that `omnibus connect` can write, by id. */
  readonly connectable: Map<string, string>;
  /** Files to write, each with one secret, readable by their owner only. */
  readonly secrets: Secret[];
}

/** @param sources clients by their ids, or files; none: every client's file that is found, and those of the project in this folder. */
export function importServers(sources: readonly string[], options: FileOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const file = findOwnFile(options.config) ?? newFile;
    const files = sources.length === 0 ? clientFiles() : sources.flatMap((source) => filesFor(source));
    if (files.length === 0)
      throw new CommandProblem('unknown', 'no file of an MCP client was found', {
        advice: 'Name one: omnibus import FILE. "omnibus clients" lists where files are looked for.',
      });
    const before = attempt(file, () => readText(file));
    const report: Report = { taken: [], same: [], remarks: [], secrets: [], connectable: new Map() };
    let text = before;
    for (const source of files) {
      if (resolve(source) === resolve(file))
        throw new CommandProblem('usage', `${source} is the configuration itself`, {
          advice: 'Name another file to write the servers to: --config omnibus.yaml.',
        });
      try {
        text = take(source, file, { before, text }, report);
      } catch (error) {
        // A named file must be valid; found files are independent of each other.
        if (sources.length > 0) throw error;
        report.remarks.push({ from: source, line: 1, path: '', text: `left out: ${(error as Error).message}` });
      }
    }
    const starts = report.taken.length === 0 ? [] : startsOf(checkText(file, text));
    const added = starts.filter(({ server }) => report.taken.some((taken) => taken.server === server));
    if (options.json !== true) {
      say(report);
      if (added.length > 0) notice(`what they start on this machine:\n${shownOf(added)}`);
    }
    // Secrets are written before the configuration, so that a gateway that follows it finds them.
    const writeSecrets = (): void => {
      for (const secret of report.secrets) writeSecret(secret);
    };
    const last = (): void =>
      agreeToAdded(
        file,
        starts,
        added.map(({ server }) => server),
      );
    if (report.taken.length === 0 && report.same.length === 0 && options.json !== true && options.print !== true) {
      answer(`nothing was taken over, and ${file} was not changed\n`);
      return 'done';
    }
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

/** The files of MCP clients that are here: those of the user, and those of the project in this folder. */
export function clientFiles(): string[] {
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

function take(
  source: string,
  file: string,
  { before, text }: { readonly before: string; readonly text: string },
  report: Report,
): string {
  const read = attempt(source, () => readClientFile(source, readText(source), dirname(resolve(file))));
  const from = read.client.name;
  for (const { path, line, text: words } of read.remarks)
    report.remarks.push({ from: source, line, path, text: words });
  const known = entriesIn(file, before);
  if (read.client.entry !== undefined && Object.keys(read.servers).length > 0)
    report.connectable.set(read.client.id, from);
  const twins = new Twins((path) => textOfSecret(file, path, report));
  let changed = text;
  for (const [given, wanted] of Object.entries(read.servers)) {
    const there = entriesIn(file, changed);
    const compared = Object.keys(there).flatMap((name) => {
      const entry = there[name];
      return isObject(entry) ? [{ name, differences: twins.differences(entry, wanted) }] : [];
    });
    // The user may have changed limits and selections of a server that was there before this command.
    const twin =
      compared.find(({ differences }) => differences.length === 0) ??
      compared.find(
        ({ name, differences }) => name === given && Object.hasOwn(known, name) && twins.areOneServer(differences),
      );
    const place = { from: source, client: from };
    if (twin !== undefined) {
      const { name, differences } = twin;
      report.same.push({ server: name, given, ...place, ...(differences.length === 0 ? {} : { differences }) });
      continue;
    }
    const name = freeName(given, read.client.id, there);
    const differences = compared.find((each) => each.name === given)?.differences;
    const entry = hideSecrets(wanted, name, file, report.secrets);
    changed = attempt(file, () => setEntry(changed, formatOf(file, changed), ['mcpServers'], name, entry));
    report.taken.push({ server: name, ...place, ...(differences === undefined ? {} : { given, differences }) });
  }
  return changed;
}

function entriesIn(file: string, text: string): JsonObject {
  const servers = attempt(file, () => entriesAt(text, formatOf(file, text), ['mcpServers']));
  return isObject(servers) ? servers : {};
}

/** The text of a file that an entry names: one that is to be written, or one that is there. */
function textOfSecret(file: string, path: string, { secrets }: Report): string | undefined {
  const whole = resolve(dirname(file), path);
  const planned = secrets.find((secret) => resolve(secret.file) === whole);
  if (planned !== undefined) return planned.text;
  return existsSync(whole) ? attempt(whole, () => readText(whole)) : undefined;
}

/** The name of the client's entry; where another server has it, with the client behind it. */
function freeName(given: string, client: string, taken: JsonObject): string {
  let name = given;
  for (let number = 1; Object.hasOwn(taken, name); number += 1)
    name = `${given}-${client}${number === 1 ? '' : `-${number}`}`.slice(-64);
  return name;
}

function say({ taken, same, remarks, secrets, connectable }: Report): void {
  for (const { server, client, from, given, differences = [] } of taken)
    notice(
      `${server}  from ${client}, ${from}${differences.length === 0 ? '' : `; it is no twin of ${given ?? server}, from which it differs in ${differences.join(', ')}`}`,
    );
  for (const { server, from, given, differences = [] } of same)
    notice(
      `${given ?? server} of ${from}  is in the configuration already${given === server ? '' : ` as ${server}`}${differences.length === 0 ? '' : `, which keeps its own ${differences.join(', ')}`}`,
    );
  for (const { from, line, path, text } of remarks)
    notice(`  ${from}:${line}: ${path === '' ? '' : `${path}: `}${text}`);
  if (secrets.length > 0)
    notice(
      `  ${secrets.length === 1 ? 'a secret goes' : `${secrets.length} secrets go`} into ${dirname(secrets[0]?.file ?? '')}, readable by you only`,
    );
  if (taken.length > 0)
    for (const [id, name] of connectable)
      notice(`  next: "omnibus connect ${id} --replace" puts the gateway into the file of ${name}, in their place`);
}
