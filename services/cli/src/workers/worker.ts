/** A worker of `omnibus serve --workers`: a gateway with all roles, on the bus of its supervisor. */
import { Socket } from 'node:net';
import { openLocalBus } from '@omnibus/bus';
import { boundYoungGeneration, stopOnSignal, surviveFaults } from '@omnibus/lifecycle';
import { fail } from '../commands/settings.ts';
import { opensPages } from '../desktop/browser.ts';
import { showingPages } from '../desktop/page-shower.ts';
import type { Gateway, Membership } from '../gateway.ts';
import { hideEnvironment } from '../serving/hide-environment.ts';
import type { ServeOptions } from '../serving/serve-options.ts';
import { ServedGateway } from '../serving/served-gateway.ts';
import {
  formatProblem,
  pipeDescriptor,
  type Answers,
  type FromWorker,
  type QuestionKind,
  type ToWorker,
  type WorkerStart,
} from './messages.ts';
import { slotOf } from './placement.ts';

/** Serves until the supervisor or the system ends the process. */
export async function serveAsWorker(options: ServeOptions): Promise<void> {
  boundYoungGeneration();
  const heard = new Heard();
  const told = await heard.start;
  const problem = formatProblem(told.format);
  if (problem !== undefined) {
    process.stderr.write(`omnibus: ${problem}\n`);
    process.exit(1);
  }
  let leaveMs = 0;
  const served = await ServedGateway.prepare(
    // The supervisor has asked for consent.
    { ...options, input: false, member: memberOf(told, () => leaveMs) },
    {
      env: { ...process.env, OMNIBUS_SEALING_KEY: told.sealingKeys },
      print: () => undefined,
      showPage: showingPages(opensPages(options.browser), (text) => void process.stderr.write(`omnibus: ${text}\n`)),
    },
  );
  if (!(served instanceof ServedGateway)) {
    fail(served.problems);
    process.exit();
  }
  hideEnvironment();
  const stop = stopOnSignal({
    limitMs: served.stopMs,
    // Ctrl-C in a terminal reaches all processes: the supervisor says when this one stops.
    signals: ['SIGTERM'],
    onForced: (reason) => served.log.error({ reason }, 'stopped by force'),
    stop: () => served.stop(),
  });
  process.on('SIGINT', () => undefined);
  heard.onStop = (ms) => {
    leaveMs = ms;
    stop('the supervisor');
  };
  const gateway = await served.start().catch((error: unknown) => {
    process.stderr.write(`omnibus: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
  surviveFaults((kind, error) => gateway.faults.bug(kind, 'an error was caught nowhere else', error));
  heard.onAsked = (question) => answerOf(question, served, gateway);
  tell({ kind: 'listening', endpoint: gateway.endpoint, stopMs: served.stopMs });
  await served.follow(gateway);
  tell({ kind: 'ready' });
}

function memberOf({ name, slot, slots }: WorkerStart, leaveMs: () => number): Membership {
  return {
    name,
    openBus: (onFault) =>
      openLocalBus(new Socket({ fd: pipeDescriptor }), {
        worker: name,
        onFault,
        // Without the bus it cannot serve: others take over its sessions, and the supervisor starts it again.
        lost: () => process.exit(1),
      }),
    hasProgramOf: (server) => slotOf(server, slots) === slot,
    leaveMs,
    notReady: () => [],
  };
}

function tell(message: FromWorker): void {
  // Without its supervisor the process ends, so no message is missed.
  if (process.connected) process.send?.(message);
}

/** Messages of the supervisor. */
class Heard {
  readonly start: Promise<WorkerStart>;
  onStop: (leaveMs: number) => void = () => process.exit();
  onAsked: ((question: QuestionKind) => Promise<Answers[QuestionKind]>) | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<WorkerStart>();
    this.start = promise;
    process.on('message', (message: ToWorker) => {
      if (message.kind === 'start') resolve(message);
      else if (message.kind === 'stop') this.onStop(message.leaveMs);
      else void this.#answer(message.question, message.number);
    });
  }

  async #answer(question: QuestionKind, number: number): Promise<void> {
    const body = await this.onAsked?.(question);
    if (body !== undefined) tell({ kind: 'answer', number, body });
  }
}

async function answerOf(
  question: QuestionKind,
  served: ServedGateway,
  gateway: Gateway,
): Promise<Answers[QuestionKind]> {
  switch (question) {
    case 'reload':
      return served.reload();
    case 'metrics':
      return gateway.metrics.snapshot();
    case 'records':
      return gateway.records();
  }
}
