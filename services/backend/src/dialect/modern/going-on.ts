/** What happens after a server of 2026-07-28 has answered that it needs something before it can answer: the request is sent again with that. */
import { modernCodes, outcomeUrlProblem, type ExchangeOutcome } from '@omnibus/protocol';
import type { Sending } from '../dialect.ts';
import { startRound } from './rounds.ts';
import { driveTask, needsTaskExtension, withTaskExtension } from './task-drive.ts';

/** @returns false when the answer is final. */
export function goesOn(sending: Sending, outcome: ExchangeOutcome): boolean {
  if (outcome.kind === 'fault' || !sending.isOpen()) return false;
  const {
    method,
    params,
    round,
    context: { standsAlone, awaitsResult },
  } = sending;
  const code = outcome.kind === 'error' ? outcome.error.code : undefined;
  if (code === modernCodes.headerMismatch && round === 0 && method === 'tools/call') {
    // Nothing was executed: our copy of the tool's schema is out of date.
    sending.after(sending.refreshTools(), () => (sending.isOpen() ? sending.again(params) : undefined));
    return true;
  }
  if (code === modernCodes.revisionUnsupported) {
    // The server spoke this revision at the handshake; which one it speaks now is found out again.
    sending.reconnect('the server does not speak the revision any more that it spoke before');
    return false;
  }
  // The client speaks this revision too, and goes through the rounds itself.
  if (standsAlone === true && awaitsResult !== true) return false;
  if (outcome.kind === 'error') {
    if (code !== modernCodes.capabilityMissing || !needsTaskExtension(outcome.error)) return false;
    runAsTask(sending);
    return true;
  }
  if (outcome.result['resultType'] !== 'input_required' || outcomeUrlProblem(outcome) !== undefined) return false;
  startRound({
    params,
    round,
    method,
    result: outcome.result,
    wheel: sending.wheel,
    ask: (kind, wanted, respond) => sending.askClient(kind, wanted, respond),
    again: (next) => (sending.isOpen() ? sending.again(next) : undefined),
    finish: (final) => (sending.isOpen() ? sending.finish(final) : undefined),
  });
  return true;
}

/** Runs the tool as a task, since it runs only as one and the client knows no tasks. The gateway follows the task to its end. */
function runAsTask(sending: Sending): void {
  const { method, params, wheel } = sending;
  const capabilities = withTaskExtension(sending.context.capabilities);
  const finish = (outcome: ExchangeOutcome): void => (sending.isOpen() ? sending.finish(outcome) : undefined);
  let step = 0;
  const progress = (message: string | undefined): void => {
    step += 1;
    sending.report(message, step);
  };
  sending.after(sending.request(method, params, capabilities), (outcome) => {
    if (outcome.kind !== 'result' || outcome.result['resultType'] !== 'task') {
      finish(outcome);
      return;
    }
    driveTask({
      created: outcome.result,
      method,
      wheel,
      progress,
      finish,
      request: (asked, given) => sending.request(asked, given, capabilities),
      ask: (kind, wanted, respond) => sending.askClient(kind, wanted, respond),
      isOver: () => !sending.isOpen(),
      after: (wait, goOn) => sending.after(wait, goOn),
    });
  });
}
