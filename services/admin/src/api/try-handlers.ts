/**
 * `POST /api/v1/try`: an operator calls a tool through the gateway, as the caller of the credentials, and answers questions that servers
 * ask meanwhile. `GET try/ID/events` streams its events, `POST try/ID/answer` and `try/ID/cancel` act on it.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyOf } from '@omnibus/admin-api';
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
import { TryDesk } from '../try-desk.ts';
import type { Attempt, TryRun } from '../try-run.ts';
import { streamAttempt } from '../try-stream.ts';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';

type TryOptions = Pick<ApiOptions, 'access' | 'edge' | 'note'>;

export function tryFeature(options: TryOptions): {
  readonly handlers: Pick<Handlers, 'try' | 'tryEvents' | 'tryAnswer' | 'tryCancel'>;
  stop(): void;
} {
  const desk = new TryDesk();
  /** @throws {ApiProblem} */
  const runOf = (request: IncomingMessage, id: string): TryRun => {
    const run = desk.find(id, options.access.of(request).name);
    if (run === undefined) throw new ApiProblem('unknown', 'there is no such call, or it was over a minute ago');
    return run;
  };
  return {
    handlers: {
      try: ({ request, body }) => begin(options, desk, request, body),
      tryEvents: ({ request, response, given, query: { after = 0 } }) => {
        const run = runOf(request, given);
        streamAttempt(run, response, after, () => desk.followed(given));
        return Promise.resolve(undefined);
      },
      tryAnswer: ({ request, given, body: { key, result } }) => {
        if (!runOf(request, given).answer(key, result === undefined ? undefined : objectOf(result, 'result')))
          throw new ApiProblem('conflict', 'this question is not open any more');
        return Promise.resolve({ answered: key });
      },
      tryCancel: ({ request, given }) => {
        runOf(request, given).cancel('it was cancelled');
        return Promise.resolve({ cancelled: true });
      },
    },
    stop: () => desk.stop(),
  };
}

/** @throws {ApiProblem} */
async function begin(
  { access, edge, note }: TryOptions,
  desk: TryDesk,
  request: IncomingMessage,
  asked: BodyOf<'try'>,
): Promise<{ readonly id: string }> {
  const open = edge();
  if (open === undefined)
    throw new ApiProblem(
      'conflict',
      'this process serves no clients, so nothing can be tried here',
      'open the console of a process with the role edge',
    );
  const endpoint = parseEndpointName(asked.endpoint);
  const made = attemptOf(asked);
  let hear = (_text: string): void => undefined;
  let over = (): void => undefined;
  const guest = await open.connectGuest({ request, endpoint, write: (text) => hear(text), ended: () => over() });
  if ('fault' in guest) {
    const isStranger = guest.fault.reason === 'auth.required' || guest.fault.reason === 'auth.invalid';
    throw new ApiProblem(
      isStranger ? 'unauthenticated' : 'forbidden',
      `the endpoint does not let you in: ${guest.fault.message}`,
      'the gateway makes the call with your credentials: sign in here with a key or token that clients use',
    );
  }
  const id = desk.start(access.of(request).name, made, (write, ended) => {
    hear = write;
    over = ended;
    return Promise.resolve(guest);
  });
  if (id === undefined) {
    await guest.end();
    throw new ApiProblem('busy', 'too many calls are tried at once', 'wait for one, or cancel it');
  }
  note(request, 'try', { method: asked.method, name: printable(asked.name, 200), endpoint: asked.endpoint });
  return { id };
}

/** @throws {ApiProblem} */
function attemptOf({ method, name, arguments: text, revision = latestLegacyRevision, may }: BodyOf<'try'>): Attempt {
  const isCompletion = method === 'completion/complete';
  if (!roundMethods.has(method) && !isCompletion) throw new ApiProblem('invalid', 'method: this cannot be tried');
  if (!isLegacyRevision(revision) && !isModernRevision(revision))
    throw new ApiProblem('invalid', `revision: this gateway does not know ${JSON.stringify(revision.slice(0, 40))}`);
  const elicitation = { ...(may.includes('forms') ? { form: {} } : {}), ...(may.includes('links') ? { url: {} } : {}) };
  const capabilities: JsonObject = {
    ...(Object.keys(elicitation).length === 0 ? {} : { elicitation }),
    ...(may.includes('sampling') ? { sampling: {} } : {}),
    ...(may.includes('roots') ? { roots: {} } : {}),
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
