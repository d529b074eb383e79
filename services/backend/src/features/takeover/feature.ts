/** Remembers calls that another session worker may continue (`seen-exchanges.ts`), and refuses those that another one has asked for. */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { fault, newRequestKey, type ExchangeOutcome, type ServerName, type WorkerId } from '@omnibus/protocol';
import type { CallResult } from '@omnibus/telemetry';
import type { Call } from '../../call/call.ts';
import type { QuestionRelay } from '../../call/question-relay.ts';
import type { WatchedCall } from '../../call/watched-call.ts';
import type { ServerFeature, ProcessFeature } from '../../feature.ts';
import { keepMs, type SeenExchanges } from './seen-exchanges.ts';

export function takeover(seen: SeenExchanges, server: ServerName, questions: QuestionRelay): ServerFeature {
  const taken: ExchangeOutcome = {
    kind: 'fault',
    fault: fault('gateway.interrupted', 'another part of the gateway continues the call', { server }),
  };
  return {
    name: 'takeover',
    step: {
      before: ({ command }) => (command.owner !== undefined && seen.isFenced(command) ? taken : undefined),
    },
    watcher: {
      begun: (call) => (call.owner === undefined ? undefined : new SeenCall(seen, call, questions)),
    },
  };
}

export interface AttachingOptions {
  readonly seen: SeenExchanges;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  /** Session workers that are there, or have vanished. */
  readonly sessionWorkers: () => readonly WorkerId[];
}

/** Answers session workers that ask for calls of another one. */
export function attaching({ seen, bus, wheel, sessionWorkers }: AttachingOptions): ProcessFeature {
  /** Resolves when a session worker answers: then it has the answers that were sent to it before. */
  const answers = (worker: WorkerId): Promise<void> =>
    new Promise((resolve) => {
      if (!bus.connected) return;
      const pending = bus.request(
        subjects.sessionFindAt(worker),
        { key: newRequestKey() },
        {
          reply: () => {
            pending.close();
            resolve();
          },
          failed: () => undefined,
        },
      );
    });
  /** Answers of calls whose owner was killed wait for the next owner. */
  const handOver = async (): Promise<void> => {
    const workers = new Set(sessionWorkers());
    const owed = [...seen.owed].filter(([owner]) => workers.has(owner));
    if (owed.length === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const limit = wheel.schedule(keepMs, resolve);
    await Promise.race([
      promise,
      Promise.all(owed.map(([owner, taken]) => Promise.race([taken.promise, answers(owner)]))),
    ]);
    limit.cancel();
  };
  let subscription: Subscription | undefined;
  return {
    async start(worker) {
      subscription = await bus.subscribe(subjects.backendAttach(worker), (command, reply) =>
        seen.attach(command, reply),
      );
    },
    async stop() {
      await handOver();
      subscription?.close();
      seen.stop();
    },
  };
}

class SeenCall implements WatchedCall {
  readonly #seen: SeenExchanges;
  readonly #running;
  #isSent = false;

  constructor(seen: SeenExchanges, call: Call, questions: QuestionRelay) {
    this.#seen = seen;
    this.#running = seen.begin(call, () => questions.askAgain([call.exchange]));
  }

  written(): void {
    this.#isSent = true;
  }

  ended(_result: CallResult | 'cancelled', outcome: ExchangeOutcome | undefined): void {
    this.#seen.end(this.#running, outcome, this.#isSent);
  }
}
