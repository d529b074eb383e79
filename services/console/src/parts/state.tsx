/** A state as a shape and a word. The colour is an addition, which nothing depends on. */
import type { ServerRow } from '@omnibus/admin-api';

export type Tone = 'good' | 'warn' | 'bad' | 'off' | 'ask';

export function State({ tone, shape, word }: { readonly tone: Tone; readonly shape: string; readonly word: string }) {
  return <span class={`state ${tone}`}><span aria-hidden="true">{shape}</span> {word}</span>;
}

const ofServer: Readonly<Record<ServerRow['state'], readonly [Tone, string, string]>> = {
  up: ['good', '●', 'up'],
  down: ['bad', '✗', 'down'],
  connecting: ['warn', '◐', 'connecting'],
  asleep: ['off', '◌', 'asleep'],
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

export function Outcome({ outcome }: { readonly outcome: string | undefined }) {
  const [tone, shape, word] = outcome === undefined ? (['warn', '◐', 'running'] as const) : (ofCall[outcome] ?? (['off', '?', outcome] as const));
  return <State tone={tone} shape={shape} word={word} />;
}
