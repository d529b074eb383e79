/** Questions for session workers that have just started, which others may not know yet. */
import { subjects, type Bus, type Heartbeat, type Watch } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { FindCommand, HoldReply } from '@omnibus/protocol';

/** Milliseconds in which a worker counts as young, since its first sign came back over the connection that it has. */
export const youngMs = 3_000;

export interface YoungOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly heart: Pick<Heartbeat<object>, 'heardForMs'>;
  readonly answer: (question: FindCommand, reply: (answer: HoldReply) => void) => void;
}

/**
 * Answers such questions while this worker is young: also while its signs do not come back, since the others may not have heard them either.
 * @returns it stays young when that is closed.
 */
export async function answerWhileYoung({ bus, wheel, heart, answer }: YoungOptions): Promise<Watch> {
  const questions = await bus.subscribe(subjects.sessionFindYoung, answer);
  const later = (): { cancel(): void } =>
    wheel.schedule(youngMs - heart.heardForMs, () => {
      if (heart.heardForMs < youngMs) growing = later();
      else questions.close();
    });
  let growing = later();
  return { close: () => growing.cancel() };
}
