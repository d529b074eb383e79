/** Logs and counts requests that rules refuse, and what guardrails find, with a bound on the lines. */
import type { Decision } from '@omnibus/policy';
import type { Caller } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Wanted } from '../../call/permission.ts';
import type { GuardrailNote } from '../guardrails/screen.ts';
import { FewLines } from './few-lines.ts';

/** Log messages for decisions that are only recorded. */
const words = {
  deny: 'a rule would refuse this',
  ask: 'a rule would have this approved first',
  allow: 'a rule would redact the answer',
} as const;

export class DecisionLog {
  readonly #metrics: Pick<Metrics, 'refusedByRule' | 'guarded'>;
  readonly #lines: FewLines;

  constructor(log: Logger, metrics: Pick<Metrics, 'refusedByRule' | 'guarded'>) {
    this.#metrics = metrics;
    this.#lines = new FewLines(log, 'more was refused by rules or stopped by guardrails than is written here');
  }

  /** @param isRecording whether the rules are only recorded, so that nothing is refused. */
  refused(
    { rule, isVisible, effect }: Decision,
    isRecording: boolean,
    { kind, server, name, method }: Wanted,
    { principal }: Caller,
  ): void {
    this.#metrics.refusedByRule(isRecording ? 'recorded' : isVisible ? 'denied' : 'hidden', rule ?? 'default');
    this.#lines.write(
      { rule: rule ?? 'default', principal, method, server, [kind]: name, hidden: !isVisible },
      isRecording ? words[effect] : 'refused by a rule',
    );
  }

  /** @param problem the reason why a check failed. */
  guarded(
    { guardrail, stage, action }: GuardrailNote,
    problem: string | undefined,
    { kind, server, name, method }: Wanted,
    { principal }: Pick<Caller, 'principal'>,
  ): void {
    this.#metrics.guarded(guardrail, stage, action);
    this.#lines.write(
      {
        guardrail,
        stage,
        action,
        principal,
        method,
        server,
        [kind]: name,
        ...(problem === undefined ? {} : { problem }),
      },
      action === 'failed' ? 'a guardrail could not look at a message' : 'a guardrail has found something',
    );
  }
}
