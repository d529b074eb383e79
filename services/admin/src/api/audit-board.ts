/** Searches and verifies audit records for the API. Each folder is read by one process of its machine, and the stream in NATS by one process of all. */
import {
  auditProgress,
  auditRecord,
  auditRow,
  auditVerified,
  type AuditRecord,
  type AuditRecords,
  type auditQuery,
  type recordQuery,
  type verifyQuery,
} from '@omnibus/admin-api';
import type { JsonObject } from '@omnibus/protocol';
import { z } from 'zod';
import { readTime } from '../record-times.ts';
import { ApiProblem } from './api-problem.ts';
import type { Assembly } from './assembly.ts';
import type { ApiOptions } from './options.ts';

interface AuditBoardOptions extends Pick<ApiOptions, 'process' | 'config'> {
  readonly assembly: Assembly;
}

/** Milliseconds for an answer; a search takes at most two seconds of it. */
const answerMs = 6_000;
/** Bound on one verification. */
const verifyMs = 60_000;

const placesSaid = z.object({
  places: z.array(z.object({ source: z.string(), kind: z.enum(['jetstream', 'file']), place: z.string() })),
});
const searchSaid = z.object({
  rows: z.array(auditRow),
  next: z.string().optional(),
  looked: z.number(),
  bytes: z.number(),
  reached: z.string().optional(),
});
const stepSaid = z
  .object({
    run: z.string(),
    progress: auditProgress,
    verified: auditVerified,
    problem: z.string(),
    isBusy: z.boolean(),
  })
  .partial();
const cursorSaid = z.record(z.string(), z.string());

export class AuditBoard {
  readonly #options: AuditBoardOptions;

  constructor(options: AuditBoardOptions) {
    this.#options = options;
  }

  async search({ limit, cursor, since, until, ...names }: z.output<typeof auditQuery>): Promise<AuditRecords> {
    const { audit } = this.#options.config();
    const elsewhere = (audit?.sinks ?? [])
      .filter(({ kind, format }) => (kind !== 'file' && kind !== 'jetstream') || format !== 'omnibus')
      .map(
        ({ kind, format, url, address }) =>
          `${kind}${format === 'ocsf' ? ' (ocsf)' : ''}${url === undefined ? '' : ` ${originOf(url)}`}${address === undefined ? '' : ` ${address}`}`,
      );
    const { sources, missing } = await this.#sources();
    const filter = Object.fromEntries(
      Object.entries({ ...names, since: timeOf(since), until: timeOf(until) }).filter(
        ([, value]) => value !== undefined,
      ),
    ) as JsonObject;
    const from = cursor === undefined ? undefined : cursorOf(cursor);
    const asked = sources.filter(({ source }) => from === undefined || Object.hasOwn(from, source));
    const pages = await Promise.all(
      asked.map(async ({ source, process }) => {
        const said = await this.#ask(
          process,
          'audit-search',
          { source, filter, limit, ...(from?.[source] === undefined ? {} : { cursor: from[source] }) },
          searchSaid,
        );
        return { source, ...said };
      }),
    );
    const next = Object.fromEntries(
      pages.flatMap((page) => (page.next === undefined ? [] : [[page.source, page.next]])),
    );
    const reached = pages
      .map((page) => page.reached)
      .filter((each) => each !== undefined)
      .toSorted()
      .at(0);
    return {
      isRecorded: audit !== undefined,
      sources,
      elsewhere,
      missing,
      looked: pages.reduce((sum, page) => sum + page.looked, 0),
      bytes: pages.reduce((sum, page) => sum + page.bytes, 0),
      records: pages
        .flatMap(({ rows }) => rows)
        .toSorted((one, other) => other.time.localeCompare(one.time) || other.seq - one.seq),
      ...(reached === undefined ? {} : { reached }),
      ...(Object.keys(next).length === 0 ? {} : { next: Buffer.from(JSON.stringify(next)).toString('base64url') }),
    };
  }

  async record({ source, at }: z.output<typeof recordQuery>): Promise<AuditRecord> {
    const { process } = await this.#sourceOf(source);
    return this.#ask(process, 'audit-record', { source, at }, auditRecord);
  }

  /**
   * Verifies the chain of one writer.
   * @param told with the progress so far. @param isWanted false if no reader waits for the result any more.
   * @returns undefined without a reader.
   */
  async verify(
    { source, writer }: z.output<typeof verifyQuery>,
    told: (progress: z.output<typeof auditProgress>) => void,
    isWanted: () => boolean,
  ): Promise<z.output<typeof auditVerified> | undefined> {
    const { process } = await this.#sourceOf(source);
    const until = performance.now() + verifyMs;
    let run: string | undefined;
    while (isWanted() && performance.now() < until) {
      const said: z.output<typeof stepSaid> = await this.#ask(
        process,
        'audit-verify',
        { source, writer, ...(run === undefined ? {} : { run }) },
        stepSaid,
      );
      if (said.problem !== undefined) throw new ApiProblem(said.isBusy === true ? 'busy' : 'conflict', said.problem);
      if (said.verified !== undefined) return said.verified;
      if (said.progress !== undefined) told(said.progress);
      ({ run } = said);
    }
    if (!isWanted()) return undefined;
    throw new ApiProblem(
      'large',
      `the chain of ${writer} is not verified within ${verifyMs / 1_000} seconds`,
      'omnibus audit verify has no limit',
    );
  }

  /** One process for each place, the asking one where it has it. */
  async #sources(): Promise<Pick<AuditRecords, 'sources' | 'missing'>> {
    const { assembly, process: own } = this.#options;
    const { said, missing } = await assembly.ask('audit-places', {}, placesSaid);
    const sources = new Map<string, AuditRecords['sources'][number]>();
    for (const { process, body } of said.toSorted(
      (one, other) =>
        Number(other.process === own) - Number(one.process === own) || one.process.localeCompare(other.process),
    )) {
      for (const place of body.places) if (!sources.has(place.source)) sources.set(place.source, { ...place, process });
    }
    // Records that are also in NATS need not be read from files of each machine.
    const all = [...sources.values()];
    return {
      sources: all.some(({ kind }) => kind === 'jetstream') ? all.filter(({ kind }) => kind === 'jetstream') : all,
      missing,
    };
  }

  async #sourceOf(source: string): Promise<AuditRecords['sources'][number]> {
    const found = (await this.#sources()).sources.find((each) => each.source === source);
    if (found === undefined)
      throw new ApiProblem(
        'unknown',
        'there is no such place of records, or the process that reads it does not answer',
      );
    return found;
  }

  /** @throws {ApiProblem} where that process does not answer, or cannot. */
  async #ask<Body>(process: string, about: string, args: JsonObject, shape: z.ZodType<Body>): Promise<Body> {
    const { said } = await this.#options.assembly.ask(about, { ...args, to: process }, shape, answerMs);
    const answer = said.find((each) => each.process === process);
    if (answer === undefined)
      throw new ApiProblem(
        'unknown',
        `${process} has no answer: the records are not there any more, cannot be read, or the cursor is none of ours`,
        'search again from the start; the log of that process, and omnibus audit verify, say more',
      );
    return answer.body;
  }
}

function timeOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = readTime(text);
  if (time === undefined)
    throw new ApiProblem(
      'invalid',
      `${JSON.stringify(text)} is not a time`,
      'write 15m, 2h, 7d, or a date such as 2026-11-22T10:00:00Z',
    );
  return time;
}

function cursorOf(cursor: string): z.output<typeof cursorSaid> {
  try {
    return cursorSaid.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw new ApiProblem('invalid', 'the cursor is none of ours', 'take `next` of the page before');
  }
}

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '');
