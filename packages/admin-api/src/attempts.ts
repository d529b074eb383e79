/** Calls that an operator tries through the gateway (`/try`): their messages, and their operations. */
import { z } from 'zod';

/** Bound on arguments and answers, which users enter in a page; programs make larger calls. */
const maxAttemptBytes = 1024 * 1024;

const attempt = z.strictObject({
  endpoint: z
    .string()
    .regex(/^[A-Za-z0-9_-]{0,64}$/, 'expected the name of a server or profile')
    .default('')
    .describe('The name of a server or profile; empty: the endpoint of all servers.'),
  method: z
    .string()
    .max(64)
    .default('tools/call')
    .describe('Or `prompts/get`, `resources/read` or `completion/complete`, whose params are `arguments`.'),
  name: z.string().max(4_096).describe('Of the tool or prompt as clients see it, or the URI of the resource.'),
  arguments: z
    .string()
    .max(maxAttemptBytes)
    .optional()
    .describe('A JSON object as text, so that numbers are sent as they were written. Default: `{}`.'),
  revision: z
    .string()
    .optional()
    .describe('The revision of MCP that the client speaks. Default: the newest with sessions.'),
  may: z
    .array(z.enum(['forms', 'links', 'sampling', 'roots']))
    .max(4)
    .default([])
    .describe('What servers may ask meanwhile. A question about `roots` is answered at once: there are none.'),
});
const attemptBegun = z.object({ id: z.string().describe('Names the attempt, for a minute after its end.') });

const attemptAnswer = z.strictObject({
  key: z.string().max(20).describe('Of the event `question`.'),
  result: z
    .string()
    .max(maxAttemptBytes)
    .optional()
    .describe('What is answered, a JSON object as text; left out: it is refused, with an error for the server.'),
});
const answered = z.object({ answered: z.string().describe('The key of the question.') });
const cancelled = z.object({ cancelled: z.literal(true) });

export const attemptOperations = {
  try: {
    method: 'post',
    path: '/try',
    summary: 'Makes a call through the gateway, as the caller whom the credentials of this request name.',
    body: attempt,
    maxBodyBytes: maxAttemptBytes,
    followsConsole: true,
    answer: attemptBegun,
    status: 202,
    isRepeatable: false,
  },
  tryEvents: {
    method: 'get',
    path: '/try/{id}/events',
    followsConsole: true,
    type: 'text/event-stream',
    summary:
      'What happens to the call: events `progress`, `log`, `question` and `question-ended`, and at the end `result` or `failed`. Past events come first. A comment every 15 seconds.',
    query: z.object({
      after: z.coerce.number().int().min(0).optional().describe('The id of the last event that is known.'),
    }),
  },
  tryAnswer: {
    method: 'post',
    path: '/try/{id}/answer',
    summary: 'Answers what a server asks during the call.',
    body: attemptAnswer,
    maxBodyBytes: maxAttemptBytes,
    followsConsole: true,
    answer: answered,
    isRepeatable: false,
  },
  tryCancel: {
    method: 'post',
    path: '/try/{id}/cancel',
    followsConsole: true,
    summary: 'Cancels the call.',
    answer: cancelled,
    isRepeatable: false,
  },
} as const;
