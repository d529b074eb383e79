/** Tells one reader how the verification of a chain goes on, and its result, as a stream of events. */
import type { ServerResponse } from 'node:http';
import type { verifyQuery } from '@omnibus/admin-api';
import type { z } from 'zod';
import { ApiProblem } from './api-problem.ts';
import type { AuditBoard } from './audit-board.ts';
import { apiHeaders } from './security.ts';

/** A failure is an event too, once the stream has begun. */
export async function tellVerified(
  board: AuditBoard,
  query: z.output<typeof verifyQuery>,
  response: ServerResponse,
): Promise<void> {
  let isOpen = true;
  response.once('close', () => {
    isOpen = false;
  });
  const send = (event: string, data: unknown): void => {
    if (!response.headersSent)
      response.writeHead(200, {
        ...apiHeaders,
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      });
    if (isOpen) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  try {
    const verified = await board.verify(
      query,
      (progress) => send('progress', progress),
      () => isOpen,
    );
    if (verified !== undefined) send('verified', verified);
  } catch (error) {
    if (!response.headersSent || !(error instanceof ApiProblem)) throw error;
    send('failed', error.body);
  }
  response.end();
}
