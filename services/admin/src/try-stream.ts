/** Streams all events of an attempt, past and new, and ends with it. */
import type { ServerResponse } from 'node:http';
import { apiHeaders } from './api/security.ts';
import type { TryRun } from './try-run.ts';

/** Bound on unread bytes, beyond which a slow reader is disconnected. */
const maxUnreadBytes = 32 * 1024 * 1024;
const aliveMs = 15_000;

/** @param after number of the last event that the reader knows. @param changed called when it has one follower more or less. */
export function streamAttempt(run: TryRun, response: ServerResponse, after: number, changed: () => void): void {
  response.writeHead(200, { ...apiHeaders, 'content-type': 'text/event-stream' });
  // Its reader may take long for the last event, or be gone.
  const write = (text: string): void => {
    if (!response.writableEnded && !response.destroyed) response.write(text);
    if (response.writableLength > maxUnreadBytes) response.destroy();
  };
  write('retry: 1000\n\n');
  const alive = setInterval(() => write(':\n\n'), aliveMs).unref();
  const end = run.follow(after, ({ number, kind, data }) => {
    write(`id: ${number}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
    if (kind === 'result' || kind === 'failed') response.end();
  });
  changed();
  response.once('close', () => {
    clearInterval(alive);
    end();
    changed();
  });
}
