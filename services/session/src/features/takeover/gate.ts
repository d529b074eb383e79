/**
 * Continues a call that a session worker which is gone may have begun. It asks every backend worker that may have been there since the call came: a running
 * call goes on here, a kept answer is given, and a call that none of them has sent begins.
 *
 * Invariant T3: a call begins here only if every backend worker that existed since an edge accepted it has said `never`.
 */
import {
  afterAsking,
  askWorker,
  subjects,
  type AskedBackend,
  type AskOptions,
  type Bus,
  type Found,
} from '@omnibus/bus';
import {
  exchangeOf,
  fault,
  repeatableMethods,
  type AttachCommand,
  type AttachReply,
  type Begun,
  type ExchangeId,
  type ServerName,
  type WorkerId,
} from '@omnibus/protocol';
import type { Adapters } from '../../call/adapters.ts';
import type { CallStream, ForwardedCall } from '../../call/client-port.ts';
import type { Continued } from '../../call/exchange-request.ts';
import type { Gate, GateRun } from '../../call/gates.ts';
import { WaitingRequest } from '../../call/open-requests.ts';
import type { Planned } from '../../call/planned-again.ts';

export interface TakeoverOptions {
  readonly owner: WorkerId;
  readonly bus: Bus;
  readonly clock: AskOptions['clock'];
  /** The backend workers; undefined before the session worker has started. */
  readonly backends: () => Pick<Adapters, 'since' | 'hasLostSince' | 'expected' | 'state'> | undefined;
}

export function takeoverGate(options: TakeoverOptions): Gate {
  const gate: Gate = {
    takes({ call, plan }, run) {
      const { begun } = call.stream;
      if (begun === undefined || repeatableMethods.has(call.method)) return false;
      if ('isRepeatable' in plan && plan.isRepeatable) return false;
      const { origin } = call.stream;
      if (origin === undefined) run.carry(ofUnknownOutcome(call));
      else {
        const server = 'server' in plan ? plan.server : undefined;
        goOn(gate, options, call, { exchange: exchangeOf(origin, call.id), begun, server }, run);
      }
      return true;
    },
  };
  return gate;
}

/**
 * A request of which a server may work on the call already: a client's cancellation has to reach that server. If another worker takes the session over, it gets no
 * answer here: the edge asks after it, and sends it there.
 */
class AskedRequest extends WaitingRequest {
  #isGivenAway = false;

  constructor(call: ForwardedCall<CallStream>, stop: (reason: string) => void, fail: WaitingRequest['fail']) {
    super(
      call,
      (reason) => (this.#isGivenAway ? call.stream.leaveUnanswered() : stop(reason)),
      (gatewayFault) => (this.#isGivenAway ? undefined : fail(gatewayFault)),
    );
  }

  override giveAway(): void {
    this.#isGivenAway = true;
  }
}

function goOn<Stream extends CallStream>(
  gate: Gate,
  options: TakeoverOptions,
  call: ForwardedCall<Stream>,
  asked: { readonly exchange: ExchangeId; readonly begun: Begun; readonly server: ServerName | undefined },
  run: GateRun<Stream>,
): void {
  const { exchange, begun, server } = asked;
  const { open, messages } = run;
  const { owner, bus } = options;
  const waiting = new AskedRequest(
    call,
    (reason) => {
      if (server !== undefined) bus.publish(subjects.backendControl(server), { kind: 'cancel', exchange, reason });
      call.stream.leaveUnanswered();
    },
    (gatewayFault) => messages.answerFault(call.stream, call.id, gatewayFault),
  );
  open.add(waiting);
  const asking = ask(options, { exchange, owner, ageMs: begun.ageMs, turn: begun.turn, takes: false }, begun);
  open.after(waiting, asking, (found) =>
    open.resume(waiting, () => {
      const planned = withTurn(run.again(call), begun.turn);
      if (found === 'never') run.next(gate, planned);
      else run.carry(continued(planned, found));
    }),
  );
}

function withTurn<Stream extends CallStream>({ call, plan }: Planned<Stream>, turn: number): Planned<Stream> {
  return { call: { ...call, turn }, plan };
}

/** A call that a server may have goes on where it is, though rules may refuse it by now: then its client is told that the outcome is unknown. */
function continued<Stream extends CallStream>({ call, plan }: Planned<Stream>, found: Continued): Planned<Stream> {
  return plan.kind === 'refuse' ? ofUnknownOutcome(call) : { call: { ...call, continues: found }, plan };
}

function ofUnknownOutcome<Stream extends CallStream>(call: ForwardedCall<Stream>): Planned<Stream> {
  return { call, plan: { kind: 'refuse', fault: fault('gateway.interrupted') } };
}

/**
 * Asks the backend workers. Resolves as soon as one has the call, or when each has answered or is known to be gone.
 * @param begun what the edge knows of it. This worker may be younger than the call.
 */
function ask({ bus, clock, backends }: TakeoverOptions, command: AttachCommand, begun: Begun): Promise<Found> {
  const watch = backends();
  if (watch === undefined) return Promise.resolve({ at: undefined });
  const all = begun.areAll && !watch.hasLostSince(command.ageMs) ? begun.backends : watch.since(command.ageMs);
  // One that has the call says so, whether or not all are known. This worker may be too young to know any, or know one that the edge has not heard of yet.
  const workers = [...new Set([...begun.backends, ...(all ?? []), ...watch.expected])];
  const asking = { bus, clock, workers: watch };
  return new Promise((resolve) => {
    const asked: AskedBackend[] = [];
    const look = (isLast: boolean): void => {
      // A worker that is gone, or that nobody knows of, may have had it.
      const complete = all === undefined ? [...asked, { worker: command.owner, state: undefined }] : asked;
      const found = afterAsking(isLast ? complete : asked, isLast);
      if (found !== undefined) resolve(found);
    };
    if (workers.length === 0) look(true);
    for (const worker of workers)
      void askWorker<AttachCommand, AttachReply>(asking, worker, subjects.backendAttach(worker), command).then(
        (reply) => {
          const state = reply === 'silence' || reply?.kind !== 'seen' ? undefined : reply.state;
          asked.push({ worker, state });
          look(asked.length === workers.length);
        },
      );
  });
}
