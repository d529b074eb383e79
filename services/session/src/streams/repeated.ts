/**
 * Finds the stream of a request that its client sends once more: same session, same id, same body. A client that lost its connection, or whose edge is gone,
 * does so to get the answer. It joins the stream if no edge reads that stream any more; otherwise it is a request of its own.
 */
import { hash } from 'node:crypto';
import { repeatableMethods, type PostedMessage, type SessionCommand, type WorkerId } from '@omnibus/protocol';
import type { ResumableStream } from './resumable-stream.ts';

/** Milliseconds after the end of its connection, or after the answer, in which a client may repeat a request. */
const repeatMs = 30_000;

type PostCommand = Extract<SessionCommand, { kind: 'post' | 'batch' }>;

/** A digest of a request that may not be executed twice; undefined for a batch, for other messages, and for requests that may be. */
export function digestOf(command: PostCommand): string | undefined {
  if (command.kind !== 'post' || !mayBeJoined(command.message)) return undefined;
  return hash('sha256', JSON.stringify(command.message.message));
}

function mayBeJoined(posted: PostedMessage): boolean {
  return posted.kind === 'request' && !repeatableMethods.has(posted.message.method);
}

/** @param streams the newest one with the same request is found. @param edge that accepted the command. */
export function repeated(
  command: PostCommand,
  streams: readonly ResumableStream[],
  edge: WorkerId | undefined,
): ResumableStream | undefined {
  if (command.kind !== 'post' || !mayBeJoined(command.message)) return undefined;
  const since = performance.now() - repeatMs;
  const left = streams.filter((stream) => stream.mayBeLeft(edge, since));
  if (left.length === 0) return undefined;
  const digest = digestOf(command);
  return left.findLast((stream) => stream.digest === digest);
}
