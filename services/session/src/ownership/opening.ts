/** Opens sessions, within the limits per caller and per worker. */
import type { View } from '@omnibus/catalog';
import {
  errorText,
  fault,
  newSessionId,
  sessionKey,
  toErrorObject,
  type Caller,
  type Facts,
  type GatewayFault,
  type OpenCommand,
  type OpenReply,
} from '@omnibus/protocol';
import { initializeProblem } from '../dialect/legacy/handshake.ts';
import type { Sessions, SessionsOptions } from './sessions.ts';

export interface OpeningOptions extends Pick<
  SessionsOptions,
  'log' | 'metrics' | 'worker' | 'config' | 'records' | 'callerProblem'
> {
  readonly sessions: Sessions;
  /** What must be waited for before the caller's lists are known; undefined if nothing. */
  readonly undecided: (caller: Caller) => Promise<void> | undefined;
  /** Puts on record that it is not, and why. */
  readonly turnedAway: (command: OpenCommand, problem: GatewayFault) => void;
  readonly factsOf: (caller: Caller) => Facts | undefined;
  /** The common view of an endpoint; undefined when there is no such endpoint. */
  readonly view: (caller: Caller) => View | undefined;
}

export class Opening {
  readonly #options: OpeningOptions;
  #isClosed = false;

  constructor(options: OpeningOptions) {
    this.#options = options;
  }

  /** The worker stops: no session is opened here any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** Opens a session, once it is decided what its caller sees: the answer names capabilities and servers. */
  open(command: OpenCommand, reply: (answer: OpenReply) => void): void {
    const undecided = this.#options.undecided(command.caller);
    if (undecided === undefined) this.#open(command, reply);
    else
      void undecided
        .then(() => this.#open(command, reply))
        .catch((error: unknown) => {
          this.#options.log.error({ err: error }, 'a session could not be opened');
          reply({ kind: 'refused', fault: fault('gateway.unavailable') });
        });
  }

  #open(command: OpenCommand, reply: (answer: OpenReply) => void): void {
    const { caller, request } = command;
    const { log, metrics, worker, records, sessions, callerProblem, turnedAway, factsOf, view: viewOf } = this.#options;
    const declared = request.params?.['capabilities'];
    const bytes = declared === undefined ? 0 : JSON.stringify(declared).length;
    const unproven = callerProblem(caller);
    if (unproven !== undefined) turnedAway(command, unproven);
    const problem = unproven ?? this.#problem(caller, bytes);
    if (problem !== undefined) {
      metrics.refused(problem.reason);
      reply({ kind: 'refused', fault: problem });
      return;
    }
    const view = viewOf(caller);
    if (view === undefined) {
      reply({ kind: 'refused', fault: fault('http.path_unknown') });
      return;
    }
    const invalid = initializeProblem(request.params) ?? this.#tooLarge(bytes);
    if (invalid !== undefined) {
      metrics.refused('params.invalid');
      reply({ kind: 'answered', text: errorText(request.id, toErrorObject(fault('params.invalid', invalid))) });
      return;
    }
    const id = newSessionId();
    const { proof: _proof, facts: _facts, address: _address, tenant: _tenant, ...kept } = caller;
    const facts = factsOf(caller);
    const session = sessions.hold(sessionKey(id), {
      ...kept,
      ...(facts?.tenant === undefined ? {} : { tenant: facts.tenant }),
      ...(facts?.tools === undefined ? {} : { isLimited: true }),
    });
    let text: string;
    try {
      text = session.open(request, view, caller);
    } catch (error) {
      sessions.held.remove(session);
      session.abandon();
      throw error; // The bus answers the command with it (B6).
    }
    sessions.held.weigh(session);
    records.create(session.key, session.record(worker)).then(
      () => {
        metrics.sessionsOpened.inc();
        reply({ kind: 'opened', session: id, worker, text });
      },
      (error: unknown) => {
        sessions.held.remove(session);
        session.abandon();
        log.error({ err: error }, 'a session could not be opened');
        reply({ kind: 'refused', fault: fault('gateway.unavailable') });
      },
    );
  }

  /** Whether there is room for one more session, if need be after ending an unused one. */
  hasRoom(): boolean {
    const { sessions, config } = this.#options;
    return !this.#isClosed && (sessions.held.size < config().limits.maxSessions || sessions.shed());
  }

  #tooLarge(bytes: number): string | undefined {
    const { maxSessionBytesPerSession } = this.#options.config().limits;
    return bytes > maxSessionBytesPerSession
      ? `params.capabilities has ${bytes} bytes; a session may declare ${maxSessionBytesPerSession} (limits.maxSessionBytesPerSession)`
      : undefined;
  }

  /** Why a session cannot be opened. @param bytes that its client declares. */
  #problem({ principal }: Caller, bytes: number): GatewayFault | undefined {
    const { sessions, config } = this.#options;
    const { maxSessions, maxSessionsPerPrincipal, maxSessionBytes, maxSessionBytesPerSession } = config().limits;
    if (this.#isClosed) return fault('gateway.draining');
    if (sessions.held.of(principal) >= maxSessionsPerPrincipal) return fault('session.limit');
    if (bytes > maxSessionBytesPerSession) return undefined; // The session itself refuses that.
    while (sessions.held.size >= maxSessions || sessions.held.bytes + bytes > maxSessionBytes)
      if (!sessions.shed()) return fault('session.limit');
    return undefined;
  }
}
