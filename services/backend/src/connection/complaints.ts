/**
 * Counts each mistake of a server and logs the first of a kind, and after that only now and then how often it happened, since a server may send a thousand
 * invalid lines a second.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { printable } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Diary } from '../transport/diary.ts';
import { Refusals } from './refusals.ts';
import type { DropKind, Transport, UnusableQuestion } from '../transport/transport.ts';

export interface ComplaintsOptions {
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Counter of invalid messages. */
  readonly diary?: Diary | undefined;
  /** The transport that is open. */
  readonly transport: () => Transport | undefined;
  /** Whether the handshake is over. */
  readonly isReady: () => boolean;
  /** Whether the server is a program of the gateway's, which speaks on stdout. */
  readonly isProgram: boolean;
  /** The server sends invalid messages before the end of the handshake. Called once for each attempt. */
  readonly stammered: (said: string) => void;
}

/** Bound on displayed characters of an invalid message. */
const maxSaid = 240;
/** Time between two log lines about one kind of mistake. */
const quietMs = 10_000;

const texts: Readonly<Record<DropKind, string>> = {
  invalid: 'the server said something that is no message; it is dropped',
  undelivered: 'something could not be delivered to the server',
  refusal: 'the server refused a request, or named an address that is not used, in words that are kept from callers',
};

interface Complaint {
  /** How often it happened since the last line. */
  count: number;
  latest: string;
  readonly deadline: Deadline;
}

export class Complaints {
  readonly #options: ComplaintsOptions;
  readonly #refusals: Refusals;
  readonly #open = new Map<DropKind, Complaint>();
  /** How a request of the handshake was refused. A server that does not know the newest revision says so in this way, and is then greeted in an older one. */
  #refusedGreeting: string | undefined;
  /** Invalid messages since the connection began to open. */
  #said: string | undefined;

  constructor(options: ComplaintsOptions) {
    this.#options = options;
    this.#refusals = new Refusals(options.transport);
  }

  /**
   * Notes a mistake.
   * @param problem what happened, without secrets and control characters.
   * @param question the dropped request of the server, which waits for an answer.
   */
  note(kind: DropKind, problem: string, question?: UnusableQuestion): void {
    if (kind === 'refusal' && !this.#options.isReady()) {
      this.#refusedGreeting = problem;
      return;
    }
    if (question !== undefined) this.#refusals.refuse(question, problem);
    const { metrics, diary } = this.#options;
    if (kind !== 'refusal') metrics.dropped(kind === 'invalid' ? 'upstream_invalid' : 'upstream_undelivered');
    if (kind === 'invalid') {
      diary?.stray(this.#open.has(kind) ? undefined : problem);
      this.#stammer(problem);
    }
    this.#log(kind, problem);
  }

  /** Invalid messages since the connection began to open, in words that may reach clients; undefined if there are none. */
  get said(): string | undefined {
    return this.#said;
  }

  #stammer(problem: string): void {
    if (this.#said !== undefined || this.#options.isReady()) return;
    this.#said = this.describe(problem);
    this.#options.stammered(this.#said);
  }

  /** Reports an invalid message of the server. @param problem left out if its words may be of another caller. */
  describe(problem?: string): string {
    const words = problem === undefined ? '' : `: ${printable(problem, maxSaid)}`;
    return this.#options.isProgram
      ? `its program wrote on stdout, which is for messages only (a log belongs on stderr)${words}`
      : `it sent what is no message${words}`;
  }

  /** The connection is being opened. */
  opening(): void {
    this.#said = undefined;
  }

  /** The handshake has succeeded: earlier refusals were no mistakes. */
  up(): void {
    this.#said = undefined;
    this.#refusedGreeting = undefined;
  }

  /** The connection could not be opened, or is lost. */
  lost(): void {
    const problem = this.#refusedGreeting;
    this.#refusedGreeting = undefined;
    if (problem !== undefined) this.#log('refusal', problem);
  }

  /** Stops logging. */
  stop(): void {
    for (const { deadline } of this.#open.values()) deadline.cancel();
    this.#open.clear();
  }

  #log(kind: DropKind, problem: string): void {
    const open = this.#open.get(kind);
    if (open !== undefined) {
      open.count += 1;
      open.latest = problem;
      return;
    }
    this.#options.log.warn({ problem }, texts[kind]);
    this.#rest(kind);
  }

  #rest(kind: DropKind): void {
    const { wheel, log } = this.#options;
    const complaint: Complaint = {
      count: 0,
      latest: '',
      deadline: wheel.schedule(quietMs, () => {
        this.#open.delete(kind);
        if (complaint.count === 0) return;
        log.warn({ problem: complaint.latest, times: complaint.count, withinMs: quietMs }, texts[kind]);
        this.#rest(kind);
      }),
    };
    this.#open.set(kind, complaint);
  }
}
