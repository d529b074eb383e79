/** Requests of the command line to the admin port of a running process, with the caller's token. */
import { findSealingKeys } from '@omnibus/setup/sealing-key';
import { recoveryProof } from '@omnibus/admin';
import { environmentToken } from '../client/environment-token.ts';
import { KeptTokens } from '../sign-in/kept-tokens.ts';
import { freshToken } from '../sign-in/session.ts';
import { formatProblem, loadConfig } from '@omnibus/config';
import { answer, answerEither, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem, type Exit } from '@omnibus/client';
import { findConfigFile, needSettings, type Settings } from './settings.ts';

export interface AskOptions {
  /** Admin address: `host:port`, or `https://host:port` where it speaks TLS. */
  readonly admin: string;
  /** Address of the gateway whose token from `omnibus login` is sent; without it, OMNIBUS_TOKEN is. */
  readonly signedIn?: string;
  readonly tokens?: string;
}

export interface ActOptions extends AskOptions {
  readonly json?: boolean;
}

export interface RecoverOptions {
  readonly admin: string;
  readonly config?: string;
  readonly json?: boolean;
}

const answerMs = 10_000;

export function reload(options: ActOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { text } = await askAdmin(options, 'POST', '/reload', undefined, 'config');
    answerEither(options.json, { isReloaded: true }, text);
    return 'done';
  });
}

/** Proves to the admin port that this machine has the sealing key, and prints the token it gets; stdout carries nothing else. */
export function recover({ admin, config, json = false }: RecoverOptions): Promise<void> {
  return runCommand(json, async () => {
    const settings =
      config === undefined && findConfigFile(undefined) === undefined ? withoutFile() : await needSettings(config, {});
    const keys = findSealingKeys('session', { ...settings, env: process.env });
    if (keys === undefined)
      throw new CommandProblem(
        'config',
        'there is no sealing key here, neither in the environment nor as security.sealingKeyFile. Without one, add an administrator to auth.admin.roles in the configuration; a running gateway follows the change',
      );
    const { question } = JSON.parse((await askAdmin({ admin }, 'GET', '/recovery')).text) as {
      readonly question: string;
    };
    const { token, until } = JSON.parse(
      (await askAdmin({ admin }, 'POST', '/recovery', { question, proof: recoveryProof(keys[0], question) })).text,
    ) as { readonly token: string; readonly until: string };
    if (json) answerJson({ token, until });
    else {
      notice(
        `omnibus: until ${until} this process, and no other, accepts this token as an administrator's: curl -H "Authorization: Bearer ..." ${baseOf(admin)}/whoami`,
      );
      answer(`${token}\n`);
    }
    return 'done';
  });
}

/** Makes one request to the admin port. @param refused how the command ends if the process answers that the act failed. @throws {CommandProblem} for any status but success, and when nobody answers. */
export async function askAdmin(
  options: AskOptions,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
  refused: Exit = 'other',
): Promise<{ readonly text: string }> {
  const response = await opened(options, path, {
    method,
    signal: AbortSignal.timeout(answerMs),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.ok) return { text };
  const isOurs = [400, 401, 403, 404, 409, 422, 503].includes(response.status);
  throw new CommandProblem(
    exitOf[response.status] ?? (response.status === 422 ? refused : 'other'),
    `${options.admin}: ${isOurs ? text.trim() : `it answers HTTP ${response.status}: is this the admin address of an Omnibus process?`}`,
    { advice: response.status === 401 ? unknownAdvice : undefined },
  );
}

/** What a person at a terminal does whom an admin port does not know. */
export const unknownAdvice =
  'Set OMNIBUS_TOKEN to an API key or token, or sign in (omnibus login URL --scope mcp:admin) and give --signed-in URL.';

const exitOf: Readonly<Record<number, Exit>> = {
  400: 'usage',
  401: 'forbidden',
  403: 'forbidden',
  404: 'unknown',
  503: 'unreachable',
};

async function opened(options: AskOptions, path: string, request: AdminRequest): Promise<Response> {
  try {
    return await openAdmin(options, path, request);
  } catch (error) {
    throw error instanceof CommandProblem
      ? error
      : new CommandProblem('unreachable', `${options.admin}: ${(error as Error).message}`);
  }
}

interface AdminRequest {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request with the caller's token, and returns the response whatever its status. @throws {CommandProblem} when there is no token for `signedIn`. @throws {Error} when nobody answers. */
export async function openAdmin(
  { admin, signedIn, tokens }: AskOptions,
  path: string,
  { headers, ...request }: AdminRequest,
): Promise<Response> {
  const token =
    signedIn === undefined ? environmentToken() : (await freshToken(new KeptTokens(tokens), signedIn))?.accessToken;
  if (signedIn !== undefined && token === undefined)
    throw new CommandProblem('forbidden', `nobody is signed in to ${signedIn}`, {
      advice: `omnibus login ${signedIn} --scope mcp:admin`,
    });
  try {
    return await fetch(`${baseOf(admin)}${path}`, {
      ...request,
      redirect: 'error',
      headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    });
  } catch (error) {
    const { code: cause, message } =
      (error as Error & { readonly cause?: { readonly code?: string; readonly message?: string } }).cause ?? {};
    throw new Error(
      cause === 'ECONNREFUSED'
        ? 'nothing listens at this address: is the gateway running, with this admin address?'
        : cause === 'UND_ERR_SOCKET'
          ? 'the connection was closed: does the port speak TLS (https://HOST:PORT)?'
          : cause === 'ERR_INVALID_URL'
            ? 'this is no address: expected HOST:PORT, such as 127.0.0.1:7301'
            : cause === 'ENOTFOUND' || cause === 'EAI_AGAIN'
              ? 'there is no host of this name: expected HOST:PORT, such as 127.0.0.1:7301'
              : `it cannot be reached: ${message ?? cause ?? (error as Error).message}`,
      { cause: error },
    );
  }
}

const baseOf = (admin: string): string => (/^https?:\/\//.test(admin) ? admin.replace(/\/$/, '') : `http://${admin}`);

/** Default settings, for a machine that has a sealing key in its environment and no configuration. */
function withoutFile(): Settings {
  const loaded = loadConfig({ file: 'none', text: '{}', env: {}, readFile: () => '' });
  if ('problems' in loaded) throw new CommandProblem('config', loaded.problems.map(formatProblem).join('\n'));
  return { ...loaded, file: 'none', baseFolder: process.cwd(), client: undefined };
}
