/** Requests to the API of the process that served the page. */
import { signal } from '@preact/signals';
import { hideAddress } from '../route.ts';

/** A refusal of the API, or no answer, with a message for the user. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly reason: string;
  readonly advice: string | undefined;

  constructor(status: number, reason: string, problem: string, advice?: string) {
    super(problem);
    this.status = status;
    this.reason = reason;
    this.advice = advice;
  }
}

const base = new URL('./api/v1/', document.baseURI);
/** The API key or access token. It is kept in memory only: a cookie would be sent to every port of the host, and storage outlives the tab. */
const token = signal<string | undefined>(undefined);
/** Whether the API has answered 401, so that the page asks for a key or token. */
export const needsSignIn = signal(false);

/** Takes the key out of an address that has one (`#token=KEY`). @returns whether it had. */
export function takeToken(): boolean {
  const given = /^#token=([\w.~+/=-]+)$/.exec(location.hash)?.[1];
  if (given === undefined) return false;
  signIn(given);
  hideAddress();
  return true;
}

export function signIn(given: string): void {
  token.value = given.trim();
  needsSignIn.value = false;
}

/** Sends a request. @param path below `api/v1/`. @throws {ApiProblem} for every status but success, and where there is no answer. */
export async function ask(path: string, { method = 'GET', body, signal: ending }: { readonly method?: string; readonly body?: unknown; readonly signal?: AbortSignal } = {}): Promise<Response> {
  const headers = {
    ...(token.value === undefined ? {} : { authorization: `Bearer ${token.value}` }),
    ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'x-omnibus-console': '1' }),
  };
  let response: Response;
  try {
    response = await fetch(new URL(path, base), { method, headers, credentials: 'omit', redirect: 'error', ...(ending === undefined ? {} : { signal: ending }), ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }) });
  } catch (error) {
    if (ending?.aborted === true) throw error;
    throw new ApiProblem(0, 'unreachable', 'This process of the gateway does not answer.', 'Is it running? The page tries again by itself.');
  }
  if (response.ok) return response;
  if (response.status === 401) needsSignIn.value = true;
  throw await problemOf(response);
}

export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return jsonOf(await ask(path, signal === undefined ? {} : { signal }));
}

export async function post<Answer>(path: string, body?: unknown): Promise<Answer> {
  return jsonOf(await ask(path, { method: 'POST', body }));
}

export async function remove<Answer>(path: string): Promise<Answer> {
  return jsonOf(await ask(path, { method: 'DELETE' }));
}

const stranger = 'Is a proxy in front of the gateway, or another program at this address?';

async function jsonOf<Answer>(response: Response): Promise<Answer> {
  try {
    return await response.json() as Answer;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiProblem(response.status, 'failed', 'What answered is not the gateway: this is no JSON.', stranger);
  }
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text();
  try {
    const { reason, problem, advice } = JSON.parse(text) as { readonly reason?: string; readonly problem?: string; readonly advice?: string };
    return new ApiProblem(response.status, reason ?? 'failed', problem ?? response.statusText, advice);
  } catch {
    if ((response.headers.get('content-type') ?? '').startsWith('text/html')) return new ApiProblem(response.status, 'failed', `What answered ${response.status} is not the gateway.`, stranger);
    return new ApiProblem(response.status, 'failed', text.trim() === '' ? `The gateway answered ${response.status}.` : text.trim()); // The body is no JSON of the API; it is shown as text.
  }
}

/** The message, and the advice and the reason if there are some, for an error of any kind. */
export function problemWords(error: unknown): { readonly problem: string; readonly advice: string | undefined; readonly reason?: string } {
  return error instanceof ApiProblem ? { problem: error.message, advice: error.advice, reason: error.reason } : { problem: error instanceof Error ? error.message : String(error), advice: undefined };
}
