/** Reads audit records: `verify` checks whether they are as they were written, `search` finds some of them. */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  filesOf,
  LatestRecords,
  linesOfEntry,
  linesOfFile,
  readCheckpoint,
  readCheckpointKey,
  recordFilter,
  Verifier,
  type Checkpoint,
  type CheckpointKey,
  type Finding,
  type PlacedLine,
} from '@omnibus/audit';
import { objectIn, printable } from '@omnibus/protocol';
import { auditLedgerOf } from '@omnibus/bus';
import { ledgerSinkOf, type GivenRole } from '@omnibus/config';
import { openBus } from '@omnibus/setup/bus';
import { wordOf, readTime } from '@omnibus/admin';
import { alignColumns } from '../output/table.ts';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { needSettings } from './settings.ts';

interface ReadOptions {
  readonly config?: string;
  /** Reads the records in the NATS of the configuration, as the user of this role; `true` stands for the role `all`. */
  readonly bus?: boolean | GivenRole;
  readonly json?: boolean;
}

export interface VerifyOptions extends ReadOptions {
  readonly checkpoints?: readonly string[];
  readonly key?: string;
}

export interface SearchOptions extends ReadOptions {
  readonly who?: string;
  readonly tool?: string;
  readonly server?: string;
  readonly event?: string;
  readonly outcome?: string;
  readonly session?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: string;
}

const connectMs = 10_000;

/** How often files are read that change under the reader. */
const maxReadings = 5;
/** Bound on records that are found: they are sorted in memory, at about a kilobyte each. */
const maxFound = 100_000;

export function verify(places: readonly string[], options: VerifyOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const verifier = await verified(places, options);
    const { checkpoints, key } = await findCheckpoints(places, options);
    const { findings, records, writers, checkpoints: compared } = verifier.finish(checkpoints, key);
    const exit = findings.some(({ weight }) => weight === 'harm')
      ? 'changed'
      : findings.length > 0
        ? 'incomplete'
        : records === 0
          ? 'unknown'
          : 'done';
    if (options.json === true) {
      answerJson({ records, writers, checkpoints: compared, findings });
      return exit;
    }
    const words = { harm: 'CHANGED', foreign: 'FOREIGN', gap: 'NOT WHOLE', open: 'OPEN' } as const satisfies Record<
      Finding['weight'],
      string
    >;
    for (const { weight, text } of findings) answer(`${words[weight]}  ${printable(text)}\n`);
    const sum = `${records} records of ${writers} writers${compared === 0 ? '' : `, ${compared} checkpoints`}`;
    answer(findings.length === 0 && records > 0 ? `${sum}: all as they were written\n` : `${sum}\n`);
    return exit;
  });
}

/** Reads everything, and from the beginning again when a process has removed a file meanwhile because it was old: that it did is on record only afterwards. */
async function verified(places: readonly string[], options: VerifyOptions): Promise<Verifier> {
  for (let reading = 1; ; reading += 1) {
    const verifier = new Verifier();
    try {
      for await (const { text, place, isWhole, entry } of linesOf(places, options))
        verifier.add(text, place, isWhole, entry);
      return verifier;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || reading === maxReadings) throw error;
    }
  }
}

export function search(places: readonly string[], options: SearchOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { who, tool, server, event, outcome, session, since, until } = options;
    const wanted = recordFilter({
      who,
      tool,
      server,
      event,
      outcome,
      session,
      since: timeOf(since),
      until: timeOf(until),
    });
    const limit = Number(options.limit);
    if (!Number.isInteger(limit) || limit < 1 || limit > maxFound)
      throw new CommandProblem(
        'usage',
        `--limit: expected a number from 1 to ${maxFound}, not ${JSON.stringify(options.limit)}`,
      );
    const latest = new LatestRecords(limit);
    for await (const { text } of linesOf(places, options)) {
      // A search works on damaged files too; `verify` reports such lines.
      const record = objectIn(text);
      if (record !== undefined && wanted(record)) latest.add(record);
    }
    const found = latest.all;
    if (options.json === true) for (const record of found) answer(`${JSON.stringify(record)}\n`);
    else
      answer(
        `${alignColumns([['TIME', 'EVENT', 'WHO', 'SERVER', 'TOOL', 'OUTCOME', 'WHY', 'MS'], ...found.map(rowOf)])}\n`,
      );
    return found.length === 0 ? 'unknown' : 'done';
  });
}

function rowOf(record: Readonly<Record<string, unknown>>): string[] {
  const shown = (...names: readonly string[]): string => printable(wordOf(record, ...names) ?? '-');
  return [
    shown('time'),
    shown('event.name'),
    shown('user.id', 'omnibus.principal'),
    shown('omnibus.server'),
    shown('omnibus.tool', 'gen_ai.tool.name', 'mcp.resource.uri', 'mcp.method.name'),
    shown('omnibus.outcome'),
    shown('error.type', 'omnibus.rule'),
    shown('omnibus.duration_ms'),
  ];
}

/** @returns ISO 8601. @throws {CommandProblem} */
export function timeOf(text: string | undefined): string | undefined {
  const time = text === undefined ? undefined : readTime(text);
  if (text !== undefined && time === undefined)
    throw new CommandProblem(
      'usage',
      `"${text}" is not a time: write 15m, 2h, 7d, or a date such as 2026-11-22T10:00:00Z`,
    );
  return time;
}

/** Checkpoints that are named, or those of the configuration where the records are those of the configuration too. @throws {CommandProblem} if no key checks their signatures, so that they cannot be trusted. */
async function findCheckpoints(
  places: readonly string[],
  { checkpoints: files, key: keyFile, config }: VerifyOptions,
): Promise<{ readonly checkpoints: readonly Checkpoint[]; readonly key: CheckpointKey | undefined }> {
  const configured =
    files === undefined && (config !== undefined || places.length === 0) ? await needSettings(config, {}) : undefined;
  const settings = configured?.config.audit?.checkpoints;
  const at = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(configured?.baseFolder ?? '.', file);
  const from = files ?? [at(settings?.file)].filter((file) => file !== undefined);
  const keyAt = keyFile ?? at(settings?.keyFile);
  const checkpoints: Checkpoint[] = [];
  for (const file of from) {
    for (const [index, line] of (await readable(readFile(file, 'utf8'))).split('\n').entries()) {
      if (line === '') continue;
      const checkpoint = readCheckpoint(line);
      if (checkpoint === undefined)
        throw new CommandProblem('config', `${file}:${index + 1}: this line is not a checkpoint`);
      checkpoints.push(checkpoint);
    }
  }
  if (checkpoints.length > 0 && keyAt === undefined)
    throw new CommandProblem(
      'usage',
      'whoever can rewrite checkpoints can rewrite records: name the key that signed them (--key FILE; for an Ed25519 key the public part is enough)',
    );
  const key = keyAt === undefined ? undefined : readCheckpointKey(await readable(readFile(keyAt, 'utf8')));
  return { checkpoints, key };
}

/** @throws {CommandProblem} */
async function readable<Found>(reading: Promise<Found>): Promise<Found> {
  try {
    return await reading;
  } catch (error) {
    throw new CommandProblem(
      (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'unknown' : 'other',
      (error as Error).message,
    );
  }
}

/** All lines of the files, folders or stream that are named. @throws {Error} where one cannot be read. */
async function* linesOf(given: readonly string[], { config, bus }: ReadOptions): AsyncGenerator<PlacedLine> {
  if (bus !== undefined && bus !== false) {
    yield* linesOnBus(config, bus === true ? 'all' : bus);
    return;
  }
  const places = given.length > 0 ? given : await foldersOf(config);
  for (const place of places)
    for (const file of (await isFolder(place)) ? await filesOf(place) : [place]) yield* linesOfFile(file);
}

/** @throws {CommandProblem} */
export async function isFolder(place: string): Promise<boolean> {
  return (await readable(stat(place))).isDirectory();
}

/** All lines of the records in NATS, in the order in which they were written there. @throws {Error} where NATS is not configured or not reached. */
export async function* linesOnBus(config: string | undefined, role: GivenRole): AsyncGenerator<PlacedLine> {
  const settings = await needSettings(config, {});
  if (settings.config.bus === 'memory')
    throw new CommandProblem('config', `${settings.file} names no NATS: write "bus: nats://host:port"`);
  const bus = await openBus(settings.config, {
    role,
    baseFolder: settings.baseFolder,
    onFault: () => undefined,
    connectTimeoutMs: connectMs,
  });
  try {
    const ledger = await bus.ledger(auditLedgerOf(ledgerSinkOf(settings.config)));
    for await (const entry of ledger.read()) yield* linesOfEntry(entry);
  } finally {
    await bus.drain();
  }
}

/** The folders that the configuration writes records to. @throws {Error} where there is none. */
export async function foldersOf(config: string | undefined): Promise<readonly string[]> {
  const settings = await needSettings(config, {});
  const folders = (settings.config.audit?.sinks ?? []).flatMap(({ kind, format, folder }) =>
    kind === 'file' && format === 'omnibus' && folder !== undefined ? [resolve(settings.baseFolder, folder)] : [],
  );
  if (folders.length === 0)
    throw new CommandProblem('config', `${settings.file} has no sink of kind "file": name a file or folder of records`);
  return [...new Set(folders)];
}
