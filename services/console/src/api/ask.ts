/** Requests to the API of the process that served the page. */
import { computed, signal } from '@preact/signals';
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

/** The sign-in metadata of a refused request. */
export interface Challenge {
  /** Address of the metadata that name the issuer (RFC 9728). */
  readonly metadata: string;
  readonly scope: string | undefined;
  /** The client id that this page has at the issuer; undefined where it registers itself. */
  readonly client: string | undefined;
}

/** A token, and the way to the next one: undefined once the issuer gives no more. */
export interface Granted {
  readonly token: string;
  readonly renew: () => Promise<Granted | undefined>;
}

const base = new URL('./api/v1/', document.baseURI);
/** The API key or access token. It is in memory only: a cookie would be sent to every port of the host, and storage outlives the tab. */
const token = signal<string | undefined>(undefined);
/** Whether the page has a key or token; the refusal of a page without one says nothing that its user does not see. */
export const isKnown = computed(() => token.value !== undefined);
/** Counts the keys and sign-ins of this page, but not the renewals of a token: each may be of another user. */
export const users = signal(0);
/** Whether the API has answered 401, so that the page asks for a key or token. */
export const needsSignIn = signal(false);
/** Where a 401 has said that one signs in; undefined where it has not. */
export const challenge = signal<Challenge | undefined>(undefined);
/** Gets the next token of a sign-in; undefined for a key, and after a sign-in that has ended. */
let renew: Granted['renew'] | undefined;
let renewing: Promise<void> | undefined;

/** Takes the key out of an address that has one (`#token=KEY`). @returns whether it had. */
export function takeToken(): boolean {
  const given = /^#token=([\w.~+/=-]+)$/.exec(location.hash)?.[1];
  if (given === undefined) return false;
  signIn(given);
  hideAddress();
  return true;
}

export function signIn(given: string): void {
  take(given.trim(), undefined);
  users.value += 1;
}

/** Takes a token that the page has obtained, and the next ones. */
export function signInWith(granted: Granted): void {
  take(granted.token, granted.renew);
  users.value += 1;
}

function take(given: string, next: Granted['renew'] | undefined): void {
  token.value = given;
  renew = next;
  needsSignIn.value = false;
}

/** Replaces a token that is not accepted any more. @returns whether there is another one now. */
async function renewed(used: string | undefined): Promise<boolean> {
  if (token.value === used && renew !== undefined) {
    renewing ??= renew()
      .then((granted) => {
        if (granted === undefined) renew = undefined;
        else take(granted.token, granted.renew);
      })
      .catch(() => undefined)
      .finally(() => {
        renewing = undefined;
      });
    await renewing;
  }
  return token.value !== used;
}

function challengeOf(header: string | null): Challenge | undefined {
  const parameter = (name: string): string | undefined => new RegExp(`[\\s,]${name}="([^"]+)"`).exec(header ?? '')?.[1];
  const metadata = parameter('resource_metadata');
  return metadata === undefined || !URL.canParse(metadata)
    ? undefined
    : { metadata, scope: parameter('scope'), client: parameter('client_id') };
}

interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Sends a request, and again with a new token where the old one has expired. @param path below `api/v1/`. @throws {ApiProblem} for every status but success, and where there is no answer. */
export async function ask(path: string, asked: Asked = {}): Promise<Response> {
  const used = token.value;
  const first = await send(path, asked);
  const response = first.status === 401 && (await renewed(used)) ? await send(path, asked) : first;
  if (response.ok) return response;
  if (response.status === 401) {
    challenge.value = challengeOf(response.headers.get('www-authenticate'));
    needsSignIn.value = true;
  }
  throw await problemOf(response);
}

async function send(path: string, { method = 'GET', body, signal: ending }: Asked): Promise<Response> {
  const headers = {
    ...(token.value === undefined ? {} : { authorization: `Bearer ${token.value}` }),
    ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'x-omnibus-console': '1' }),
  };
  try {
    return await fetch(new URL(path, base), {
      method,
      headers,
      credentials: 'omit',
      redirect: 'error',
      ...(ending === undefined ? {} : { signal: ending }),
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    });
  } catch (error) {
    if (ending?.aborted === true) throw error;
    throw new ApiProblem(
      0,
      'unreachable',
      'This process of the gateway does not answer.',
      'Is it running? The page tries again by itself.',
    );
  }
}

/** Time that the gateway has for an answer, in milliseconds: the longest question to all processes takes a part of it. */
const patienceMs = 10_000;

/** @throws {ApiProblem} also if there is no answer in time. */
export async function get<Answer>(path: string, ending?: AbortSignal): Promise<Answer> {
  const limit = AbortSignal.timeout(patienceMs);
  try {
    return await jsonOf(await ask(path, { signal: ending === undefined ? limit : AbortSignal.any([ending, limit]) }));
  } catch (error) {
    if (!limit.aborted || ending?.aborted === true) throw error;
    throw new ApiProblem(
      0,
      'unreachable',
      `This process of the gateway has not answered for ${patienceMs / 1_000} s.`,
      'It may hang: see its log, and restart it. The page tries again by itself.',
    );
  }
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
    return (await response.json()) as Answer;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiProblem(response.status, 'failed', 'What answered is not the gateway: this is no JSON.', stranger);
  }
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text();
  try {
    const { reason, problem, advice } = JSON.parse(text) as {
      readonly reason?: string;
      readonly problem?: string;
      readonly advice?: string;
    };
    return new ApiProblem(response.status, reason ?? 'failed', problem ?? response.statusText, advice);
  } catch {
    if ((response.headers.get('content-type') ?? '').startsWith('text/html'))
      return new ApiProblem(
        response.status,
        'failed',
        `What answered ${response.status} is not the gateway.`,
        stranger,
      );
    return new ApiProblem(
      response.status,
      'failed',
      text.trim() === '' ? `The gateway answered ${response.status}.` : text.trim(),
    ); // The body is no JSON of the API; the page shows it as text.
  }
}

/** The message, and the advice and the reason if there are some, for an error of any kind. */
export function problemWords(error: unknown): {
  readonly problem: string;
  readonly advice: string | undefined;
  readonly reason?: string;
} {
  return error instanceof ApiProblem
    ? { problem: error.message, advice: error.advice, reason: error.reason }
    : { problem: error instanceof Error ? error.message : String(error), advice: undefined };
}
