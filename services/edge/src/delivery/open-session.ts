import { gatewayFaultOf, subjects } from '@omnibus/bus';
import { fault, type OpenCommand, type OpenReply, type WorkerId } from '@omnibus/protocol';
import { nearestWorker, type WorkersThere } from './choose-worker.ts';
import { returnRetryMs } from './connection.ts';
import type { DeliveryParts } from './in-flight.ts';

export interface OpenSessionOptions extends Pick<DeliveryParts, 'bus' | 'wheel' | 'soon' | 'log' | 'connection'> {
  readonly workers: WorkersThere;
}

/**
 * Milliseconds until the edge asks another worker to open a session.
 * Longer than a worker waits for its store (`createMs` of session records).
 */
const openMs = 6_000;
const maxOpens = 4;
/** Times that all workers are asked again after NATS was lost, when none of them listens. */
const maxReturns = 10;

/** Opens a session at the nearest worker that takes it. If a late worker has opened one as well, no client knows its id, and it ends unused. */
export function openSession(
  { bus, wheel, soon, log, workers, connection }: OpenSessionOptions,
  command: OpenCommand,
  answer: (reply: OpenReply) => void,
): void {
  const asked = new Set<WorkerId>();
  let returns = 0;
  /** Whether another worker may open it: this one is leaving, or is full and not the last one. */
  const mayAnother = (reason: string, worker: WorkerId | undefined): boolean =>
    reason === 'gateway.draining' ||
    (reason === 'session.limit' && worker !== undefined && workers.alive.some((other) => !asked.has(other)));
  // After a worker that does not listen yet, NATS chooses: it knows the workers that do.
  const ask = (attempt: number, byNats = false): void => {
    const worker = byNats ? undefined : nearestWorker(workers, asked);
    if (worker !== undefined) asked.add(worker);
    const fail = (isUnheard: boolean): void => {
      if (attempt < maxOpens) ask(attempt + 1, isUnheard);
      else answer({ kind: 'refused', fault: fault('gateway.unavailable') });
    };
    try {
      const pending = bus.request(subjects.sessionOpen(worker), command, {
        reply: (reply) => {
          limit.cancel();
          pending.close();
          if (reply.kind === 'refused' && attempt < maxOpens && mayAnother(reply.fault.reason, worker))
            ask(attempt + 1);
          else answer(reply);
        },
        failed: (error) => {
          limit.cancel();
          const known = gatewayFaultOf(error);
          // Right after a loss of NATS, the workers may only not be back yet.
          if (error.kind === 'no-responders' && worker === undefined && !connection.isSteady && returns < maxReturns) {
            returns += 1;
            soon.schedule(returnRetryMs, () => ask(attempt, true));
            return;
          }
          // No worker at all, or one that has just left.
          if (worker === undefined || known !== undefined)
            answer({ kind: 'refused', fault: known ?? fault('gateway.unavailable') });
          else fail(error.kind === 'no-responders');
        },
      });
      const limit = wheel.schedule(openMs, () => {
        pending.close();
        fail(false);
      });
    } catch (error) {
      log.debug({ err: error }, 'no worker could be asked to open a session');
      answer({ kind: 'refused', fault: fault('gateway.unavailable') });
    }
  };
  ask(1);
}
