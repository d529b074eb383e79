/**
 * Opens streams in JetStream. A process that NATS lets create streams creates those that are missing, with as many replicas as the cluster allows, so that
 * the loss of a node loses nothing. Any other process waits for the set-up (`setup.ts`). A store that was lost while the process runs is opened again.
 */
import { jetstreamManager, JetStreamApiError, type JetStreamManager, type StreamInfo } from '@nats-io/jetstream';
import { PermissionViolationError, type NatsConnection } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';
import type { OnFault } from '../bus.ts';
import { managerOptions, type NatsPlace } from './place.ts';
import type { WantedStream } from './streams.ts';

/** Survives the loss of one node, since JetStream needs a majority of the replicas (NATS, JetStream clustering). */
export const clusterReplicas = 3;
/** JetStream's "stream not found", "no message found" and "stream name already in use with a different configuration". */
const [streamMissing, messageMissing, nameInUse] = [10_059, 10_037, 10_058];
/** JetStream's "replicas > 1 not supported in non-clustered mode". */
const notClustered = 10_074;
/** JetStream's "insufficient resources" and "no suitable peers for placement", and that there is no cluster. */
const tooFewNodes: readonly number[] = [10_005, 10_023, notClustered];
/** JetStream's "resource limits exceeded for account", "no suitable peers for placement", "insufficient resources", "insufficient memory" and "insufficient storage": of a stream with one replica they mean that there is no room for it. */
const noRoom: readonly number[] = [10_002, 10_005, 10_023, 10_028, 10_047];
/** JetStream adds these words to "no suitable peers for placement" if nodes are full (selectPeerError of nats-server). */
const fullNodes = /insufficient (storage|memory)/;
/** JetStream adds these words if nodes are away. */
const awayNodes = /peer offline/;
const retryMs = 500;
/** Milliseconds that a stream's leader has to answer with a message. */
const readMs = 1_000;
/** Longest wait: a cluster that has lost a node normally elects a new leader much sooner. */
const giveUpMs = 30_000;
/** Pause between two attempts to give a stream its missing replicas; it doubles. */
const growMs = { first: 250, longest: 10_000 };
/** Pauses between two looks for a stream that the set-up must create, and between two reports of that. */
const setUpMs = { look: 500, report: 30_000 };

/** Whether NATS does not permit this request to the user. */
export function isRefused(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof PermissionViolationError) return true;
  return false;
}

export function isStreamMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === streamMissing;
}

export function isMessageMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === messageMissing;
}

/** What an operator must do about a stream that is missing. */
function missingAdvice(stream: string): string {
  return `the stream ${stream} is missing at NATS or older than this version, and this process may not create or update it: run "omnibus nats setup" as a user that may`;
}

/** The streams that a process uses. */
export class Streams {
  readonly #connection: NatsConnection;
  readonly #place: NatsPlace;
  readonly #onFault: OnFault;
  readonly #waitMs: number;
  readonly #wanted = new Map<string, WantedStream>();
  readonly #opening = new Map<string, Promise<void>>();
  /** When each stream was created, as NATS says. */
  readonly #created = new Map<string, string>();
  readonly #renewed = new Map<string, Set<() => void>>();
  readonly #missing = new Set<string>();
  /** Called when a stream is missing that this process may not create. */
  readonly #waiting = new Set<() => void>();
  /** Streams that may lack replicas. */
  readonly #growing = new Set<string>();
  #manager: Promise<JetStreamManager> | undefined;
  #reader: Promise<JetStreamManager> | undefined;

  /** @param waitMs milliseconds to wait for the set-up; Infinity for no bound. */
  constructor(connection: NatsConnection, place: NatsPlace, onFault: OnFault, waitMs: number) {
    this.#waitMs = waitMs;
    this.#connection = connection;
    this.#place = place;
    this.#onFault = onFault;
  }

  get manager(): Promise<JetStreamManager> {
    this.#manager ??= jetstreamManager(this.#connection, managerOptions(this.#place));
    return this.#manager;
  }

  /** Asks for single messages, and gives up soon: while a stream has no leader, as after the loss of a node, no node answers. */
  get reader(): Promise<JetStreamManager> {
    this.#reader ??= jetstreamManager(this.#connection, { ...managerOptions(this.#place), timeout: readMs });
    return this.#reader;
  }

  /** Streams that are missing until the set-up has run. */
  get missing(): readonly string[] {
    return [...this.#missing];
  }

  /** Calls back when the stream was created again, and so is empty. */
  onRenewed(stream: string, listener: () => void): void {
    const listeners = this.#renewed.get(stream) ?? new Set();
    listeners.add(listener);
    this.#renewed.set(stream, listeners);
  }

  /**
   * Resolves when the stream is there. Where it is missing and this process may not create it, that is when the set-up has run.
   * @throws {BusError} `timeout` when JetStream does not answer, is not there or refuses the question; `overloaded` when it has no room for the stream;
   * `closed`.
   */
  open(wanted: WantedStream): Promise<void> {
    this.#wanted.set(wanted.name, wanted);
    const running = this.#opening.get(wanted.name);
    if (running !== undefined) return running;
    const opening = this.#open(wanted).finally(() => this.#opening.delete(wanted.name));
    this.#opening.set(wanted.name, opening);
    return opening;
  }

  /**
   * Opens a stream again that was not found.
   * @throws {BusError} `timeout` at once where that needs the set-up; this process goes on looking for it.
   */
  async again(stream: string): Promise<void> {
    const wanted = this.#wanted.get(stream);
    if (wanted === undefined) return;
    if (this.#missing.has(stream)) throw new BusError('timeout', missingAdvice(stream));
    const opening = this.open(wanted);
    // A caller does not wait for the operator. `#open` reports the problem.
    const refused = new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      opening.finally(() => this.#waiting.delete(resolve)).catch(() => undefined);
    });
    await Promise.race([opening, refused]);
    if (this.#missing.has(stream)) throw new BusError('timeout', missingAdvice(stream));
  }

  /** Looks at all streams of this process: NATS was away, and may have come back without them. */
  check(): void {
    for (const wanted of this.#wanted.values())
      this.open(wanted).catch((error: unknown) =>
        this.#onFault({ kind: 'store', what: `the stream ${wanted.name} cannot be opened`, error }),
      );
  }

  async #open(wanted: WantedStream): Promise<void> {
    const giveUpAt = performance.now() + this.#waitMs;
    let reportedAt = -Infinity;
    for (;;) {
      if (await this.#isThere(wanted)) break;
      this.#missing.add(wanted.name);
      for (const resolve of this.#waiting) resolve();
      if (performance.now() - reportedAt >= setUpMs.report) {
        reportedAt = performance.now();
        this.#onFault({ kind: 'store', what: missingAdvice(wanted.name) });
      }
      if (performance.now() >= giveUpAt) throw new BusError('timeout', missingAdvice(wanted.name));
      await pause(setUpMs.look);
      if (this.#connection.isClosed() || this.#connection.isDraining())
        throw new BusError('closed', 'the bus is closed');
    }
    this.#missing.delete(wanted.name);
    if (this.#growing.has(wanted.name)) return;
    this.#growing.add(wanted.name);
    void grow(this.#connection, this.#place, wanted.name).then(() => this.#growing.delete(wanted.name));
  }

  /** Creates the stream if it is missing. @returns false where that needs the set-up. */
  async #isThere(wanted: WantedStream): Promise<boolean> {
    const manager = await this.manager;
    const found = (created: unknown): void => {
      const before = this.#created.get(wanted.name);
      const now = String(created);
      this.#created.set(wanted.name, now);
      if (before !== undefined && before !== now)
        for (const listener of this.#renewed.get(wanted.name) ?? []) listener();
    };
    try {
      await withReplicas(this.#connection, this.#place, wanted, async (replicas) => {
        const present = await manager.streams.info(wanted.name).catch((error: unknown) => {
          if (!isStreamMissing(error)) throw error;
          return undefined;
        });
        const { created } =
          present === undefined
            ? await create(manager, { ...wanted, num_replicas: replicas })
            : await withSubjects(manager, present, wanted);
        found(created);
      });
      return true;
    } catch (error) {
      if (error instanceof NeedsSetUp) return false;
      if (isRefused(error))
        throw new BusError('timeout', `NATS does not let this process use the stream ${wanted.name}`, error);
      throw error;
    }
  }
}

/** Only the set-up may create a stream. */
class NeedsSetUp extends Error {}

async function create(manager: JetStreamManager, wanted: WantedStream): Promise<{ readonly created: unknown }> {
  try {
    return await manager.streams.add(wanted);
  } catch (error) {
    // Another process was faster, with other bounds of the operator's.
    if (error instanceof JetStreamApiError && error.code === nameInUse) return manager.streams.info(wanted.name);
    if (isRefused(error)) throw new NeedsSetUp(missingAdvice(wanted.name), { cause: error });
    throw error;
  }
}

/** Adds the subjects that the version which created the stream did not use. */
async function withSubjects(
  manager: JetStreamManager,
  present: StreamInfo,
  { name, subjects }: WantedStream,
): Promise<StreamInfo> {
  if (subjects.every((subject) => present.config.subjects.includes(subject))) return present;
  try {
    return await manager.streams.update(name, { subjects });
  } catch (error) {
    if (isRefused(error)) throw new NeedsSetUp(missingAdvice(name), { cause: error });
    throw error;
  }
}

/** Why a stream has fewer replicas than it is to have: nodes are missing, or those that are there have no room for it. */
export type Lack = 'nodes' | 'room';

/** @returns undefined if there is no cluster, and so no lack. */
function lackOf({ code, message }: JetStreamApiError): Lack | undefined {
  if (code === notClustered) return undefined;
  return fullNodes.test(message) && !awayNodes.test(message) ? 'room' : 'nodes';
}

/** How many replicas a stream is to have, and how long to wait for the nodes that keep them. */
interface WantedReplicas {
  readonly count: number;
  /** Called while too few nodes are there. @returns whether to go on waiting; else the stream gets one replica. */
  waits(): boolean;
}

const withoutWaiting: WantedReplicas = { count: clusterReplicas, waits: () => false };

/**
 * Creates a stream with as many replicas as are possible now; missing ones are added when they become possible.
 * @param place of JetStream: only at the server that we are connected to can be seen whether it has several nodes.
 * @param make makes the stream with so many replicas, and may be called again. `lack` says why it lacks replicas.
 * @throws {BusError} `timeout` when JetStream does not answer, or is not there; `overloaded` when it has no room for the stream.
 */
// oxlint-disable-next-line complexity -- a table: one branch for each refusal of JetStream
export async function withReplicas<Made>(
  connection: NatsConnection,
  place: NatsPlace,
  { name, max_bytes: reservedBytes }: WantedStream,
  make: (replicas: number, lack: Lack | undefined) => Promise<Made>,
  wanted = withoutWaiting,
): Promise<Made> {
  let giveUpAt = performance.now() + giveUpMs;
  let replicas = hasOneNode(connection, place) ? 1 : wanted.count;
  let lack: Lack | undefined;
  for (;;) {
    try {
      return await make(replicas, lack);
    } catch (error) {
      if (error instanceof NeedsSetUp || isRefused(error)) throw error;
      if (!(error instanceof JetStreamApiError) && place.domain === undefined && connection.info?.jetstream !== true)
        throw new BusError('timeout', 'the NATS server has no JetStream: start it with -js', error);
      const isLate = performance.now() > giveUpAt;
      // With status 503 there may be room when a node is back.
      if (
        error instanceof JetStreamApiError &&
        replicas === 1 &&
        noRoom.includes(error.code) &&
        (isLate || error.status !== 503)
      )
        throw roomless(name, reservedBytes, error);
      if (error instanceof JetStreamApiError && tooFewNodes.includes(error.code) && replicas > 1) {
        lack = lackOf(error);
        // Another node gives the full ones no room.
        if (lack === 'nodes' && wanted.waits()) await pause(retryMs);
        else replicas = 1;
        // The nodes that are there have answered.
        giveUpAt = performance.now() + giveUpMs;
        continue;
      }
      if (isLate) throw new BusError('timeout', `JetStream is not available: ${String(error)}`, error);
      if (error instanceof JetStreamApiError && error.status !== 503) throw error;
      else await pause(retryMs);
    }
  }
}

function roomless(stream: string, reservedBytes: number | undefined, error: JetStreamApiError): BusError {
  const reserved =
    reservedBytes === undefined || reservedBytes <= 0
      ? ''
      : `, which reserves ${Math.ceil(reservedBytes / 1_048_576)} MiB`;
  return new BusError(
    'overloaded',
    `JetStream has no room for the stream ${stream}${reserved} (${error.message}): give it more storage (max_file_store of the server, max_file of the account)`,
    error,
  );
}

function hasOneNode({ info }: NatsConnection, { domain }: NatsPlace): boolean {
  return domain === undefined && info?.cluster === undefined;
}

/**
 * Adds missing replicas, where this process may: the stream may have been created while nodes were missing, as at the start of a cluster, or before there
 * was a cluster.
 */
async function grow(connection: NatsConnection, place: NatsPlace, stream: string): Promise<void> {
  for (let waitMs = growMs.first; !connection.isClosed(); waitMs = Math.min(2 * waitMs, growMs.longest)) {
    try {
      if (!hasOneNode(connection, place)) {
        const manager = await jetstreamManager(connection, managerOptions(place));
        const { config } = await manager.streams.info(stream);
        if (config.num_replicas < clusterReplicas)
          await manager.streams.update(stream, { num_replicas: clusterReplicas });
        return;
      }
    } catch (error) {
      if (isRefused(error)) return;
      // Not possible now; the stream works with the replicas it has.
    }
    await pause(waitMs);
  }
}

/** A pause that keeps no process alive. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
