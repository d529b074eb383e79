/** A state as a shape and a word. The colour is an addition, which nothing depends on. */
import type { Approval, Call, ServerDefinitions, ServerRow } from '@omnibus/admin-api';

export type Tone = 'good' | 'warn' | 'bad' | 'off' | 'ask';

export function State({ tone, shape, word }: { readonly tone: Tone; readonly shape: string; readonly word: string }) {
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{shape}</span> {word}
    </span>
  );
}

const ofServer: Readonly<Record<ServerRow['state'], readonly [Tone, string, string]>> = {
  up: ['good', '●', 'up'],
  down: ['bad', '✗', 'down'],
  connecting: ['warn', '◐', 'connecting'],
  asleep: ['off', '◌', 'asleep'],
  paused: ['off', '‖', 'paused'],
  disabled: ['off', '○', 'disabled'],
  unknown: ['off', '?', 'unknown'],
};

export function ServerState({ state }: { readonly state: ServerRow['state'] }) {
  const [tone, shape, word] = ofServer[state] ?? ofServer.unknown;
  return <State tone={tone} shape={shape} word={word} />;
}

const ofCall: Readonly<Record<string, readonly [Tone, string, string]>> = {
  result: ['good', '✓', 'result'],
  toolError: ['warn', '!', 'tool failed'],
  error: ['bad', '✗', 'error'],
  fault: ['bad', '✗', 'gateway error'],
  cancelled: ['off', '○', 'cancelled'],
  timeout: ['bad', '◷', 'time limit'],
};

/** The state of a call without an outcome. Lists and other requests without a server end without one. */
const doing: Readonly<Record<NonNullable<Call['state']>, readonly [Tone, string, string]>> = {
  running: ['warn', '◐', 'running'],
  queued: ['warn', '◌', 'waits for a place'],
  asked: ['ask', '?', 'waits for its client'],
  approval: ['ask', '?', 'waits for an approval'],
  ended: ['good', '✓', 'answered'],
};

export function Outcome({
  outcome,
  state = 'running',
}: {
  readonly outcome: string | undefined;
  readonly state?: Call['state'];
}) {
  const [tone, shape, word] =
    outcome === undefined ? (doing[state] ?? doing.running) : (ofCall[outcome] ?? (['off', '?', outcome] as const));
  return <State tone={tone} shape={shape} word={word} />;
}

const ofApproval: Readonly<Record<Approval['state'], readonly [Tone, string, string]>> = {
  waiting: ['ask', '?', 'waits'],
  approved: ['good', '✓', 'approved'],
  used: ['good', '✓', 'approved and made'],
  refused: ['bad', '✗', 'refused'],
  expired: ['off', '◷', 'expired'],
  withdrawn: ['off', '○', 'withdrawn'],
};

export function ApprovalState({ state }: { readonly state: Approval['state'] }) {
  const [tone, shape, word] = ofApproval[state] ?? (['off', '?', state] as const);
  return <State tone={tone} shape={shape} word={word} />;
}

const modes = {
  pin: ['good', '●', 'pinned'],
  warn: ['warn', '◐', 'warned of'],
  off: ['off', '○', 'not compared'],
} as const;

/** The treatment of changed definitions of a server. */
export function Mode({ mode }: Pick<ServerDefinitions, 'mode'>) {
  const [tone, shape, word] = modes[mode] ?? modes.off;
  return <State tone={tone} shape={shape} word={word} />;
}
