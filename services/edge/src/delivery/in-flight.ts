import type { Bus, BusError, PendingRequest, PresenceWatch, ReplyObserver } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel, Drain } from '@omnibus/lifecycle';
import {
  fault,
  idKey,
  isJsonRpcId,
  parseJson,
  repeatableMethods,
  type BackendPresence,
  type Begun,
  type ErrorReason,
  type JsonObject,
  type JsonRpcRequest,
  type PostedMessage,
  type Presence,
  type SessionCommand,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { EdgeWatcher } from '../requests/edge-watcher.ts';
import type { Connection } from './connection.ts';
import type { SessionAddress } from './session-addresses.ts';

/** The parts of an edge that both deliveries need. */
export interface DeliveryParts {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  /** A clock with short ticks. */
  readonly soon: DeadlineWheel;
  /** Is notified of every command that was answered. */
  readonly drain: Drain;
  readonly log: Logger;
  readonly workers: PresenceWatch<Presence>;
  readonly backends: Backends;
  readonly connection: Pick<Connection, 'isSteady'>;
  /** Called for each command, so that the edge looks after it; undefined where no part dies alone. */
  readonly accepted?: (() => void) | undefined;
  readonly watcher?: EdgeWatcher | undefined;
}

/** The commands that wait for their answers at this edge. Each removal is reported to `Drain`, which waits for the end of all. */
export class OpenCommands<Member extends Tracked> extends Ring<Member> {
  readonly #drain: Drain;

  constructor(drain: Drain) {
    super();
    this.#drain = drain;
  }

  /** Those that the edge has accepted since a time, on the clock of `performance.now()`; the newest first. */
  acceptedSince(since: number): readonly Member[] {
    return this.newest(({ acceptedAt }) => acceptedAt >= since);
  }

  override remove(member: Member): boolean {
    const wasOpen = super.remove(member);
    if (wasOpen && this.#drain.isAwaited) this.#drain.ended();
    return wasOpen;
  }

  /** The bus cannot carry it. */
  fail(member: Member, error: BusError): void {
    if (this.remove(member)) member.observer.failed(error);
  }

  /** Answers it with an error, and withdraws it where it is. */
  refuse(member: Member, reason: ErrorReason): void {
    member.pending?.close();
    if (this.remove(member)) member.observer.reply({ kind: 'refused', fault: fault(reason) });
  }
}

/** Milliseconds until an edge first asks whether the worker of a command still has it, and the longest time between two such questions. */
export const firstLookMs = 500;
const longestLookMs = 4_000;

/** The backend workers, as `PresenceWatch` knows them. */
export type Backends = Pick<PresenceWatch<BackendPresence>, 'since' | 'expected'>;

export interface OpenTracked {
  remove(member: Tracked): boolean;
}

/** What waits for its answer, and the handle that withdraws it. */
export class Tracked extends Link implements PendingRequest {
  /** The request on the bus; undefined while no worker has it. */
  pending: PendingRequest | undefined;
  /** The worker that has it; undefined while no worker has it, or only NATS knows which one it chose. */
  sentTo: WorkerId | undefined;
  /** Time (`performance.now()`) at which the edge accepted it. */
  readonly acceptedAt = performance.now();
  /** When it was sent last, likewise. */
  sentAt = this.acceptedAt;
  /** How many workers that are gone may have begun it: after the first, the next one asks the backend workers for its calls. */
  turn = 0;
  /** Number of times that it was sent. */
  attempts = 0;
  /** The worker that did not listen when it was sent there last. */
  missed: WorkerId | undefined;
  readonly observer: ReplyObserver<StreamFrame>;
  #hasLostAnswer = false;
  readonly #backends: Backends;
  #lookAt = this.acceptedAt + firstLookMs;
  readonly #open: OpenTracked;
  /** Since when a server may have it, on the clock of `performance.now()`. */
  #mayBegunAt: number;

  /** @param begunMs milliseconds before now in which another edge may have accepted it first; 0 if none has. */
  constructor(open: OpenTracked, backends: Backends, observer: ReplyObserver<StreamFrame>, begunMs = 0) {
    super();
    this.#open = open;
    this.observer = observer;
    this.#backends = backends;
    this.#mayBegunAt = this.acceptedAt - begunMs;
    if (begunMs > 0) this.turn = 1;
  }

  /** Whether a worker has it and has not answered. */
  get waits(): boolean {
    return this.pending !== undefined && this.pending.isArriving !== true;
  }

  /** Whether it is time to ask whether its worker still has it: at first after half a second, then ever less often. */
  isDue(now: number): boolean {
    if (!this.waits || now < this.#lookAt) return false;
    this.#lookAt = now + Math.min(now - this.acceptedAt, longestLookMs);
    return true;
  }

  /** It is sent once more. */
  isSentAgain(): void {
    this.sentAt = performance.now();
    this.#lookAt = this.sentAt + firstLookMs;
  }

  /** Whether an answer of its worker was lost for the first time: the backend worker may still have the answer of its call. */
  losesAnswer({ kind }: BusError): boolean {
    if (kind !== 'lost' || this.#hasLostAnswer) return false;
    this.#hasLostAnswer = true;
    return true;
  }

  /** Its worker has said that no server has it. @param at when it was asked, on the clock of `performance.now()`: a server may have it since then. */
  hadNotBegun(at: number): void {
    this.#mayBegunAt = Math.max(this.#mayBegunAt, at);
  }

  /** What the next worker has to know; empty unless a worker that is gone may have begun it. */
  get begun(): { readonly begun?: Begun } {
    if (this.turn === 0) return {};
    const ageMs = performance.now() - this.#mayBegunAt;
    const all = this.#backends.since(ageMs);
    return { begun: { ageMs, turn: this.turn, backends: all ?? this.#backends.expected, areAll: all !== undefined } };
  }

  close(): void {
    this.#open.remove(this);
    this.pending?.close();
  }
}

/** One command of a session, from its beginning until its last frame, whichever workers have it meanwhile. */
export class InFlight extends Tracked {
  readonly address: SessionAddress;
  readonly command: SessionCommand;
  /** Number of times in a row that it was sent to a worker that did not hold the session. */
  misses = 0;
  /** Sequence number of the last message that was received; undefined before the first. */
  heardUpTo: number | undefined;
  /** Whether its worker has ended the stream: its reader has not left it early. */
  isComplete = false;
  /** The stream on which the answer to a repeated request comes. */
  #earlier: StreamId | undefined;
  /** The ids in answers of a batch, as `idKey` gives them; undefined before the first. */
  #answered: Set<ReturnType<typeof idKey>> | undefined;

  constructor(
    { open, backends }: { readonly open: OpenTracked; readonly backends: Backends },
    address: SessionAddress,
    command: SessionCommand,
    observer: ReplyObserver<StreamFrame>,
  ) {
    super(open, backends, observer);
    this.address = address;
    this.command = command;
  }

  /** The client has sent the request before, and its answer comes on the stream of that POST. */
  continues(stream: StreamId): void {
    this.heardUpTo ??= 0;
    if (stream !== this.stream) this.#earlier = stream;
  }

  /** Notes a message that the client receives. */
  heard(frame: Extract<StreamFrame, { kind: 'message' }>): void {
    this.heardUpTo = frame.sequence;
    if (frame.last) this.isComplete = true;
    if (!frame.isAnswer || this.command.kind !== 'batch') return;
    const { id } = parseJson(frame.text) as JsonObject;
    if (isJsonRpcId(id)) (this.#answered ??= new Set()).add(idKey(id));
  }

  /** The client's requests in it. */
  get requests(): readonly JsonRpcRequest[] {
    const { command } = this;
    const messages: readonly PostedMessage[] =
      command.kind === 'post' ? [command.message] : command.kind === 'batch' ? command.messages : [];
    return messages.flatMap((each) => (each.kind === 'request' ? [each.message] : []));
  }

  /** Sequence number of the last message of the stream that the client has received, on this or an earlier connection. */
  get sequence(): number {
    const { command, heardUpTo = 0 } = this;
    return Math.max(heardUpTo, command.kind === 'attach' ? (command.after?.sequence ?? 0) : 0);
  }

  /** The stream on which its answer comes. */
  get stream(): StreamId | undefined {
    const { command } = this;
    if (this.#earlier !== undefined) return this.#earlier;
    if (command.kind === 'attach') return command.after?.stream ?? command.stream;
    return command.kind === 'post' || command.kind === 'batch' ? command.stream : undefined;
  }

  /** The command with which another worker can continue after the messages that the client has received. */
  get continued(): SessionCommand {
    const { command, heardUpTo, sequence } = this;
    switch (command.kind) {
      case 'attach':
        if (heardUpTo === undefined) return command;
        return { ...command, after: { stream: command.after?.stream ?? command.stream, sequence } };
      case 'post':
        // The next worker knows the call by its first stream only.
        return this.#earlier === undefined
          ? { ...command, ...this.#sentAndBegun }
          : {
              kind: 'attach',
              caller: command.caller,
              stream: command.stream,
              after: { stream: this.#earlier, sequence },
            };
      case 'batch': {
        const { messages, refusals = [] } = command;
        const waiting = refusals.slice(heardUpTo ?? 0); // They are its first answers.
        return { ...command, messages: this.#unanswered(messages), refusals: waiting, ...this.#sentAndBegun };
      }
      case 'detach':
      case 'delete':
      case 'probe':
        return command;
    }
  }

  get #sentAndBegun(): Pick<Extract<SessionCommand, { kind: 'post' }>, 'sentUpTo' | 'begun'> {
    const { heardUpTo, begun } = this;
    return heardUpTo === undefined ? begun : { sentUpTo: heardUpTo, ...begun };
  }

  /** Leaves out requests with answers. If several requests have one id, all of them stay: so the next worker knows that it cannot tell them apart. */
  #unanswered(messages: readonly PostedMessage[]): readonly PostedMessage[] {
    const counts = Map.groupBy(this.requests, ({ id }) => idKey(id));
    return messages.filter((posted) => {
      if (posted.kind !== 'request') return true;
      const key = idKey(posted.message.id);
      return this.#answered?.has(key) !== true || counts.get(key)?.length !== 1;
    });
  }

  /** Whether executing it twice has no further effect. */
  get isRepeatable(): boolean {
    const { command } = this;
    switch (command.kind) {
      case 'attach':
      case 'detach':
      case 'delete':
      case 'probe':
        return true;
      case 'post':
        return isHarmless(command.message);
      case 'batch':
        return command.messages.every(isHarmless);
    }
  }
}

function isHarmless(posted: PostedMessage): boolean {
  return posted.kind !== 'request' || repeatableMethods.has(posted.message.method);
}
