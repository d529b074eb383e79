/** Asks the workers that have commands of sessions whether they still do, when there is reason to doubt it. */
import { subjects, type Bus, type PresenceWatch } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Presence } from '@omnibus/protocol';
import type { InFlight } from './in-flight.ts';

export interface ProbingOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly workers: PresenceWatch<Presence>;
  readonly isOpen: (inFlight: InFlight) => boolean;
  /** Its worker does not have it, or is gone. */
  readonly lost: (inFlight: InFlight) => void;
  /** Its worker has it; what that one sent may have been lost on the way. */
  readonly attachAgain: (inFlight: InFlight) => void;
}

/** A worker that does not answer by then is asked again. */
const probeMs = 2_000;
/** One that is not heard of either and did not answer so often is not waited for. */
const maxUnanswered = 4;

export class Probing {
  readonly #options: ProbingOptions;

  constructor(options: ProbingOptions) {
    this.#options = options;
  }

  /** @param wasDisturbed what their workers sent may have been lost on the way. */
  lookAfter(those: readonly InFlight[], wasDisturbed = false): void {
    const together = Map.groupBy(those.filter(({ pending }) => pending !== undefined), ({ address: { key }, sentTo }) => `${key} ${sentTo}`);
    for (const ofOne of together.values()) this.#probe(ofOne, wasDisturbed);
  }

  /** @param those of one session at one worker. */
  #probe(those: readonly InFlight[], wasDisturbed: boolean): void {
    const { bus, wheel, workers, isOpen, lost, attachAgain } = this.#options;
    const [{ address: { key }, sentTo }] = those as [InFlight];
    if (sentTo === undefined) return;
    // Only what was sent before the question can be lost by the answer.
    const attempts = those.map((inFlight) => inFlight.attempts);
    const left = (): InFlight[] => those.filter((inFlight, index) => isOpen(inFlight) && inFlight.pending !== undefined && inFlight.attempts === attempts[index]);
    const streams = those.flatMap(({ stream }) => stream ?? []);
    const pending = bus.request(subjects.session(sentTo), { key, command: { kind: 'probe', streams } }, {
      reply: (frame) => {
        pending.close();
        limit.cancel();
        for (const inFlight of left()) {
          inFlight.unanswered = 0;
          const { stream } = inFlight;
          if (frame.kind !== 'probed' || stream === undefined || frame.missing.includes(stream)) lost(inFlight);
          else if (wasDisturbed) attachAgain(inFlight);
        }
      },
      failed: (error) => {
        // A worker that failed over the question has not said that it does not hold them: it is asked again.
        if (error.kind !== 'no-responders') return;
        limit.cancel();
        for (const inFlight of left()) lost(inFlight);
      },
    });
    const limit = wheel.schedule(probeMs, () => {
      pending.close();
      const state = workers.state(sentTo);
      for (const inFlight of left()) {
        if (state !== 'alive') inFlight.unanswered += 1;
        if (inFlight.unanswered >= maxUnanswered || (state === 'lost' && inFlight.isRepeatable)) lost(inFlight); // W2
      }
      if (bus.connected) this.lookAfter(left(), wasDisturbed);
    });
  }
}
