/** What is asked of the admin port of a running process from the command line, and by whom. */
import { findSealingKeys } from '../sealing-key.ts';
import { recoveryProof } from '../admin/recovery.ts';
import { KeptTokens } from '../sign-in/kept-tokens.ts';
import { freshToken } from '../sign-in/session.ts';
import { loadConfig } from '@omnibus/config';
import { fail, findConfigFile, findSettings } from './settings.ts';

export interface AskOptions {
  /** `host:port`, or an address with https:// in front. */
  readonly admin: string;
  /** The address of the gateway that one is signed in to. */
  readonly signedIn?: string;
  readonly tokens?: string;
}

export interface RecoverOptions {
  readonly admin: string;
  readonly config?: string;
}

const answerMs = 10_000;

export async function reload(options: AskOptions): Promise<void> {
  await told(async () => {
    process.stdout.write((await askAdmin(options, 'POST', '/reload')).text);
  });
}

/** Prints a token on stdout, alone. */
export async function recover({ admin, config }: RecoverOptions): Promise<void> {
  const settings = config === undefined && findConfigFile(undefined) === undefined ? withoutFile() : findSettings(config, {});
  if (settings === undefined) return;
  await told(async () => {
    const keys = findSealingKeys('session', { ...settings, env: process.env });
    if (keys === undefined) throw new Error('there is no sealing key here, neither in the environment nor as security.sealingKeyFile. Without one, add an administrator to auth.admin.roles in the configuration; a running gateway follows the change');
    const { question } = JSON.parse((await askAdmin({ admin }, 'GET', '/recovery')).text) as { readonly question: string };
    const { token, until } = JSON.parse((await askAdmin({ admin }, 'POST', '/recovery', { question, proof: recoveryProof(keys[0], question) })).text) as { readonly token: string; readonly until: string };
    process.stderr.write(`omnibus: until ${until} this process, and no other, accepts this token as an administrator's: curl -H "Authorization: Bearer ..." ${baseOf(admin)}/whoami\n`);
    process.stdout.write(`${token}\n`);
  });
}

/** @throws {Error} in words, when it is answered with anything but what was asked for. */
export async function askAdmin(options: AskOptions, method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<{ readonly text: string }> {
  const response = await openAdmin(options, path, { method, signal: AbortSignal.timeout(answerMs), ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await response.text();
  if (response.ok) return { text };
  const isOurs = [400, 401, 403, 404, 409, 422, 503].includes(response.status);
  throw new AdminRefusal(response.status, isOurs ? text.trim() : `it answers HTTP ${response.status}: is this the admin address of an Omnibus process?`);
}

interface AdminRequest {
  readonly method: string;
  readonly signal: AbortSignal;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one request with the token of whoever asks. @throws {Error} in words, when nobody answers. */
export async function openAdmin({ admin, signedIn, tokens }: AskOptions, path: string, { headers, ...request }: AdminRequest): Promise<Response> {
  const token = signedIn === undefined ? process.env['OMNIBUS_TOKEN'] : (await freshToken(new KeptTokens(tokens), signedIn))?.accessToken;
  if (signedIn !== undefined && token === undefined) throw new Error(`nobody is signed in to ${signedIn}: omnibus login ${signedIn} --scope mcp:admin`);
  try {
    return await fetch(`${baseOf(admin)}${path}`, { ...request, redirect: 'error', headers: { ...headers, ...(token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` }) } });
  } catch (error) {
    const cause = (error as Error & { readonly cause?: { readonly code?: string } }).cause?.code;
    throw new Error(cause === 'ECONNREFUSED' ? 'nothing listens at this address: is the gateway running, with this admin address?' : cause === 'UND_ERR_SOCKET' ? 'the connection was closed: does the port speak TLS (https://HOST:PORT)?' : String(cause ?? error), { cause: error });
  }
}

/** Somebody answered at the admin port, and not with what was asked for. */
export class AdminRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const baseOf = (admin: string): string => (/^https?:\/\//.test(admin) ? admin.replace(/\/$/, '') : `http://${admin}`);

/** Settings of a machine that has a sealing key in its environment and no configuration. */
function withoutFile(): ReturnType<typeof findSettings> {
  const loaded = loadConfig({ file: 'none', text: '{}', env: {}, readFile: () => '' });
  return 'config' in loaded ? { ...loaded, file: 'none', baseFolder: process.cwd(), client: undefined } : undefined;
}

/** Says what goes wrong. */
export async function told(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    fail([(error as Error).message]);
    process.exitCode = 1;
  }
}
