/**
 * Sends lines of servers to readers. It requests lines while there is a reader, once for all readers of a server, and each process
 * answers with those only that some reader has not been told of.
 */
import type { FollowedLogs } from '@omnibus/admin-api';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { ApiProblem } from './api-problem.ts';
import type { Heard } from './assembly.ts';
import type { LinesSaid } from './board.ts';

/** Interval between two questions about the same server: short enough to read along. */
const lookMs = 500;
/** Bound on processes with lines for a reader; processes come and go meanwhile. */
const maxProcesses = 1_000;

export interface LogReader {
  readonly told: (logs: FollowedLogs) => void;
  /** Ends the reading: the server is not there any more. */
  readonly refused: (problem: ApiProblem) => void;
}

/** @param since the number of lines that were read before, by process. @throws {ApiProblem} */
type AskLines = (server: string, since: Readonly<Record<string, number>>) => Promise<Heard<LinesSaid>>;

export class LogReaders {
  readonly #wheel: DeadlineWheel;
  readonly #ask: AskLines;
  readonly #onFault: (what: string, error: unknown) => void;
  readonly #followed = new Map<string, Followed>();

  constructor(wheel: DeadlineWheel, ask: AskLines, onFault: (what: string, error: unknown) => void) {
    this.#wheel = wheel;
    this.#ask = ask;
    this.#onFault = onFault;
  }

  /** Begins to tell a reader of the lines of a server, the last so far first. @returns a function that ends it. */
  add(server: string, reader: LogReader): () => void {
    const followed = this.#followed.get(server) ?? new Followed();
    this.#followed.set(server, followed);
    const place = new Place(reader);
    followed.places.add(place);
    this.#look(server, followed);
    return () => {
      followed.places.delete(place);
      if (followed.places.size > 0) return;
      followed.next?.cancel();
      this.#followed.delete(server);
    };
  }

  stop(): void {
    for (const { next } of this.#followed.values()) next?.cancel();
    this.#followed.clear();
  }

  #look(server: string, followed: Followed): void {
    followed.next?.cancel();
    if (followed.isAsking) return;
    followed.isAsking = true;
    const asking = new Set(followed.places);
    this.#ask(server, sinceOf(asking))
      .then((heard) => {
        for (const place of asking) if (followed.places.has(place)) place.tell(server, heard);
      })
      .catch((error: unknown) => {
        if (!(error instanceof ApiProblem)) this.#onFault('lines of a server could not be asked for', error);
        // While the process does not answer, the request is repeated.
        else if (error.reason === 'unknown') for (const { reader } of asking) reader.refused(error);
      })
      .finally(() => {
        followed.isAsking = false;
        if (this.#followed.get(server) === followed)
          followed.next = this.#wheel.schedule(lookMs, () => this.#look(server, followed));
      });
  }
}

/** A server with readers of its lines. */
class Followed {
  readonly places = new Set<Place>();
  next: Deadline | undefined;
  isAsking = false;
}

/** How far one reader has read. */
class Place {
  readonly reader: LogReader;
  /** The number of lines so far, by process. */
  readonly read = new Map<string, number>();
  #missing: string | undefined;

  constructor(reader: LogReader) {
    this.reader = reader;
  }

  tell(server: string, { said, missing }: Heard<LinesSaid>): void {
    let dropped = 0;
    const lines = said
      .flatMap(({ process, body: { lines: latest, written } }) => {
        const before = this.read.get(process);
        const fresh = Math.max(0, written - (before ?? 0));
        this.#note(process, written);
        if (before !== undefined) dropped += Math.max(0, fresh - latest.length);
        return fresh === 0 ? [] : latest.slice(-fresh).map((line) => ({ ...line, process }));
      })
      .toSorted((one, other) => one.at.localeCompare(other.at));
    const silentNow = missing
      .map(({ process }) => process)
      .toSorted()
      .join(' ');
    if (lines.length === 0 && dropped === 0 && silentNow === this.#missing) return;
    this.#missing = silentNow;
    this.reader.told({ server, lines, dropped, missing });
  }

  #note(process: string, written: number): void {
    this.read.delete(process);
    this.read.set(process, written);
    if (this.read.size > maxProcesses) this.read.delete(this.read.keys().next().value as string);
  }
}

/** What all of several readers have read; nothing of a process that is new to one of them. */
function sinceOf(places: ReadonlySet<Place>): Record<string, number> {
  const [first, ...others] = places;
  if (first === undefined) return {};
  return Object.fromEntries(
    [...first.read]
      .filter(([process]) => others.every(({ read }) => read.has(process)))
      .map(([process, count]) => [process, Math.min(count, ...others.map(({ read }) => read.get(process) as number))]),
  );
}
