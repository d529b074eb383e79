/** Asks workers whether they still have commands of sessions, when there is reason to doubt it. */
import { subjects, type Bus, type PresenceWatch } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Presence } from '@omnibus/protocol';
import type { InFlight } from './in-flight.ts';

export interface ProbingOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly workers: PresenceWatch<Presence>;
  readonly isOpen: (inFlight: InFlight) => boolean;
  /** Called when its worker does not have it, or is gone. */
  readonly lost: (inFlight: InFlight) => void;
  /** Called when its worker has it, and messages of that worker may have been lost. */
  readonly attachAgain: (inFlight: InFlight) => void;
}

/** Milliseconds before another question to a silent worker. */
const probeMs = 1_000;

export class Probing {
  readonly #options: ProbingOptions;

  constructor(options: ProbingOptions) {
    this.#options = options;
  }

  /** Asks the workers of these commands. @param wasDisturbed whether messages of the workers may have been lost. */
  lookAfter(those: readonly InFlight[], wasDisturbed = false): void {
    const together = Map.groupBy(
      those.filter(({ waits }) => waits),
      ({ address: { key }, sentTo }) => `${key} ${sentTo}`,
    );
    for (const ofOne of together.values()) this.#probe(ofOne, wasDisturbed);
  }

  /** Asks about the commands of one session at one worker. */
  #probe(those: readonly InFlight[], wasDisturbed: boolean): void {
    const { bus, wheel, workers, isOpen, lost, attachAgain } = this.#options;
    const [
      {
        address: { key },
        sentTo,
      },
    ] = those as [InFlight];
    if (sentTo === undefined) return;
    // The answer can only report commands before the question as lost.
    const attempts = those.map((inFlight) => inFlight.attempts);
    const left = (): InFlight[] =>
      those.filter((inFlight, index) => isOpen(inFlight) && inFlight.waits && inFlight.attempts === attempts[index]);
    const streams = those.flatMap(({ stream }) => stream ?? []);
    const askedAt = performance.now();
    const pending = bus.request(
      subjects.session(sentTo),
      { key, command: { kind: 'probe', streams } },
      {
        reply: (frame) => {
          pending.close();
          limit.cancel();
          for (const inFlight of left()) {
            const { stream } = inFlight;
            if (frame.kind === 'probed' && stream !== undefined && frame.notBegun?.includes(stream) === true)
              inFlight.hadNotBegun(askedAt);
            if (frame.kind !== 'probed' || stream === undefined || frame.missing.includes(stream)) lost(inFlight);
            else if (wasDisturbed) attachAgain(inFlight);
          }
        },
        failed: (error) => {
          // A worker that failed over the question has not said that it does not hold them: the edge asks it again.
          if (error.kind !== 'no-responders') return;
          limit.cancel();
          for (const inFlight of left()) lost(inFlight);
        },
      },
    );
    const limit = wheel.schedule(probeMs, () => {
      pending.close();
      if (workers.state(sentTo) === 'lost') for (const inFlight of left()) lost(inFlight); // W2
      if (bus.connected) this.lookAfter(left(), wasDisturbed);
    });
  }
}
