/** Requests of the command line to the API of a running gateway (`/api/v1`). */
import {
  base,
  changeHeader,
  problem,
  type AnswerOf,
  type BodyOf,
  type OperationName,
  type ProblemReason,
} from '@omnibus/admin-api';
import { CommandProblem, type Exit } from '@omnibus/client';
import { openAdmin, unknownAdvice, type AskOptions } from './admin-port.ts';

export interface ApiOptions extends AskOptions {
  readonly json?: boolean;
}

const exitOf: Partial<Readonly<Record<ProblemReason, Exit>>> = {
  unauthenticated: 'forbidden',
  forbidden: 'forbidden',
  mode: 'forbidden',
  host: 'forbidden',
  unknown: 'unknown',
  invalid: 'usage',
  busy: 'busy',
  starting: 'unreachable',
};
const answerMs = 15_000;

/** @param _operation gives the types of body and answer. @param path what follows `/api/v1`. @throws {CommandProblem} */
export async function askApi<Name extends OperationName>(
  options: ApiOptions,
  _operation: Name,
  path: string,
  method: 'GET' | 'POST' | 'DELETE' = 'GET',
  body?: BodyOf<Name>,
): Promise<AnswerOf<Name>> {
  const response = await open(options, path, method, AbortSignal.timeout(answerMs), body as object | undefined);
  return (await response.json()) as AnswerOf<Name>;
}

/**
 * Reads a stream of server-sent events until `heard` returns false or the gateway ends the stream.
 * @param heard receives the name and the parsed data of each event, and returns whether to go on.
 * @throws {CommandProblem} when the stream is refused, breaks, or is ended by the gateway.
 */
export async function followApi(
  options: ApiOptions,
  path: string,
  heard: (event: string, data: unknown) => boolean,
): Promise<void> {
  const stop = new AbortController();
  const response = await open(options, path, 'GET', stop.signal);
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(piece, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, event] = /^event: (.*)$/m.exec(block) ?? [];
        const [, data] = /^data: (.*)$/m.exec(block) ?? [];
        if (event === undefined || data === undefined) continue;
        const said: unknown = JSON.parse(data);
        if (event === 'refused') throw problemOf(options, 403, said);
        if (heard(event, said)) continue;
        stop.abort();
        return;
      }
    }
  } catch (error) {
    if (stop.signal.aborted) return;
    throw error instanceof CommandProblem
      ? error
      : new CommandProblem('unreachable', `${options.admin}: the stream broke: ${(error as Error).message}`);
  }
  throw new CommandProblem('unreachable', `${options.admin}: the gateway has ended the stream`);
}

async function open(
  options: ApiOptions,
  path: string,
  method: string,
  signal: AbortSignal,
  body?: object,
): Promise<Response> {
  let response: Response;
  try {
    response = await openAdmin(options, `${base}${path}`, {
      method,
      signal,
      headers:
        method === 'GET'
          ? {}
          : { [changeHeader]: '1', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw error instanceof CommandProblem
      ? error
      : new CommandProblem('unreachable', `${options.admin}: ${(error as Error).message}`);
  }
  if (response.ok) return response;
  throw problemOf(options, response.status, await response.json().catch(() => undefined));
}

function problemOf({ admin }: ApiOptions, status: number, said: unknown): CommandProblem {
  const parsed = problem.safeParse(said);
  if (!parsed.success)
    return new CommandProblem('other', `${admin}: it answers HTTP ${status}`, {
      advice: 'Is this the admin address of an Omnibus process of this version?',
    });
  const { reason, problem: words, advice } = parsed.data;
  return new CommandProblem(exitOf[reason] ?? 'other', `${admin}: ${words}`, {
    reason,
    advice: reason === 'unauthenticated' ? unknownAdvice : advice,
  });
}

/** The query string of an address with the parameters that are defined; empty where none is. */
export function queryOf(given: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
