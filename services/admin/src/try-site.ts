/**
 * `POST /api/v1/try`: an operator calls a tool through the gateway, as the caller of the credentials, and answers questions that servers
 * ask meanwhile. `GET try/ID/events` streams its events, `POST try/ID/answer` and `try/ID/cancel` act on it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { attempt, attemptAnswer, maxAttemptBytes } from '@omnibus/admin-api';
import { consoleMode } from '@omnibus/config';
import type { Edge } from '@omnibus/edge';
import {
  isLegacyRevision,
  isModernRevision,
  isObject,
  latestLegacyRevision,
  parseEndpointName,
  parseJson,
  printable,
  roundMethods,
  type JsonObject,
} from '@omnibus/protocol';
import { writeAnswer, type AdminAnswer, type AdminSite } from '@omnibus/telemetry';
import type { z } from 'zod';
import { recordAct } from './act-records.ts';
import { ApiProblem } from './api/api-problem.ts';
import type { ApiOptions } from './api/options.ts';
import { apiHeaders, refuseForeign } from './api/security.ts';
import { readShape, refuseByMode } from './api/site.ts';
import { TryDesk } from './try-desk.ts';
import type { Attempt, TryRun } from './try-run.ts';
import { streamAttempt } from './try-stream.ts';

interface TrySiteOptions extends Pick<ApiOptions, 'config' | 'access' | 'audit' | 'metrics' | 'log' | 'onFault'> {
  /** @returns undefined in a process without one, and while it starts. */
  readonly edge: () => Edge | undefined;
}

const base = '/api/v1/try';
/** A body that is too long is read up to this size, so that its sender reads the answer. */
const cutBytes = 8 * 1024 * 1024;

export function trySite(options: TrySiteOptions): AdminSite & { stop(): void } {
  const desk = new TryDesk();
  return {
    covers: (path) => path === base || path.startsWith(`${base}/`),
    refusal: ({ text }) => ({ ...new ApiProblem('host', text.trim()).answer, headers: apiHeaders }),
    stop: () => desk.stop(),
    async serve(request, response, path) {
      try {
        const answer = await serve(options, desk, request, response, path);
        if (answer !== undefined) writeAnswer(response, { ...answer, headers: { ...apiHeaders, ...answer.headers } });
      } catch (error) {
        if (!(error instanceof ApiProblem)) options.onFault('a call could not be tried', error);
        const problem = error instanceof ApiProblem ? error : new ApiProblem('failed', 'this failed; the log says why');
        if (response.headersSent) response.destroy();
        else writeAnswer(response, { ...problem.answer, headers: apiHeaders });
      }
    },
  };
}

/** @returns undefined if it streams its answer itself. @throws {ApiProblem} */
async function serve(
  options: TrySiteOptions,
  desk: TryDesk,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<AdminAnswer | undefined> {
  const { config, access } = options;
  refuseForeign(request);
  refuseByMode(consoleMode(config()));
  const refusal = await access.guard(request, path, 'try');
  if (refusal !== undefined)
    return {
      ...refusal,
      text: `${JSON.stringify({ reason: refusal.status === 401 ? 'unauthenticated' : 'forbidden', problem: refusal.text.trim() })}\n`,
      type: 'application/json',
    };
  if (path === base) {
    takeOnly(request, 'POST', base);
    return begin(options, desk, request);
  }
  const [, id = '', what = ''] = /^\/([0-9a-f]{32})\/(events|answer|cancel)$/.exec(path.slice(base.length)) ?? [];
  if (what === '')
    throw new ApiProblem('unknown', `there is no ${path.slice(0, 200)}`, `${base}/ID/events, answer and cancel`);
  takeOnly(request, what === 'events' ? 'GET' : 'POST', what);
  const run = desk.find(id, access.of(request).name);
  if (run === undefined) throw new ApiProblem('unknown', 'there is no such call, or it was over a minute ago');
  if (what !== 'events') return act(request, run, what);
  streamAttempt(run, request, response, () => desk.followed(id));
  return undefined;
}

/** @throws {ApiProblem} `method` */
function takeOnly(request: IncomingMessage, method: 'GET' | 'POST', what: string): void {
  if (request.method !== method) throw new ApiProblem('method', `${what} takes ${method}`, undefined, [method]);
}

/** @throws {ApiProblem} */
async function begin(
  { access, edge, audit, metrics, log }: TrySiteOptions,
  desk: TryDesk,
  request: IncomingMessage,
): Promise<AdminAnswer> {
  const open = edge();
  if (open === undefined)
    throw new ApiProblem(
      'conflict',
      'this process serves no clients, so nothing can be tried here',
      'open the console of a process with the role edge',
    );
  const asked = given(attempt, await bodyOf(request));
  const endpoint = parseEndpointName(asked.endpoint);
  const made = attemptOf(asked);
  let hear = (_text: string): void => undefined;
  let over = (): void => undefined;
  const guest = await open.connectGuest({ request, endpoint, write: (text) => hear(text), ended: () => over() });
  const by = access.of(request);
  if ('fault' in guest) {
    const isStranger = guest.fault.reason === 'auth.required' || guest.fault.reason === 'auth.invalid';
    throw new ApiProblem(
      isStranger ? 'unauthenticated' : 'forbidden',
      `the endpoint does not let you in: ${guest.fault.message}`,
      'a call is made as whoever you are: sign in here with a key or token that clients use',
    );
  }
  const id = desk.start(by.name, made, (write, ended) => {
    hear = write;
    over = ended;
    return Promise.resolve(guest);
  });
  if (id === undefined) {
    await guest.end();
    throw new ApiProblem('busy', 'too many calls are tried at once', 'wait for one, or cancel it');
  }
  const details = { method: asked.method, name: printable(asked.name, 200), endpoint: asked.endpoint };
  log.info({ act: 'try', by: by.name, address: request.socket.remoteAddress, ...details }, 'an act at the admin port');
  recordAct(audit(), by, request, 'try', { outcome: 'ok', details });
  metrics.callers.adminActed('try');
  return json(202, { id });
}

async function act(request: IncomingMessage, run: TryRun, what: string): Promise<AdminAnswer> {
  if (what === 'cancel') {
    run.cancel('it was cancelled');
    return json(200, { cancelled: true });
  }
  const { key, result } = given(attemptAnswer, await bodyOf(request));
  if (!run.answer(key, result === undefined ? undefined : objectOf(result, 'result')))
    throw new ApiProblem('conflict', 'this question is not open any more');
  return json(200, { answered: key });
}

/** @throws {ApiProblem} */
function attemptOf({
  method,
  name,
  arguments: text,
  revision = latestLegacyRevision,
  may,
}: z.output<typeof attempt>): Attempt {
  const isCompletion = method === 'completion/complete';
  if (!roundMethods.has(method) && !isCompletion) throw new ApiProblem('invalid', 'method: this cannot be tried');
  if (!isLegacyRevision(revision) && !isModernRevision(revision))
    throw new ApiProblem('invalid', `revision: this gateway does not know ${JSON.stringify(revision.slice(0, 40))}`);
  const elicitation = { ...(may.includes('forms') ? { form: {} } : {}), ...(may.includes('links') ? { url: {} } : {}) };
  const capabilities: JsonObject = {
    ...(Object.keys(elicitation).length === 0 ? {} : { elicitation }),
    ...(may.includes('sampling') ? { sampling: {} } : {}),
  };
  const isRead = method === 'resources/read';
  return {
    method,
    revision,
    capabilities,
    params: isCompletion
      ? objectOf(text ?? '{}', 'arguments')
      : isRead
        ? { uri: name }
        : { name, arguments: objectOf(text ?? '{}', 'arguments') },
  };
}

/** Reads the body like a message of MCP, so that numbers are sent as they were written. @throws {ApiProblem} */
function objectOf(text: string, what: string): JsonObject {
  try {
    const value = parseJson(text);
    if (isObject(value)) return value;
  } catch (error) {
    throw new ApiProblem('invalid', `${what}: ${(error as Error).message}`);
  }
  throw new ApiProblem('invalid', `${what}: expected a JSON object`);
}

/** @throws {ApiProblem} */
function given<Value>(shape: z.ZodType<Value>, body: string): Value {
  return readShape(shape, objectOf(body, 'the body'), 'the body');
}

/** @throws {ApiProblem} */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > cutBytes) break;
    if (bytes <= maxAttemptBytes) chunks.push(chunk);
  }
  if (bytes > maxAttemptBytes)
    throw new ApiProblem(
      'large',
      `a call that is tried may have ${maxAttemptBytes} bytes`,
      'make it with "omnibus call"',
    );
  return Buffer.concat(chunks).toString('utf8');
}

function json(status: number, value: unknown): AdminAnswer {
  return { status, text: `${JSON.stringify(value)}\n`, type: 'application/json' };
}
