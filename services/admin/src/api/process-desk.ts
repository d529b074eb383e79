/** This process' answers to questions to all (`assembly.ts`): its own state, and operations on it. */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '@omnibus/config';
import {
  isModernRevision,
  printable,
  repairs as table,
  type AdminAnswer,
  type AdminQuestion,
  type JsonObject,
  type RepairRow,
  type ServerName,
  type WorkerId,
  type WorkerOfRole,
} from '@omnibus/protocol';
import type { ApiOptions } from './options.ts';
import { stateOf } from './server-state.ts';
import { redactedConfig } from './shown-config.ts';

interface ProcessDeskOptions extends Pick<
  ApiOptions,
  'process' | 'status' | 'config' | 'metrics' | 'sessions' | 'backend' | 'edge'
> {
  /** Questions that other parts of the process answer. */
  readonly more?: Readonly<Record<string, Question>>;
}

/** @returns what JSON can hold, as an object; undefined where this process has nothing of it. */
export type Question = (args: JsonObject) => object | undefined | Promise<object | undefined>;

/** Lines of a server's diary in one answer. */
const maxLines = 500;

export class ProcessDesk {
  readonly #options: ProcessDeskOptions;
  readonly #questions: Readonly<Record<string, Question>>;
  readonly #startedAt = new Date().toISOString();
  readonly #digests = new WeakMap<Config, string>();

  constructor(options: ProcessDeskOptions) {
    this.#options = options;
    this.#questions = {
      process: () => this.#process(),
      servers: () => this.#servers(),
      lines: ({ server, since }) => this.#lines(String(server), since),
      metrics: async () => ({ ...(await options.metrics.upstream.counts()) }),
      sessions: () => ({ ...(options.sessions()?.list() ?? { sessions: [], total: 0, clients: [] }) }),
      'session-end': ({ key }) => ({ ended: options.sessions()?.end(String(key)) === true }),
      restart: async ({ server }) => ({ done: (await options.backend()?.restart(String(server))) === true }),
      catalogue: (args) => {
        const { endpoint, q, kind, server, from, limit } = args as Readonly<
          Record<string, string | number | undefined>
        >;
        const found = options.sessions()?.catalogue({
          endpoint: String(endpoint ?? ''),
          q: textOf(q),
          kind: textOf(kind),
          server: textOf(server),
          from: Number(from),
          limit: Number(limit),
        });
        return found === undefined ? undefined : { ...found };
      },
      ...options.more,
    };
  }

  readonly answer = async ({ about, args }: AdminQuestion): Promise<AdminAnswer> => {
    const { process: name, status } = this.#options;
    const frame = { process: name, role: status().role, workers: this.#workers, known: this.#known };
    const question = Object.hasOwn(this.#questions, about) ? this.#questions[about] : undefined;
    try {
      const body = await question?.(args);
      return body === undefined ? frame : { ...frame, body: body as JsonObject };
    } catch (error) {
      return { ...frame, problem: (error as Error).message };
    }
  };

  get #workers(): WorkerId[] {
    const { sessions, backend, edge } = this.#options;
    return [sessions()?.worker, backend()?.worker, edge()?.worker].filter((worker) => worker !== undefined);
  }

  get #known(): WorkerOfRole[] {
    const { sessions, backend, edge } = this.#options;
    const workers = [...(backend()?.sessionWorkers ?? []), ...(edge()?.sessionWorkers ?? [])].map((worker) => ({
      worker,
      role: 'session',
    }));
    return [...(sessions()?.known ?? []), ...workers];
  }

  #process(): JsonObject {
    const { process: name, status, config, sessions, backend } = this.#options;
    const { role, version, pid, endpoint, problems, bus } = status();
    const shown = config();
    const digest =
      this.#digests.get(shown) ??
      createHash('sha256')
        .update(JSON.stringify(redactedConfig(shown)))
        .digest('hex')
        .slice(0, 12);
    this.#digests.set(shown, digest);
    const desk = sessions();
    const servers = backend()?.loads.length;
    return {
      process: name,
      role,
      version,
      pid,
      host: hostname(),
      startedAt: this.#startedAt,
      ...(endpoint === undefined ? {} : { endpoint }),
      problems: [...problems],
      bus,
      ...(desk === undefined ? {} : { sessions: desk.counts(), waiting: desk.waiting }),
      ...(servers === undefined ? {} : { servers }),
      configuration: digest,
    };
  }

  #servers(): JsonObject | undefined {
    const { backend, metrics } = this.#options;
    const loads = backend()?.loads;
    const said = new Map(this.#options.status().servers?.map((each) => [each.server as string, each]));
    return loads === undefined
      ? undefined
      : {
          servers: loads.map(
            ({
              record: { server, status, problem: own, trouble, revision, lists, leftOut = 0, unfit = [], held = [] },
              running,
              waiting,
              connections,
              lastWords,
              repairs,
            }) => {
              const current = metrics.upstream.stateOf(server as ServerName);
              const state = stateOf(current?.state, status, own);
              const { unreadable, wantsSignIn } = said.get(server) ?? {};
              const problem =
                own ??
                (unreadable === undefined
                  ? undefined
                  : `connections of ${unreadable} users cannot be decrypted, because a key of the vault is missing: omnibus vault status`);
              return {
                server,
                state,
                ...(problem === undefined || state === 'asleep'
                  ? {}
                  : { problem, ...(trouble === undefined ? {} : { trouble }) }),
                ...(current === undefined ? {} : { since: new Date(current.since).toISOString() }),
                running,
                waiting,
                connections,
                tools: lists.tools.length,
                prompts: lists.prompts.length,
                resources: lists.resources.length + lists.resourceTemplates.length,
                leftOut,
                held: held.length,
                ...(unfit.length === 0 ? {} : { unfit }),
                ...(repairs.length === 0 ? {} : { repairs: repairs.map(shownRepair) }),
                ...(wantsSignIn === undefined || wantsSignIn === 0 ? {} : { signIns: wantsSignIn }),
                ...(revision === undefined ? {} : { revision, era: isModernRevision(revision) ? 'modern' : 'legacy' }),
                ...(lastWords === undefined ? {} : { lastWords: printable(lastWords, 500) }),
              };
            },
          ),
        };
  }

  /** @param since the number of lines that were read before, by process; without it the latest lines are answered. */
  #lines(server: string, since: unknown): JsonObject | undefined {
    const { backend, process: own } = this.#options;
    const diary = backend()?.diaryOf(server);
    if (diary === undefined) return undefined;
    const { written } = diary;
    const read = Number((since as JsonObject | undefined)?.[own] ?? 0);
    const count = Math.min(maxLines, Math.max(0, written - read));
    const lines = count === 0 ? [] : diary.lines.slice(-count);
    return {
      written,
      lines: lines.map(({ at, text }) => ({ at: new Date(at).toISOString(), text: printable(text, 2_000) })),
    };
  }
}

/** A repair as people and programs read it. */
function shownRepair({ repair, count, firstAt, lastAt, example }: RepairRow): JsonObject {
  return {
    repair,
    reads: table[repair].reads,
    count,
    firstAt: new Date(firstAt).toISOString(),
    lastAt: new Date(lastAt).toISOString(),
    example,
  };
}

/** A server that is tried again is down until it is up, so that it does not change its state with each attempt. */
function textOf(value: string | number | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
