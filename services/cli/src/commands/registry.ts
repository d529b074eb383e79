/** Servers of registries: a search, and the entry of the configuration for one of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandProblem } from '@omnibus/client';
import { isLoopback } from '@omnibus/config';
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import { Answers } from '../registry/answers.ts';
import { Registry } from '../registry/api.ts';
import { entryFor, waysOf, wayTo, type Way } from '../registry/entry.ts';
import { pinned } from '../registry/image.ts';
import { readServer, type ServerDocument } from '../registry/server-json.ts';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { alignColumns } from '../output/table.ts';
import { isInteractive, type InputOptions } from '../output/terminal.ts';

const officialRegistry = 'https://registry.modelcontextprotocol.io';

export interface RegistryOptions {
  readonly registry?: string;
}

export interface SearchOptions extends RegistryOptions {
  readonly limit: number;
  readonly json?: boolean;
}

export interface FromOptions extends RegistryOptions, InputOptions {
  readonly from?: string;
  readonly set?: readonly string[];
  readonly use?: Way;
  /** False with `--no-pin`. */
  readonly pin?: boolean;
}

/** Lists the servers of a registry whose names contain the words. */
export function searchRegistry(words: readonly string[], options: SearchOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { found, isCut } = await registryOf(options).search(words.join(' '), options.limit);
    if (found.length === 0)
      throw new CommandProblem('unknown', 'the registry has no server with this in its name', {
        advice: 'Search for one word of its name, or of the name of its publisher.',
      });
    const rows = found.map(({ server, status }) => {
      const document = readServer(server);
      return {
        name: document.name,
        version: document.version ?? '',
        ways: waysOf(document),
        description: typeof server['description'] === 'string' ? server['description'] : '',
        ...(status === undefined ? {} : { status }),
      };
    });
    if (options.json === true) answerJson({ servers: rows, isCut });
    else {
      const lines = rows.map(({ name, version, ways, description, status }) => [
        name,
        printable(version, 40),
        ways.join(', ') || '-',
        `${status === 'deprecated' ? 'deprecated: ' : ''}${printable(description, 100)}`,
      ]);
      answer(`${alignColumns([['NAME', 'VERSION', 'BY', 'DESCRIPTION'], ...lines])}\n`);
      if (isCut) notice(`there are more than ${options.limit}: give more words, or --limit`);
      notice('add one: omnibus add NAME --from SERVER');
    }
    return 'done';
  });
}

/** An entry of the configuration that others have described. */
export interface GivenEntry {
  readonly entry: JsonObject;
  /** The names of its environment variables and headers that are secret. */
  readonly secrets: ReadonlySet<string>;
  /** Puts the files of the server in their place, once the user has agreed; left out for a server without files. */
  readonly prepare?: () => Promise<void>;
}

/** Where a server will be: its name, and the folder of the configuration. */
export interface Place {
  readonly name: string;
  readonly folder: string;
}

/**
 * The entry for a server of a registry, or of a file.
 * @param from the name of a server, with "@" and a version if it is not the latest; a `server.json`; or a bundle (`.mcpb`).
 * @throws {CommandProblem} if there is no such server, or a value is missing.
 */
export async function entryFrom(from: string, options: FromOptions, place: Place): Promise<GivenEntry> {
  const answers = new Answers(options.set ?? [], isInteractive(options));
  if (/\.(mcpb|dxt)$/i.test(from)) {
    const { bundleOfFile } = await import('../bundles/fetch.ts');
    return ofBundle(await bundleOfFile(from), answers, place);
  }
  const server = await documentOf(from, options);
  const way = wayTo(server, options.use);
  if (way === 'mcpb') {
    const { identifier = '', sha256 } = server.packages.find(({ type }) => type === way) ?? {};
    const { bundleAt } = await import('../bundles/fetch.ts');
    return ofBundle(await bundleAt(identifier, sha256, isDescribedHere(from, options)), answers, place);
  }
  const entry = await entryFor(server, way, answers, (image) =>
    options.pin === false ? Promise.resolve(image) : pinned(image),
  );
  answers.check();
  return { entry, secrets: answers.secrets };
}

/** The entry for a bundle, which is unpacked beside the configuration. The unpacker is loaded only here. */
async function ofBundle(bytes: Buffer, answers: Answers, { name, folder }: Place): Promise<GivenEntry> {
  const { bundleEntry } = await import('../bundles/bundle.ts');
  const found = await bundleEntry(bytes, { folder: join(folder, 'bundles'), name }, answers);
  answers.check();
  if (found.runtimes.length > 0) notice(`the bundle needs ${found.runtimes.join(', ')}`);
  return found;
}

async function documentOf(from: string, options: RegistryOptions): Promise<ServerDocument> {
  if (/\.json$/i.test(from)) return readServer(serverIn(from));
  const at = from.lastIndexOf('@');
  const [name, version] = at > 0 ? [from.slice(0, at), from.slice(at + 1)] : [from, undefined];
  const { server, status } = await registryOf(options).server(name, version);
  if (status === 'deprecated' || status === 'deleted') notice(`warning: the registry says that ${name} is ${status}`);
  return readServer(server);
}

function serverIn(file: string): JsonObject {
  try {
    const given: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isObject(given)) return given;
  } catch (error) {
    throw new CommandProblem('config', `${file} cannot be read: ${(error as Error).message}`);
  }
  throw new CommandProblem('config', `${file} is no server.json`);
}

/** Whether a description is in a file, or in a registry of this machine. */
function isDescribedHere(from: string, options: RegistryOptions): boolean {
  const registry = addressOf(options);
  return /\.json$/i.test(from) || (URL.canParse(registry) && isLoopback(new URL(registry).hostname));
}

const addressOf = ({ registry }: RegistryOptions): string =>
  registry ?? process.env['OMNIBUS_REGISTRY'] ?? officialRegistry;

function registryOf(options: RegistryOptions): Registry {
  return new Registry(addressOf(options), process.env['OMNIBUS_REGISTRY_TOKEN']);
}
