/** Reads audit records: `verify` checks whether they are as they were written, `search` finds some of them. */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { filesOf, readCheckpoint, readCheckpointKey, Verifier, type Checkpoint, type CheckpointKey, type Finding } from '@omnibus/audit';
import { auditLedger } from '@omnibus/bus';
import { printable } from '@omnibus/protocol';
import type { Role } from '../compose.ts';
import { openBus } from '../open-bus.ts';
import { alignColumns } from '../table.ts';
import { answer, answerJson, CommandProblem, runCommand } from '../outcome.ts';
import { needSettings } from './settings.ts';

interface ReadOptions {
  readonly config?: string;
  /** Reads the records in the NATS of the configuration, as the user of this role; `true` stands for the role `all`. */
  readonly bus?: boolean | Role;
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
/** Characters of a line; a record has about a thousand, and a few ten thousand at most. */
const maxLineCharacters = 16 * 1024 * 1024;

/** One line of a record, and where it is. */
interface Line {
  readonly text: string;
  readonly place: string;
  /** Whether it ends with a line break; a record that was cut off does not. */
  readonly isWhole: boolean;
}

export function verify(places: readonly string[], options: VerifyOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const verifier = await verified(places, options);
    const { checkpoints, key } = await findCheckpoints(options);
    const { findings, records, writers, checkpoints: compared } = verifier.finish(checkpoints, key);
    const exit = findings.some(({ weight }) => weight === 'harm') ? 'changed' : findings.length > 0 ? 'incomplete' : 'done';
    if (options.json === true) {
      answerJson({ records, writers, checkpoints: compared, findings });
      return exit;
    }
    const words = { harm: 'CHANGED', gap: 'NOT WHOLE', open: 'OPEN' } as const satisfies Record<Finding['weight'], string>;
    for (const { weight, text } of findings) answer(`${words[weight]}  ${printable(text)}\n`);
    const sum = `${records} records of ${writers} writers${compared === 0 ? '' : `, ${compared} checkpoints`}`;
    answer(findings.length === 0 ? `${sum}: all as they were written\n` : `${sum}\n`);
    return exit;
  });
}

/** Reads everything, and from the beginning again when a process has removed a file meanwhile because it was old: that it did is on record only afterwards. */
async function verified(places: readonly string[], options: VerifyOptions): Promise<Verifier> {
  for (let reading = 1; ; reading += 1) {
    const verifier = new Verifier();
    try {
      for await (const { text, place, isWhole } of linesOf(places, options)) verifier.add(text, place, isWhole);
      return verifier;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || reading === maxReadings) throw error;
    }
  }
}

export function search(places: readonly string[], options: SearchOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const wanted = filterOf(options);
    const limit = Number(options.limit);
    const found: Readonly<Record<string, unknown>>[] = [];
    for await (const { text } of linesOf(places, options)) {
      const record = recordOf(text);
      if (record === undefined || !wanted(record)) continue;
      found.push(record);
      if (found.length > limit) found.shift();
    }
    if (options.json === true) for (const record of found) answer(`${JSON.stringify(record)}\n`);
    else answer(`${alignColumns([['TIME', 'EVENT', 'WHO', 'SERVER', 'TOOL', 'OUTCOME', 'WHY', 'MS'], ...found.map(rowOf)])}\n`);
    return found.length === 0 ? 'unknown' : 'done';
  });
}

function rowOf(record: Readonly<Record<string, unknown>>): string[] {
  const show = (name: string): string => printable(wordOf(record, name) ?? '-');
  const shown = (...names: readonly string[]): string => printable(names.map((name) => wordOf(record, name)).find((word) => word !== undefined) ?? '-');
  return [show('time'), show('event.name'), shown('user.id', 'omnibus.principal'), show('omnibus.server'), shown('omnibus.tool', 'gen_ai.tool.name', 'mcp.resource.uri', 'mcp.method.name'), show('omnibus.outcome'), shown('error.type', 'omnibus.rule'), show('omnibus.duration_ms')];
}

function wordOf(record: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const { [name]: word } = record;
  return typeof word === 'string' || typeof word === 'number' ? String(word) : undefined;
}

/** Parses one line, without checking its hash: a search works on damaged files too. @returns undefined where it is not JSON. */
function recordOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined; // `verify` reports such lines.
  }
}

/** @throws {Error} in words for the operator. */
function filterOf({ who, tool, server, event, outcome, session, since, until }: SearchOptions): (record: Readonly<Record<string, unknown>>) => boolean {
  const from = since === undefined ? undefined : timeOf(since);
  const to = until === undefined ? undefined : timeOf(until);
  const isAny = (wanted: string | undefined, record: Readonly<Record<string, unknown>>, names: readonly string[]): boolean => wanted === undefined || names.some((name) => record[name] === wanted || (wanted.endsWith('*') && wordOf(record, name)?.startsWith(wanted.slice(0, -1)) === true));
  return (record) => {
    const time = String(record['time']);
    return (from === undefined || time >= from) && (to === undefined || time < to)
      && isAny(who, record, ['user.id', 'omnibus.principal', 'omnibus.client', 'omnibus.key', 'client.address', 'omnibus.by'])
      && isAny(tool, record, ['omnibus.tool', 'gen_ai.tool.name', 'gen_ai.prompt.name']) && isAny(server, record, ['omnibus.server'])
      && isAny(event, record, ['event.name']) && isAny(outcome, record, ['omnibus.outcome']) && isAny(session, record, ['mcp.session.id']);
  };
}

const spans = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads "15m", "2h" or "7d" as that long ago, else a date. @returns ISO 8601. @throws {CommandProblem} */
function timeOf(text: string): string {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * spans[unit as keyof typeof spans];
  if (Number.isNaN(at)) throw new CommandProblem('usage', `"${text}" is not a time: write 15m, 2h, 7d, or a date such as 2026-11-22T10:00:00Z`);
  return new Date(at).toISOString();
}

async function findCheckpoints({ checkpoints: files, key: keyFile, config }: VerifyOptions): Promise<{ readonly checkpoints: readonly Checkpoint[]; readonly key: CheckpointKey | undefined }> {
  const configured = files === undefined && config !== undefined ? needSettings(config, {}) : undefined;
  const settings = configured?.config.audit?.checkpoints;
  const at = (file: string | undefined): string | undefined => (file === undefined ? undefined : resolve(configured?.baseFolder ?? '.', file));
  const from = files ?? [at(settings?.file)].filter((file) => file !== undefined);
  const keyAt = keyFile ?? at(settings?.keyFile);
  const checkpoints: Checkpoint[] = [];
  for (const file of from) {
    for (const [index, line] of (await readFile(file, 'utf8')).split('\n').entries()) {
      if (line === '') continue;
      const checkpoint = readCheckpoint(line);
      if (checkpoint === undefined) throw new CommandProblem('config', `${file}:${index + 1}: this line is not a checkpoint`);
      checkpoints.push(checkpoint);
    }
  }
  return { checkpoints, key: keyAt === undefined ? undefined : readCheckpointKey(await readFile(keyAt, 'utf8')) };
}

/** All lines of the files, folders or stream that are named. @throws {Error} where one cannot be read. */
async function* linesOf(given: readonly string[], { config, bus }: ReadOptions): AsyncGenerator<Line> {
  if (bus !== undefined && bus !== false) {
    yield* linesOnBus(config, bus === true ? 'all' : bus);
    return;
  }
  const places = given.length > 0 ? given : foldersOf(config);
  for (const place of places) for (const file of await isFolder(place) ? await filesOf(place) : [place]) yield* linesIn(file);
}

/** @throws {CommandProblem} */
async function isFolder(place: string): Promise<boolean> {
  try {
    return (await stat(place)).isDirectory();
  } catch (error) {
    throw new CommandProblem((error as NodeJS.ErrnoException).code === 'ENOENT' ? 'unknown' : 'other', (error as Error).message);
  }
}

/** All lines of the records in NATS, in the order in which they were written there. @throws {Error} where NATS is not configured or not reached. */
async function* linesOnBus(config: string | undefined, role: Role): AsyncGenerator<Line> {
  const settings = needSettings(config, {});
  if (settings.config.bus === 'memory') throw new CommandProblem('config', `${settings.file} names no NATS: write "bus: nats://host:port"`);
  const { keep = 90 * spans.d, keepBytes = 1024 ** 3 } = settings.config.audit?.sinks.find(({ kind }) => kind === 'jetstream') ?? {};
  const bus = await openBus(settings.config, { role, baseFolder: settings.baseFolder, onFault: () => undefined, connectTimeoutMs: connectMs });
  try {
    const ledger = await bus.ledger({ ...auditLedger, maxAgeMs: keep, maxBytes: keepBytes });
    let number = 0;
    for await (const { writer, text: batch } of ledger.read()) {
      number += 1;
      for (const text of batch.split('\n')) yield { text, place: `${writer}, message ${number}`, isWhole: true };
    }
  } finally {
    await bus.drain();
  }
}

/** The folders that the configuration writes records to. @throws {Error} where there is none. */
function foldersOf(config: string | undefined): readonly string[] {
  const settings = needSettings(config, {});
  const folders = (settings.config.audit?.sinks ?? []).flatMap(({ kind, format, folder }) => (kind === 'file' && format === 'omnibus' && folder !== undefined ? [resolve(settings.baseFolder, folder)] : []));
  if (folders.length === 0) throw new CommandProblem('config', `${settings.file} has no sink of kind "file": name a file or folder of records`);
  return [...new Set(folders)];
}

async function* linesIn(file: string): AsyncGenerator<Line> {
  let rest = '';
  let number = 0;
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 1024 * 1024 }) as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() as string;
    for (const text of lines) yield { text, place: `${file}:${number += 1}`, isWhole: true };
    // No record is so long: what is kept of it is enough to be reported.
    if (rest.length > maxLineCharacters) rest = rest.slice(0, maxLineCharacters);
  }
  if (rest !== '') yield { text: rest, place: `${file}:${number + 1}`, isWhole: false };
}
