/**
 * The way to sessions. A session whose worker is gone is taken over by another when it is next asked for; what was open at
 * the moment of loss is asked again where that can do no harm, and answered with "outcome unknown" where it could.
 *
 * Invariants
 *  W1  A command is sent a second time only when nobody had it (no responders), or when it changes nothing by being repeated.
 *  W2  A command whose worker vanished is answered within a bounded time.
 */
import { PresenceWatch, subjects, type Bus, type BusError, type PendingRequest, type ReplyObserver } from '@omnibus/bus';
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { fault, repeatableMethods, type ModernCommand, type OpenCommand, type OpenReply, type PostedMessage, type Presence, type SessionCommand, type SessionKey, type StreamFrame, type StreamId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { ModernDoor } from './modern-door.ts';
import type { SessionAddress } from './session-addresses.ts';

/** `nobody`: there is no worker that could say. */
type Adoption = 'held' | 'unknown' | 'nobody';

class Passage extends Link {
  readonly address: SessionAddress;
  readonly command: SessionCommand;
  readonly observer: ReplyObserver<StreamFrame>;
  /** Undefined while nobody has it: before it is sent, and while its next owner is looked for. */
  pending: PendingRequest | undefined;
  /** How often it was sent. */
  attempts = 0;
  sentAt = 0;
  /** Its worker has said that it has it. */
  isSure = false;
  /** The number of the last message that was heard; undefined before anything was. */
  heardUpTo: number | undefined;

  /** Of the last message the client has had of the stream, on this or an earlier connection. */
  get sequence(): number {
    const { command, heardUpTo = 0 } = this;
    return Math.max(heardUpTo, command.kind === 'attach' ? (command.after?.sequence ?? 0) : 0);
  }

  constructor(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>) {
    super();
    this.address = address;
    this.command = command;
    this.observer = observer;
  }
}

/** A worker that does not answer by then is asked again, or gone. */
const probeMs = 2_000;
const maxAttempts = 12;
/** What was sent longer ago has been looked after, while NATS may not know that a worker is gone. */
const unsureMs = 30_000;
/** A worker that was asked to open a session and did not answer by then is asked no more. */
const openMs = 3_000;
const maxOpens = 4;
/** A takeover that is not done by then has failed. */
const adoptMs = 10_000;
/** A worker that does not answer within this is asked no more. */
const adoptAskMs = 1_500;
/** After the bus was gone, workers have this long to be back before their sessions are taken over. */
const returnMs = 1_500;
/** Between two attempts, while there is no worker that can take a session. */
const adoptRetryMs = 200;

export class SessionDoor {
  readonly #bus: Bus;
  readonly #wheel: DeadlineWheel;
  readonly #log: Logger;
  readonly #open = new Ring<Passage>();
  readonly #modern: ModernDoor;
  readonly #adoptions = new Map<SessionKey, Promise<Adoption>>();
  readonly #workers: PresenceWatch<Presence>;
  #reconnects = 0;
  #reconnectedAt = -Infinity;

  constructor(bus: Bus, wheel: DeadlineWheel, log: Logger) {
    this.#bus = bus;
    this.#wheel = wheel;
    this.#log = log;
    this.#modern = new ModernDoor(bus, wheel, log, (worker) => this.#workers.signs.some((sign) => sign.worker === worker));
    this.#workers = new PresenceWatch({
      bus,
      clock: wheel,
      subject: subjects.presence,
      joined: () => undefined,
      gone: (workers, how) => {
        if (how === 'lost') log.warn({ workers: workers.map(({ worker }) => worker) }, 'session workers are gone');
        this.#lookAfter(this.#open.toArray());
        this.#modern.lookAfter();
      },
      missing: () => {
        const since = performance.now() - unsureMs;
        this.#lookAfter(this.#open.toArray().filter(({ isSure, sentAt }) => !isSure && sentAt > since));
        this.#modern.lookAfter(({ isSure, sentAt }) => !isSure && sentAt > since);
      },
      disturbed: () => {
        if (bus.reconnects !== this.#reconnects) this.#reconnectedAt = performance.now();
        this.#reconnects = bus.reconnects;
        this.#lookAfter(this.#open.toArray(), true);
        this.#modern.lookAfter();
      },
    });
  }

  async start(): Promise<void> {
    // In one process nobody dies alone.
    if (!this.#bus.isShared) return;
    await this.#workers.start();
  }

  stop(): void {
    this.#workers.stop();
  }

  /** What waits for its answer here. */
  get waiting(): number {
    return this.#open.size + this.#modern.waiting;
  }

  /**
   * Sends a command to the session's owner, whoever that is.
   * @throws {BusError} when the bus cannot carry it.
   */
  request(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    const passage = new Passage(address, command, observer);
    this.#open.add(passage);
    try {
      this.#send(passage);
    } catch (error) {
      this.#open.remove(passage);
      throw error;
    }
    return {
      close: () => {
        this.#open.remove(passage);
        passage.pending?.close();
      },
    };
  }

  /** Opens a session at any worker. Nothing is lost when one that did not answer opened one as well: nobody has its id. */
  open(command: OpenCommand, answer: (reply: OpenReply) => void): void {
    const ask = (attempt: number): void => {
      const fail = (): void => answer({ kind: 'refused', fault: fault('gateway.unavailable') });
      try {
        const pending = this.#bus.request(subjects.sessionOpen, command, {
          reply: (reply) => {
            limit.cancel();
            pending.close();
            // One that is leaving; another one takes it.
            if (reply.kind === 'refused' && reply.fault.reason === 'gateway.draining' && attempt < maxOpens) ask(attempt + 1);
            else answer(reply);
          },
          failed: () => {
            limit.cancel();
            fail();
          },
        });
        const limit = this.#wheel.schedule(openMs, () => {
          pending.close();
          if (attempt < maxOpens) ask(attempt + 1);
          else fail();
        });
      } catch (error) {
        this.#log.debug({ err: error }, 'no worker could be asked to open a session');
        fail();
      }
    };
    ask(1);
  }

  #send(passage: Passage): void {
    passage.attempts += 1;
    passage.sentAt = performance.now();
    passage.isSure = false;
    passage.pending = this.#bus.request(passage.address.subject, passage.attempts === 1 ? passage.command : continued(passage), this.#hearing(passage));
  }

  /** Its worker is there: what it sent since the last message that arrived is sent again. */
  #attachAgain(passage: Passage): void {
    const { command, address } = passage;
    const stream = streamOf(command);
    if (stream === undefined || passage.pending === undefined || !('stream' in command) || !('caller' in command)) return;
    passage.pending.close();
    passage.attempts += 1;
    const hearing = this.#hearing(passage);
    passage.pending = this.#bus.request(address.subject, { kind: 'attach', caller: command.caller, stream: command.stream, after: { stream, sequence: passage.sequence } }, {
      ...hearing,
      reply: (frame) => {
        // It had said everything, and kept nothing of it.
        if (frame.kind === 'refused' && frame.fault.reason === 'stream.unknown') this.#lost(passage);
        else hearing.reply(frame);
      },
      // It was there a moment ago, and has had the command: that nobody is there now does not mean that nobody had it (W1).
      failed: (error) => (error.kind === 'no-responders' ? this.#lost(passage) : this.#fail(passage, error)),
    });
  }

  #hearing(passage: Passage): ReplyObserver<StreamFrame> {
    return {
      reply: (frame) => {
        if (frame.kind === 'moved') {
          this.#again(passage);
          return;
        }
        if (frame.kind === 'message') passage.heardUpTo = frame.sequence;
        else if (frame.kind === 'attached') passage.heardUpTo ??= 0;
        passage.observer.reply(frame);
      },
      failed: (error) => {
        if (error.kind === 'no-responders' && passage.attempts < maxAttempts) this.#unheard(passage); // W1
        else this.#fail(passage, error);
      },
    };
  }

  #fail(passage: Passage, error: BusError): void {
    if (this.#open.remove(passage)) passage.observer.failed(error);
  }

  /** Nobody had it. Right after the bus was gone that says only that the owner is not back yet. */
  #unheard(passage: Passage): void {
    if (!this.#workers.isBehind && performance.now() - this.#reconnectedAt > returnMs) {
      this.#again(passage);
      return;
    }
    passage.pending = undefined;
    this.#wheel.schedule(adoptRetryMs, () => {
      if (!this.#open.has(passage)) return;
      try {
        this.#send(passage);
      } catch (error) {
        this.#fail(passage, error as BusError);
      }
    });
  }

  /** Sends it to whoever holds the session next. */
  #again(passage: Passage): void {
    if (passage.pending === undefined) return; // It is on its way there already.
    passage.pending.close();
    passage.pending = undefined;
    void this.#adopt(passage.address.key).then((adoption) => {
      if (!this.#open.has(passage)) return;
      if (adoption !== 'held') {
        this.#open.remove(passage);
        passage.observer.reply({ kind: 'refused', fault: fault(adoption === 'unknown' ? 'session.unknown' : 'gateway.unavailable') });
        return;
      }
      try {
        this.#send(passage);
      } catch (error) {
        this.#fail(passage, error as BusError);
      }
    });
  }

  /** Asks any worker to take a session over, and goes on asking for a while when there is none that can. */
  #adopt(key: SessionKey): Promise<Adoption> {
    const running = this.#adoptions.get(key);
    if (running !== undefined) return running;
    const giveUpAt = performance.now() + adoptMs;
    const adoption = new Promise<Adoption>((resolve) => {
      const finish = (outcome: Adoption): void => {
        this.#adoptions.delete(key);
        resolve(outcome);
      };
      const later = (): void => {
        if (performance.now() >= giveUpAt) finish('nobody');
        else this.#wheel.schedule(adoptRetryMs, ask);
      };
      const ask = (): void => {
        if (!this.#bus.connected) {
          later();
          return;
        }
        let pending: PendingRequest | undefined;
        // Whoever was asked may be cut off from the bus; the next one to be asked is likely to be another. Only one can succeed.
        const limit = this.#wheel.schedule(adoptAskMs, () => {
          pending?.close();
          later();
        });
        try {
          pending = this.#bus.request(subjects.sessionAdopt, { key }, {
            reply: ({ outcome }) => {
              limit.cancel();
              pending?.close();
              if (outcome === 'busy') later();
              else finish(outcome);
            },
            failed: () => {
              limit.cancel();
              later();
            },
          });
        } catch (error) {
          // The bus is closing.
          limit.cancel();
          this.#log.debug({ err: error, session: key }, 'nobody could be asked to take a session over');
          finish('nobody');
        }
      };
      ask();
    });
    this.#adoptions.set(key, adoption);
    return adoption;
  }

  /**
   * Sends a request that needs no session to any worker.
   * @throws {BusError} when the bus cannot carry it.
   */
  requestModern(command: ModernCommand, observer: ReplyObserver<StreamFrame>): PendingRequest {
    return this.#modern.request(command, observer);
  }

  /**
   * Asks after the sessions to which these belong.
   * @param wasDisturbed what their workers sent may have been lost on the way.
   */
  #lookAfter(open: readonly Passage[], wasDisturbed = false): void {
    const bySession = new Map<SessionKey, Passage[]>();
    for (const passage of open) {
      const { key } = passage.address;
      bySession.set(key, [...(bySession.get(key) ?? []), passage]);
    }
    for (const [key, passages] of bySession) {
      const attempts = passages.map((passage) => passage.attempts);
      const streams = passages.flatMap(({ command }) => streamOf(command) ?? []);
      const pending = this.#bus.request(subjects.session(key), { kind: 'probe', streams }, {
        reply: (frame) => {
          pending.close();
          limit.cancel();
          if (frame.kind !== 'probed') {
            // Its worker has just given it up; the next one knows.
            this.#wheel.schedule(adoptRetryMs, askAgain);
            return;
          }
          for (const [index, passage] of passages.entries()) {
            // Only what was sent before the question can be lost by the answer.
            if (passage.attempts !== attempts[index]) continue;
            const stream = streamOf(passage.command);
            passage.isSure = true;
            if (stream === undefined || frame.missing.includes(stream)) this.#lost(passage);
            else if (wasDisturbed) this.#attachAgain(passage);
          }
        },
        failed: (error) => {
          limit.cancel();
          if (error.kind !== 'no-responders') return;
          for (const [index, passage] of passages.entries()) if (passage.attempts === attempts[index]) this.#lost(passage);
        },
      });
      const askAgain = (): void => {
        const left = passages.filter((passage, index) => this.#open.has(passage) && passage.attempts === attempts[index]);
        if (left.length > 0 && this.#bus.connected) this.#lookAfter(left, wasDisturbed);
      };
      const limit = this.#wheel.schedule(probeMs, () => {
        pending.close();
        askAgain();
      });
    }
  }

  /** The worker that had it is gone. */
  #lost(passage: Passage): void {
    if (!this.#open.has(passage) || passage.pending === undefined) return; // Nobody has had it yet.
    if (isRepeatable(passage.command)) {
      this.#again(passage);
      return;
    }
    passage.pending.close();
    this.#open.remove(passage);
    passage.observer.reply({ kind: 'refused', fault: fault('gateway.interrupted') }); // W2
    // The session goes on: whoever asks next finds it.
    void this.#adopt(passage.address.key);
  }
}

/** The stream a command's answer comes on. */
function streamOf(command: SessionCommand): StreamId | undefined {
  if (command.kind === 'attach') return command.after?.stream ?? command.stream;
  return command.kind === 'post' || command.kind === 'batch' ? command.stream : undefined;
}

/** The command as another worker goes on with it: after what the client has had. */
function continued({ command, heardUpTo, sequence }: Passage): SessionCommand {
  if (heardUpTo === undefined) return command;
  switch (command.kind) {
    case 'attach':
      return { ...command, after: { stream: command.after?.stream ?? command.stream, sequence } };
    case 'post':
    case 'batch':
      return { ...command, sentUpTo: heardUpTo };
    case 'detach':
    case 'delete':
    case 'probe':
      return command;
  }
}

/** What can be done a second time without doing more than once would have. */
function isRepeatable(command: SessionCommand): boolean {
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

function isHarmless(posted: PostedMessage): boolean {
  return posted.kind !== 'request' || repeatableMethods.has(posted.message.method);
}
