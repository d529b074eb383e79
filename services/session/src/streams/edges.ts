/**
 * The edges that clients' streams are read at. One that is gone reads nothing any more, whether or not it said so; and what one
 * that is there does not read, it is asked: news that a reader is gone may be lost on the way.
 */
import { PresenceWatch, subjects, type Bus } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { EdgePresence, StreamId, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { SessionStreams } from './session-streams.ts';

/** A session whose streams edges read. */
interface ReadSession {
  readonly streams: Pick<SessionStreams, 'detachFrom' | 'readers' | 'detachReaders'>;
}

export interface EdgesOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly sessions: () => Iterable<ReadSession>;
  /** Streams were detached whose edge had not said that they are not read any more. */
  readonly onDetach: (streams: number) => void;
}

/** Between two looks for edges that are lost. */
const sweepMs = 1_000;
/** Between two times that each edge is asked which streams it reads, though nothing was lost that we know of. */
const askEveryMs = 5 * 60_000;
/** Streams asked for in one message. */
const askedAtOnce = 1_000;

export class Edges {
  readonly #options: EdgesOptions;
  readonly #watch: PresenceWatch<EdgePresence>;
  #sweep: Deadline | undefined;
  #askedAt = performance.now();

  constructor(options: EdgesOptions) {
    this.#options = options;
    const { bus, wheel } = options;
    this.#watch = new PresenceWatch({
      bus, clock: wheel, subject: subjects.edgePresence,
      joined: () => undefined,
      gone: () => undefined,
      disturbed: () => this.#ask(),
    });
  }

  /** In one process there is one edge, and it is there. */
  async start(): Promise<void> {
    if (!this.#options.bus.isShared) return;
    await this.#watch.start();
    this.#sweepLater();
  }

  stop(): void {
    this.#watch.stop();
    this.#sweep?.cancel();
  }

  readonly isThere = (edge: WorkerId): boolean => this.#watch.state(edge) === 'alive';

  #sweepLater(): void {
    const { wheel, sessions } = this.#options;
    this.#sweep = wheel.schedule(sweepMs, () => {
      const states = new Map<WorkerId, boolean>();
      const isGone = (edge: WorkerId): boolean => {
        const known = states.get(edge) ?? this.#watch.state(edge) === 'lost';
        states.set(edge, known);
        return known;
      };
      let detached = 0;
      for (const session of sessions()) detached += session.streams.detachFrom(isGone);
      this.#tell(detached);
      if (performance.now() - this.#askedAt > askEveryMs) this.#ask();
      this.#sweepLater();
    });
  }

  /** Asks each edge that is there which of its streams it still reads. Of one that does not answer, presence says what is to be said. */
  #ask(): void {
    const { bus, sessions, log } = this.#options;
    this.#askedAt = performance.now();
    const read = new Map<WorkerId, StreamId[]>();
    for (const session of sessions()) {
      session.streams.readers((edge, reader) => {
        const known = read.get(edge);
        if (known === undefined) read.set(edge, [reader]);
        else known.push(reader);
      });
    }
    for (const [edge, readers] of read) {
      for (let start = 0; start < readers.length; start += askedAtOnce) {
        const asked = readers.slice(start, start + askedAtOnce);
        try {
          const pending = bus.request(subjects.edgeReaders(edge), { readers: asked }, {
            reply: (answer) => {
              pending.close();
              const held = new Set(answer.readers);
              this.#detach(new Set(asked.filter((reader) => !held.has(reader))));
            },
            failed: () => undefined, // It is gone, or not back yet.
          });
        } catch (error) {
          log.debug({ err: error }, 'edges could not be asked what they read');
        }
      }
    }
  }

  #detach(gone: ReadonlySet<StreamId>): void {
    if (gone.size === 0) return;
    let detached = 0;
    for (const session of this.#options.sessions()) detached += session.streams.detachReaders(gone);
    this.#tell(detached);
  }

  #tell(detached: number): void {
    if (detached > 0) this.#options.onDetach(detached);
  }
}
