/** Pauses of servers: in the bucket of blocks, so that every process hears of one at once. */
import type { Paused } from '@omnibus/admin-api';
import type { Blocks } from '@omnibus/bus';
import type { BlockRecord } from '@omnibus/protocol';
import { ApiProblem } from './api-problem.ts';

interface Pause {
  readonly server: string;
  /** Whether there is a server of this name. */
  readonly isKnown: boolean;
  readonly by: string;
  /** Milliseconds; undefined: until it is resumed. */
  readonly forMs: number | undefined;
  readonly because: string | undefined;
}

export function pausesOf(blocks: Blocks | undefined): readonly BlockRecord[] {
  return blocks?.all.filter(({ isPause }) => isPause === true) ?? [];
}

/** @throws {ApiProblem} */
export async function pauseServer(
  blocks: Blocks | undefined,
  { server, isKnown, by, forMs, because }: Pause,
): Promise<Paused> {
  if (!isKnown) throw new ApiProblem('unknown', `there is no server ${JSON.stringify(server.slice(0, 64))}`);
  const now = Date.now();
  const until = forMs === undefined ? undefined : now + forMs;
  await has(blocks).add({
    kind: 'server',
    name: server,
    isPause: true,
    by,
    at: now,
    ...(until === undefined ? {} : { until }),
    ...(because === undefined ? {} : { because }),
  });
  return { server, isPaused: true, ...(until === undefined ? {} : { until: new Date(until).toISOString() }) };
}

/** @throws {ApiProblem} */
export async function resumeServer(blocks: Blocks | undefined, server: string): Promise<Paused> {
  if (await has(blocks).remove('pause', server)) return { server, isPaused: false };
  const isBlocked = blocks?.all.some(({ kind, name }) => kind === 'server' && name === server) === true;
  throw new ApiProblem(
    'unknown',
    `server ${JSON.stringify(server.slice(0, 64))} is not paused`,
    isBlocked ? `it is blocked: omnibus unblock server ${server}` : undefined,
  );
}

function has(blocks: Blocks | undefined): Blocks {
  if (blocks === undefined)
    throw new ApiProblem('starting', 'the process is starting, and has no bus yet', '/readyz says what it waits for');
  return blocks;
}
