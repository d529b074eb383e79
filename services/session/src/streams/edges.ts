/**
 * Keeps track of the edges at which clients read their streams. When an edge is gone, its readers are detached, whether or not it said so. An edge that is
 * there gets a question at intervals which streams it still reads, because its message that a reader has gone may be lost.
 */
import { askOnce, BusError, PresenceWatch, subjects, type Bus } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { EdgePresence, StreamId, WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { SessionStreams } from './session-streams.ts';
import type { Reading } from './stream-host.ts';

/** A session with streams that edges read. */
interface ReadSession {
  readonly streams: Pick<SessionStreams, 'detachFrom' | 'readers' | 'detachReaders'>;
}

export interface EdgesOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly sessions: () => Iterable<ReadSession>;
  /** Called when streams were detached although their edge had not said that they are no longer read. */
  readonly onDetach: (streams: number) => void;
}

/** Time between two checks for edges that are gone. */
const sweepMs = 1_000;
/** Time between two walks over all streams while every edge is there. */
const quietMs = 10_000;
/** Time between two rounds of questions to edges about their streams, even without a known loss. */
const askEveryMs = 5 * 60_000;
/** Milliseconds between two questions to an edge that does not listen at NATS, and the time that an edge has to answer about one stream. */
const unheardAgainMs = 50;
const readerAnswerMs = 2_000;
/** Streams in one such question. */
const askedAtOnce = 1_000;

export class Edges {
  readonly #options: EdgesOptions;
  readonly #watch: PresenceWatch<EdgePresence>;
  #sweep: Deadline | undefined;
  #askedAt = performance.now();
  /** When all streams were last found at edges that are there; undefined if one may be elsewhere. */
  #quietSince: number | undefined;

  constructor(options: EdgesOptions) {
    this.#options = options;
    const { bus, wheel } = options;
    this.#watch = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.edgePresence,
      joined: () => undefined,
      gone: () => {
        this.#quietSince = undefined;
      },
      disturbed: () => {
        this.#quietSince = undefined;
        this.#ask();
      },
    });
  }

  /** Does nothing in one process, where the only edge is always there. */
  async start(): Promise<void> {
    if (!this.#options.bus.isShared) return;
    await this.#watch.start();
    this.#sweepLater();
  }

  stop(): void {
    this.#watch.stop();
    this.#sweep?.cancel();
  }

  /** Edges that are or may be there. */
  get expected(): readonly WorkerId[] {
    return this.#watch.expected;
  }

  readonly isThere = (edge: WorkerId): boolean => this.#watch.state(edge) === 'alive';

  /**
   * Asks an edge whether it reads a stream. It is gone if it counts as lost, or if twice nothing listens for it at NATS. One that does not answer within a moment
   * may read the stream.
   */
  readonly readingAt = async (edge: WorkerId, reader: StreamId): Promise<Reading> => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      if (this.#watch.state(edge) === 'lost') return 'gone';
      const reading = await this.#askReader(edge, reader);
      if (reading !== 'gone') return reading;
      await new Promise<void>((resolve) => void this.#options.wheel.schedule(unheardAgainMs, resolve));
    }
    return 'gone';
  };

  async #askReader(edge: WorkerId, reader: StreamId): Promise<Reading> {
    const { bus, wheel } = this.#options;
    const asked = { readers: [reader] };
    const answer = await askOnce({ bus, clock: wheel }, subjects.edgeReaders(edge), asked, readerAnswerMs);
    if (answer === 'late') return 'read';
    if (answer instanceof BusError) return answer.kind === 'no-responders' ? 'gone' : 'read';
    return answer.readers.includes(reader) ? 'read' : 'unread';
  }

  #sweepLater(): void {
    this.#sweep = this.#options.wheel.schedule(sweepMs, () => {
      const now = performance.now();
      if (this.#quietSince === undefined || now - this.#quietSince >= quietMs) this.#detachLost(now);
      if (now - this.#askedAt > askEveryMs) this.#ask();
      this.#sweepLater();
    });
  }

  #detachLost(now: number): void {
    const states = new Map<WorkerId, ReturnType<PresenceWatch<EdgePresence>['state']>>();
    const isGone = (edge: WorkerId): boolean => {
      const state = states.get(edge) ?? this.#watch.state(edge);
      states.set(edge, state);
      return state === 'lost';
    };
    let detached = 0;
    for (const session of this.#options.sessions()) detached += session.streams.detachFrom(isGone);
    this.#tell(detached);
    this.#quietSince = [...states.values()].every((state) => state === 'alive') ? now : undefined;
  }

  /** Asks each edge that is there which of its streams it still reads. For an edge that does not answer, its signs of life decide. */
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
          const pending = bus.request(
            subjects.edgeReaders(edge),
            { readers: asked },
            {
              reply: (answer) => {
                pending.close();
                const held = new Set(answer.readers);
                this.#detach(new Set(asked.filter((reader) => !held.has(reader))));
              },
              failed: () => undefined, // The edge is gone, or not connected again yet.
            },
          );
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
