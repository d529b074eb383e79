/**
 * Reads the audit records that this process can reach, on request: folders of its own machine, and the stream in NATS. Each answer has a bound on time and bytes;
 * a verification continues in steps, so that each answer is quick.
 */
import { createHash, randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { AuditRow, AuditVerified } from '@omnibus/admin-api';
import type * as Library from '@omnibus/audit';
import type { Checkpoint, CheckpointKey, Lane, LaneLine, PlacedLine, RecordFilter, Verifier } from '@omnibus/audit';
import { auditLedger, type Bus, type Ledger, auditLedgerOf } from '@omnibus/bus';
import { ledgerSinkOf } from '@omnibus/config';
import type { JsonObject } from '@omnibus/protocol';
import { z } from 'zod';
import { rowOf } from './audit-rows.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';

interface AuditDeskOptions extends Pick<ApiOptions, 'process' | 'config' | 'baseFolder'> {
  /** Undefined while the process is starting. */
  readonly bus: () => Bus | undefined;
}

/** Bounds of one search and of one step of a verification. A step is shorter than other processes wait for an answer. */
const searchBounds = { ms: 1_500, bytes: 64 * 1024 * 1024 } as const;
const stepMs = 300;
/** Bound on records of one verification, with hashes in memory until its end. `omnibus audit verify` has none. */
const maxRecords = 200_000;
/** Bound on concurrent verifications, and lifetime of an abandoned one. */
const maxRuns = 2;
const idleMs = 30_000;
/** Bound on a file of checkpoints, of which each takes some 300 bytes. */
const maxCheckpointBytes = 16 * 1024 * 1024;
const maxFindings = 200;
/** Bound on characters of a record in full; rules may record 8 KiB of arguments and as much of a result. */
const maxRecordCharacters = 48 * 1024;

/** Where records can be read. */
interface Place {
  readonly source: string;
  readonly kind: 'jetstream' | 'file';
  readonly place: string;
  readonly folder: string;
}

interface Run {
  readonly writer: string;
  /** The chain that is verified, and those that go on after it. */
  readonly writers: ReadonlySet<string>;
  readonly verifier: Verifier;
  readonly lines: AsyncIterator<PlacedLine>;
  records: number;
  bytes: number;
  usedAt: number;
}

const filterAsked = z
  .object({
    who: z.string(),
    server: z.string(),
    tool: z.string(),
    event: z.string(),
    outcome: z.string(),
    session: z.string(),
    since: z.string(),
    until: z.string(),
  })
  .partial();
const searchAsked = z.object({
  source: z.string(),
  filter: filterAsked,
  limit: z.number(),
  cursor: z.string().optional(),
});
const recordAsked = z.object({ source: z.string(), at: z.string() });
const verifyAsked = z.object({ source: z.string(), writer: z.string(), run: z.string().optional() });

export class AuditDesk {
  readonly #options: AuditDeskOptions;
  readonly #runs = new Map<string, Run>();
  #ledger: Promise<Ledger> | undefined;

  constructor(options: AuditDeskOptions) {
    this.#options = options;
  }

  /** Questions that name another process (`to`) are not answered. */
  get questions(): Readonly<Record<string, Question>> {
    const own =
      (run: (args: JsonObject) => Promise<JsonObject | undefined>): Question =>
      ({ to, ...args }) =>
        to === this.#options.process ? run(args as JsonObject) : undefined;
    return {
      'audit-places': () => ({ places: this.#places.map(({ source, kind, place }) => ({ source, kind, place })) }),
      'audit-search': own((args) => this.#search(searchAsked.parse(args))),
      'audit-record': own((args) => this.#record(recordAsked.parse(args))),
      'audit-verify': own((args) => this.#verify(verifyAsked.parse(args))),
    };
  }

  get #places(): readonly Place[] {
    const { config, baseFolder, bus } = this.#options;
    const places = (config().audit?.sinks ?? []).flatMap(({ kind, format, folder }): Place[] => {
      if (format !== 'omnibus') return [];
      if (kind === 'jetstream')
        return bus()?.isDurable === true
          ? [{ source: 'nats', kind, place: `the stream ${auditLedger.name} in NATS`, folder: '' }]
          : [];
      if (kind !== 'file' || folder === undefined) return [];
      const at = trueFolder(resolve(baseFolder, folder));
      return [
        {
          source: createHash('sha256').update(`${hostname()}\n${at}`).digest('base64url').slice(0, 16),
          kind,
          place: `${at} on ${hostname()}`,
          folder: at,
        },
      ];
    });
    return [...new Map(places.map((place) => [place.source, place])).values()];
  }

  async #search({ source, filter, limit, cursor }: z.output<typeof searchAsked>): Promise<JsonObject> {
    const { searchBack } = await import('@omnibus/audit');
    const {
      found,
      cursor: next,
      reached,
      records,
      bytes,
    } = await searchBack(await this.#lanes(source, filter), filter, { ...searchBounds, records: limit }, cursor);
    const rows = found.map((each): AuditRow => rowOf(source, each.record, each, `${each.lane}/${each.from}`));
    return {
      rows: rows.map((row) => ({ ...row })),
      looked: records,
      bytes,
      ...(next === undefined ? {} : { next }),
      ...(reached === undefined ? {} : { reached }),
    };
  }

  /** One record, and whether the one before it in its chain has the hash that it names. */
  async #record({ source, at }: z.output<typeof recordAsked>): Promise<JsonObject | undefined> {
    const { readLink } = await import('@omnibus/audit');
    const end = at.lastIndexOf('/');
    const lane = (await this.#lanes(source, {})).find(({ name }) => name === at.slice(0, end));
    const lines = lane?.read(at.slice(end + 1));
    if (lines === undefined) return undefined;
    try {
      const first = await lines.next();
      const link = first.done === true ? undefined : readLink(first.value.text);
      if (first.done === true || link === undefined) return undefined;
      let follows = link.seq === 1 ? 'first' : 'unknown';
      const until = performance.now() + stepMs;
      while (link.seq > 1 && performance.now() < until) {
        const { done, value } = await lines.next();
        if (done === true) break;
        const before = readLink(value.text);
        if (before?.writer !== link.writer) continue;
        if (before.seq === link.seq - 1) follows = before.isGenuine && before.hash === link.prev ? 'yes' : 'no';
        if (before.seq < link.seq) break;
      }
      return {
        row: { ...rowOf(source, link.record, link, at) },
        record: first.value.text.slice(0, maxRecordCharacters),
        chain: { prev: link.prev, hash: link.hash, isGenuine: link.isGenuine, follows },
      };
    } finally {
      await lines.return?.();
    }
  }

  /** One step. @returns the name of the run, or its result. */
  async #verify({ source, writer, run: named }: z.output<typeof verifyAsked>): Promise<JsonObject> {
    const library = await import('@omnibus/audit');
    for (const [name, { usedAt }] of this.#runs) if (Date.now() - usedAt > idleMs) this.#runs.delete(name);
    const name = named ?? randomUUID();
    const known = this.#runs.get(name);
    if (known === undefined && named !== undefined)
      return { problem: 'this verification was given up: nobody has asked for it for a while' };
    if (known === undefined && this.#runs.size >= maxRuns)
      return { problem: 'other chains are being verified', isBusy: true };
    const verifier = new library.Verifier();
    const writers = new Set([writer]);
    const run: Run = known ?? {
      writer,
      writers,
      verifier,
      lines: this.#linesOf(library, source, writers, verifier),
      records: 0,
      bytes: 0,
      usedAt: 0,
    };
    run.usedAt = Date.now();
    this.#runs.set(name, run);
    try {
      for (const until = performance.now() + stepMs; performance.now() < until;) {
        const { done, value } = run.records >= maxRecords ? { done: true, value: undefined } : await run.lines.next();
        if (done !== true && value !== undefined) {
          run.verifier.add(value.text, value.place, value.isWhole, value.entry);
          run.records += 1;
          run.bytes += value.text.length;
          continue;
        }
        this.#runs.delete(name);
        return { verified: { ...(await this.#finished(library, run, run.records < maxRecords)) } };
      }
    } catch (error) {
      this.#runs.delete(name);
      throw error;
    }
    return { run: name, progress: { records: run.records, bytes: run.bytes } };
  }

  async #finished(
    library: typeof Library,
    { writer, writers, verifier, records, bytes }: Run,
    isWhole: boolean,
  ): Promise<AuditVerified> {
    const { checkpoints, key } = await this.#checkpoints(library);
    // Unread records cannot be compared: a partly verified chain would seem to be cut off.
    const { findings, checkpoints: compared } = verifier.finish(
      isWhole ? checkpoints.filter((each) => writers.has(each.writer)) : [],
      key,
      isWhole && checkpoints.length > 0,
    );
    return {
      writer,
      records,
      bytes,
      isWhole,
      checkpoints: compared,
      findings: findings.slice(0, maxFindings).map(({ weight, text }) => ({ weight, text })),
    };
  }

  async #checkpoints({ readCheckpoint, readCheckpointKey }: typeof Library): Promise<{
    readonly checkpoints: readonly Checkpoint[];
    readonly key: CheckpointKey | undefined;
  }> {
    const { config, baseFolder } = this.#options;
    const { file, keyFile } = config().audit?.checkpoints ?? {};
    const path = file === undefined ? undefined : resolve(baseFolder, file);
    if (
      path === undefined ||
      keyFile === undefined ||
      (await stat(path).catch(() => undefined))?.size === undefined ||
      (await stat(path)).size > maxCheckpointBytes
    )
      return { checkpoints: [], key: undefined };
    const checkpoints = (await readFile(path, 'utf8'))
      .split('\n')
      .map((line) => readCheckpoint(line))
      .filter((each) => each !== undefined);
    return { checkpoints, key: readCheckpointKey(await readFile(resolve(baseFolder, keyFile), 'utf8')) };
  }

  async #lanes(source: string, { since }: RecordFilter): Promise<readonly Lane[]> {
    const { kind, folder } = this.#placeOf(source);
    const { lanesOfFolder } = await import('@omnibus/audit');
    if (kind === 'file') return lanesOfFolder(folder, since);
    const ledger = await this.#open();
    return [{ name: 'nats', read: (from) => linesBack(ledger, from) }];
  }

  #linesOf(
    { writersOf, linesOfFile, linesOfEntry, readLink }: typeof Library,
    source: string,
    writers: Set<string>,
    verifier: Verifier,
  ): AsyncIterator<PlacedLine> {
    const [writer = ''] = writers;
    const { kind, folder } = this.#placeOf(source);
    const open = (): Promise<Ledger> => this.#open();
    return (async function* lines() {
      if (kind === 'file') {
        for (const file of (await writersOf(folder)).get(writer) ?? []) yield* linesOfFile(file);
        return;
      }
      const ledger = await open();
      let last = 0;
      for await (const entry of ledger.read(writer)) {
        last = entry.number;
        yield* linesOfEntry(entry);
      }
      if (!verifier.isDoubtful) return;
      // After another program's entry, the process goes on under a new name: the last records of this chain and the next chain are there.
      for await (const entry of ledger.read(undefined, last))
        for (const line of linesOfEntry(entry)) {
          const link = readLink(line.text);
          if (link === undefined) continue;
          if (link.seq === 1 && writers.has(String(link.record['omnibus.after.writer']))) writers.add(link.writer);
          if (writers.has(link.writer)) yield line;
        }
    })();
  }

  /** @throws {Error} for a sink that the configuration does not name (any more). */
  #placeOf(source: string): Place {
    const place = this.#places.find((each) => each.source === source);
    if (place === undefined) throw new Error('this process has no such place of records');
    return place;
  }

  #open(): Promise<Ledger> {
    const { config, bus } = this.#options;
    const opening = this.#ledger ?? (bus() as Bus).ledger(auditLedgerOf(ledgerSinkOf(config())));
    this.#ledger = opening;
    opening.catch(() => {
      this.#ledger = undefined;
    });
    return opening;
  }
}

/** The lines of a stream from the latest back. @param from `NUMBER:LINES`: that message without what comes after so many of its lines, and those before it. */
async function* linesBack(ledger: Ledger, from: string | undefined): AsyncGenerator<LaneLine> {
  const [, number, count] = /^(\d{1,15}):(\d{1,6})$/.exec(from ?? '') ?? [];
  for await (const entry of ledger.readBack(number === undefined ? undefined : Number(number) + 1)) {
    const lines = entry.text.split('\n');
    const end = String(entry.number) === number ? Math.min(Number(count), lines.length) : lines.length;
    for (let line = end; line > 0; line -= 1) {
      const text = lines[line - 1] as string;
      yield { text, from: `${entry.number}:${line}`, rest: `${entry.number}:${line - 1}`, bytes: text.length };
    }
  }
}

/** The folder without symbolic links, so that two processes that write to one folder are known to. */
function trueFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder; // It is created with the first record.
  }
}
