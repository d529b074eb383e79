/** The state of a server as the page shows it. */
import type { UpstreamState } from '@omnibus/telemetry';

/**
 * @param state of the server's first connection; undefined if it has none.
 * @param status whether the server's lists are offered.
 * @param problem why it is not connected, in words.
 * @returns `down` also during an attempt to connect again: a server that fails stays down until it is ready.
 */
export function stateOf(
  state: UpstreamState | undefined,
  status: 'up' | 'down',
  problem: string | undefined,
): 'up' | 'down' | 'connecting' | 'asleep' {
  if (state === 'asleep') return 'asleep';
  const hasFailed = status === 'down' && problem !== undefined && problem !== 'it is still connecting';
  if ((state === 'connecting' || state === 'idle') && !hasFailed) return 'connecting';
  return (state === 'ready' || state === 'sign_in') && status === 'up' ? 'up' : 'down';
}
