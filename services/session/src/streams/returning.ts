/** Clients that resume a stream: one of this worker, or one that another worker began. */
import type { Journal } from '@omnibus/bus';
import type { Deadline } from '@omnibus/lifecycle';
import {
  fault,
  isPushStream,
  requestOf,
  type EventPosition,
  type SessionKey,
  type StreamEntry,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { LostStream } from './lost-stream.ts';
import type { PushStreams } from './push-streams.ts';
import { ResumableStream, type Reply } from './resumable-stream.ts';
import type { StreamHost } from './stream-host.ts';
import type { StreamTable } from './stream-table.ts';

/** Milliseconds between two readings of a journal that lacks events of its client, and their number: an event that is not stored after a second was lost. */
const readAgainMs = 50;
const maxReadings = 20;

export interface ReturningOptions {
  readonly key: SessionKey;
  readonly host: Pick<
    StreamHost,
    'bus' | 'wheel' | 'log' | 'limits' | 'metrics' | 'drainMs' | 'streams' | 'sessionWorkers'
  >;
  readonly posts: StreamTable;
  readonly push: PushStreams;
  /** The worker that held the session before this one. */
  readonly heldBefore: () => WorkerId | undefined;
}

export class Returning {
  readonly #options: ReturningOptions;
  /** Streams of another worker that are being read from the journal; undefined before the first. */
  #reviving: Map<StreamId, Promise<void>> | undefined;

  constructor(options: ReturningOptions) {
    this.#options = options;
  }

  /** Resumes the stream that an event belongs to, and no other (2025-11-25, Resumability: only messages of that stream are replayed). */
  resume(after: EventPosition, reader: StreamId, reply: Reply, edge: WorkerId | undefined): void {
    const {
      posts,
      push,
      host: { streams, log },
      key,
    } = this.#options;
    const running = this.#reviving?.get(after.stream);
    if (running !== undefined) {
      // While the stream is being read, further readers wait, so that they take over in the order in which they came (T2).
      void running.then(() => this.resume(after, reader, reply, edge));
      return;
    }
    if (push.resume(after, reader, reply, edge)) return;
    posts.left();
    const post = posts.find(after.stream);
    if (post === undefined && streams !== undefined) {
      const reviving = (this.#reviving ??= new Map());
      reviving.set(
        after.stream,
        this.#revive(after, reader, reply, edge, streams)
          .catch((error: unknown) => {
            log.error({ err: error, session: key }, 'what was sent on a stream could not be read');
            reply({ kind: 'refused', fault: fault('gateway.unavailable') });
          })
          .finally(() => reviving.delete(after.stream)),
      );
    } else if (post?.resume(after.sequence, reader, reply, edge) !== true) {
      reply({ kind: 'refused', fault: fault('stream.unknown') });
    }
  }

  /** Continues a stream that another worker began. */
  async #revive(
    after: EventPosition,
    reader: StreamId,
    reply: Reply,
    edge: WorkerId | undefined,
    journal: Journal<StreamEntry>,
  ): Promise<void> {
    const {
      key,
      posts,
      push,
      host: { bus, metrics, wheel, limits, sessionWorkers },
    } = this.#options;
    const heldBefore = this.#options.heldBefore();
    const lost = await LostStream.find({ bus, wheel, workers: sessionWorkers, journal, key, stream: after.stream });
    if (isPushStream(after.stream)) {
      lost.close();
      if (push.size >= limits.maxStreamsPerSession) reply({ kind: 'refused', fault: fault('stream.limit') });
      else if (push.revive(after, lost.events, reader, reply, edge)) metrics.streamsResumed.inc();
      else reply({ kind: 'refused', fault: fault('stream.unknown') });
      return;
    }
    if (heldBefore !== undefined) await this.#untilStored(lost, after.sequence);
    const stream = new ResumableStream(after.stream, undefined, { share: posts.home.share, keeper: undefined });
    for (const event of lost.events) stream.restore(event);
    if (!lost.isKnown || !stream.resume(after.sequence, reader, reply, edge)) {
      lost.close();
      stream.forget();
      if (lost.isKnown || (heldBefore !== undefined && requestOf(after.stream) !== undefined))
        lost.conclude(after, reply);
      else reply({ kind: 'refused', fault: fault('stream.unknown') });
      return;
    }
    metrics.streamsResumed.inc();
    this.#follow(lost, stream, heldBefore);
  }

  /** Passes on later messages of the worker that began a stream, until it has ended. */
  #follow(lost: LostStream, stream: ResumableStream, heldBefore: WorkerId | undefined): void {
    const {
      key,
      posts,
      host: { log, wheel, drainMs },
    } = this.#options;
    posts.add(stream);
    let limit: Deadline | undefined;
    let isGivenUp = false;
    const finish = (): void => {
      limit?.cancel();
      lost.close();
      posts.ended(stream);
    };
    if (lost.isComplete) {
      finish();
      return;
    }
    lost.follow((event) => {
      stream.restore(event);
      if (event.last) finish();
    });
    const giveUp = (): void => {
      if (lost.isComplete || isGivenUp) return;
      isGivenUp = true;
      // The last events of that worker may have been on their way when the journal was read.
      void lost
        .read()
        .catch((error: unknown) =>
          log.warn({ err: error, session: key }, 'the journal of a stream could not be read again'),
        )
        .then(() => {
          if (lost.isComplete) return;
          for (const event of lost.lastWords()) stream.restore(event);
          finish();
        });
    };
    const waitForIt = (): void => {
      limit?.cancel();
      limit = wheel.schedule(drainMs(), giveUp);
    };
    if (heldBefore === undefined) {
      giveUp();
    } else {
      waitForIt();
      lost.askAfter(heldBefore, { held: waitForIt, lost: giveUp });
    }
  }

  /** Waits for an event that the client has received already, and so is stored or about to be. */
  async #untilStored(lost: LostStream, sequence: number): Promise<void> {
    const {
      host: { wheel },
    } = this.#options;
    for (let attempt = 0; lost.sequence < sequence && !lost.isComplete && attempt < maxReadings; attempt += 1) {
      await new Promise<void>((resolve) => void wheel.schedule(readAgainMs, resolve));
      await lost.read();
    }
  }
}
