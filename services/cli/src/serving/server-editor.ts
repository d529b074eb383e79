/** Changes servers in the configuration file that this process follows, with the checks of `omnibus add` and `omnibus remove`. */
import { createHash } from 'node:crypto';
import { accessSync, constants, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { PlannedEdit, ServerEditor } from '@omnibus/admin';
import {
  editedEntry,
  entriesAt,
  formatOf,
  formatProblem,
  hideSecrets,
  loadConfig,
  removeEntry,
  secretsIn,
  setEntry,
  shownEntry,
  writtenSecrets,
} from '@omnibus/config';
import { isObject } from '@omnibus/protocol';
import { changesOfNames, checkText, withoutSecrets } from '../commands/servers.ts';
import { changedLines, readText, replaceFile } from '../output/write-file.ts';
import { agreeToAdded } from '../starts/consent.ts';
import { digestOfAll, startsOf, type Start } from '../starts/starts.ts';

interface EditorOptions {
  readonly file: string;
  /** The client that the file belongs to, if it is not a configuration of Omnibus. */
  readonly client: string | undefined;
  /** The digest of all that may be started. */
  readonly consent: string | undefined;
}

export function serverEditor({ file, client, consent }: EditorOptions): ServerEditor {
  return {
    read(server) {
      const { text, digest, secrets } = opened(file, client);
      const entry = entryIn(file, text, server);
      return { file, digest, ...(isObject(entry) ? { entry: shownEntry(entry, server, secrets) } : {}) };
    },
    plan(server, entry) {
      const { text, digest, secrets: known } = opened(file, client);
      const before = entryIn(file, text, server);
      if (entry === null && before === undefined) throw new Error(`${file} has no server ${JSON.stringify(server)}`);
      const after =
        entry === null
          ? removeEntry(text, formatOf(file, text), path, server)
          : setEntry(text, formatOf(file, text), path, server, editedEntry(entry, before, server, known));
      const loaded = withoutVariables(after, () => checkText(file, after));
      const starts = startsOf(loaded);
      if (consent !== undefined && digestOfAll(starts) !== consent)
        throw new Error('the gateway would then start something else than --consent allows');
      return planned({ file, server, text, digest, after, loaded, starts, known });
    },
  };
}

const path = ['mcpServers'];

function planned({
  file,
  server,
  text,
  digest,
  after,
  loaded,
  starts,
  known,
}: {
  readonly file: string;
  readonly server: string;
  readonly text: string;
  readonly digest: string;
  readonly after: string;
  readonly loaded: ReturnType<typeof checkText>;
  readonly starts: ReturnType<typeof startsOf>;
  readonly known: ReadonlySet<string>;
}): PlannedEdit {
  const values = new Set([...known, ...secretsIn(loaded.given)]);
  const written = [text, after].flatMap((each) => writtenSecrets(each, formatOf(file, each), values));
  const secrets = new Set([...values, ...written]);
  const start = startOf(loaded, server);
  const faults = loaded.faults.filter(({ path: place }) => !isUnread(loaded.given, place));
  const about = [...faults, ...loaded.notes].filter((each) => `${each.path}.`.startsWith(`mcpServers.${server}.`));
  return {
    file,
    digest,
    difference: changedLines(text, after).map((line) => hideSecrets(line, secrets)),
    warnings: [
      ...(start?.risks ?? []),
      ...about.map((each) => hideSecrets(`${each.path}: ${each.message}`, secrets)),
      ...[changesOfNames(file, text, after)].filter((words) => words !== undefined),
    ],
    starts: start?.line,
    write() {
      replaceFile(file, text, after, 0o600);
      agreeToAdded(file, starts, [server]);
    },
  };
}

/** @throws {Error} that repeats no value of a variable to which the text refers. */
function withoutVariables<Result>(text: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new Error(hideVariables(text, (error as Error).message), { cause: error });
  }
}

function hideVariables(text: string, message: string): string {
  const forms = [...text.matchAll(/\$\{(?:env:)?(\w+)/g)].flatMap(([, name = '']) => {
    const { [name]: value = '' } = process.env;
    return value.length < 4 ? [] : [value, JSON.stringify(value).slice(1, -1)];
  });
  return hideSecrets(message, new Set(forms));
}

/** Whether an option is a secret that the check did not read. @param place its path, such as `mcpServers.a.credentials.clientSecret`. */
function isUnread(given: unknown, place: string): boolean {
  const value = place.split('.').reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), given);
  return typeof value === 'string' && /\$\{(file|vault):/.test(value);
}

/** What a server starts, also where it is disabled: an operator that enables it later may not look at its program again. */
function startOf({ config, given }: ReturnType<typeof checkText>, server: string): Start | undefined {
  const settings = config.mcpServers[server];
  if (settings === undefined) return undefined;
  return startsOf({ config: { ...config, mcpServers: { [server]: { ...settings, disabled: false } } }, given })[0];
}

function entryIn(file: string, text: string, server: string): unknown {
  const entries = entriesAt(text, formatOf(file, text), path);
  return isObject(entries) && Object.hasOwn(entries, server) ? entries[server] : undefined;
}

interface Opened {
  readonly text: string;
  readonly digest: string;
  readonly secrets: ReadonlySet<string>;
}

/** The text of the file, if it is one that a gateway may write. @throws {Error} in words. */
function opened(file: string, client: string | undefined): Opened {
  if (client !== undefined)
    throw new Error(
      `${file} is a file of ${client}, which writes it itself; omnibus import makes a configuration of it`,
    );
  const real = realpathSync(file);
  // Kubernetes mounts a ConfigMap as links through a folder such as `..2026_11_25`, and replaces them at any time.
  if (/[/\\]\.\.[^/\\]+[/\\]/.test(real))
    throw new Error(`${file} is from a ConfigMap or Secret of Kubernetes; change it there`);
  for (const each of [real, dirname(real)])
    try {
      accessSync(each, constants.W_OK);
    } catch (error) {
      throw new Error(`${each} is read-only for the gateway; change the file where it is written`, { cause: error });
    }
  const text = readText(file);
  const loaded = loadConfig({ file, text, ...withoutSecrets });
  if ('problems' in loaded)
    throw new Error(
      hideVariables(
        text,
        `${file} has mistakes, which have to be corrected there first:\n${loaded.problems.map(formatProblem).join('\n')}`,
      ),
    );
  return {
    text,
    digest: createHash('sha256').update(text).digest('hex').slice(0, 32),
    secrets: secretsIn(loaded.given),
  };
}
