/** Remembers calls that another session worker may continue (`seen-exchanges.ts`), and refuses those that another one has asked for. */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import { fault, type ExchangeOutcome, type ServerName } from '@omnibus/protocol';
import type { CallResult } from '@omnibus/telemetry';
import type { Call } from '../../call/call.ts';
import type { QuestionRelay } from '../../call/question-relay.ts';
import type { WatchedCall } from '../../call/watched-call.ts';
import type { ServerFeature, ProcessFeature } from '../../feature.ts';
import type { SeenExchanges } from './seen-exchanges.ts';

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

/** Answers session workers that ask for calls of another one. */
export function attaching(seen: SeenExchanges, bus: Bus): ProcessFeature {
  let subscription: Subscription | undefined;
  return {
    async start(worker) {
      subscription = await bus.subscribe(subjects.backendAttach(worker), (command, reply) =>
        seen.attach(command, reply),
      );
    },
    stop() {
      subscription?.close();
      seen.stop();
      return Promise.resolve();
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
