import { setTimeout as delay } from 'node:timers/promises';
import { Boundary, Delivery, RequestMeter, serveStdioClient } from '@omnibus/edge';
import { stopOnSignal, surviveFaults } from '@omnibus/lifecycle';
import { isToken, parseEndpointName } from '@omnibus/protocol';
import { createLogger } from '@omnibus/telemetry';
import { aloneOf } from '../client/alone.ts';
import { environmentToken } from '../client/environment-token.ts';
import { headerProblem, headersOf } from '../client/header-lines.ts';
import type { Starting } from '../gateway.ts';
import { showingPages } from '../desktop/page-shower.ts';
import { opensPages } from '../desktop/browser.ts';
import { serveJoinedClient } from '../client/joined-client.ts';
import { gatewayAddress, KeptTokens } from '../sign-in/kept-tokens.ts';
import { freshToken, otherToken, SignedIn } from '../sign-in/session.ts';
import { isTaken, signIn, type SignInOptions } from '../sign-in/sign-in.ts';
import { exits, CommandProblem } from '@omnibus/client';
import { hideEnvironment } from '../serving/hide-environment.ts';
import { consentProblem } from '../starts/consent.ts';
import { startsOf } from '../starts/starts.ts';
import { fail, findSettings, type Overrides } from './settings.ts';

export interface StdioOptions extends Overrides, Starting {
  readonly config?: string;
  readonly endpoint?: string;
  /** The digest of all that may be started. */
  readonly consent?: string;
  /** Address of a running gateway to connect to. */
  readonly connect?: string;
  /** HTTP headers, each as `Name: value`. */
  readonly header?: readonly string[];
  /** Path of the file of tokens. */
  readonly tokens?: string;
  /** Signs in, where that is needed, by a code that the user types on another device. */
  readonly device?: boolean;
  /** Whether pages of sign-ins are opened in a browser; undefined: where one is seen. */
  readonly browser?: boolean;
}

/** Milliseconds that servers have to connect before the client is answered: desktop clients list the tools only once, right after the handshake. */
const settleMs = 10_000;
const stopSlackMs = 10_000;
/** Milliseconds in which a running gateway may answer messages read before the end of the input: the default of `timeouts.drain`. */
const drainMs = 10_000;
const say = (text: string): void => void process.stderr.write(`omnibus: ${text}\n`);

/** Serves one client on stdin and stdout, with the servers in this process or in a gateway that runs already. Logs go to stderr. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  if (options.connect === undefined) await serveAlone(options);
  else await join(options, options.connect);
}

/** Passes the messages of one client to a running gateway. */
async function join(
  { endpoint, header = [], tokens, device = false, browser }: StdioOptions,
  address: string,
): Promise<void> {
  let url: string;
  let headers: Readonly<Record<string, string>>;
  try {
    url = endpointAt(address, endpoint);
    headers = headersFor(header);
  } catch (error) {
    const { message, exit } = error as CommandProblem;
    say(message);
    process.exitCode = exits[exit].code;
    return;
  }
  const signedIn = hasCredential(headers)
    ? undefined
    : await findSignIn(url, tokens, { usesDevice: device, opensBrowser: opensPages(browser) });
  let exitCode = 0;
  process.stdin.once('close', () => endWithin(drainMs + stopSlackMs));
  await serveJoinedClient({
    url,
    headers,
    authorization: signedIn?.authorization,
    refused: signedIn?.refused,
    lacking: signedIn?.lacking,
    input: process.stdin,
    output: process.stdout,
    drainMs,
    onProblem: (text, isFatal) => {
      if (isFatal) exitCode = 1;
      say(text);
    },
  });
  process.exit(exitCode);
}

/**
 * The sign-in of this machine's user at a gateway: an earlier one that is still accepted, or a new one where the gateway requires it.
 * @returns undefined where the gateway requires none, or where the sign-in failed, which is printed; the gateway then refuses the client.
 */
async function findSignIn(
  url: string,
  path: string | undefined,
  way: Pick<SignInOptions, 'usesDevice' | 'opensBrowser'>,
): Promise<SignedIn | undefined> {
  const tokens = new KeptTokens(path);
  try {
    // A sign-in that cannot be refreshed any more is replaced by a new one.
    const found = await freshToken(tokens, url).catch(() => undefined);
    const before =
      found === undefined || (await isTaken(url, found).catch(() => true))
        ? found
        : await otherToken(tokens, url, found).catch(() => undefined);
    const kept = before ?? (await signIn({ url, ...way, prepare: () => tokens.prepare(url), say }));
    if (kept === undefined) return undefined;
    if (before === undefined) await tokens.change(url, () => Promise.resolve(kept));
    return new SignedIn(tokens, url, kept, say);
  } catch (error) {
    say((error as Error).message);
    return undefined;
  }
}

const hasCredential = (headers: Readonly<Record<string, string>>): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');

/** @throws {CommandProblem} */
function endpointAt(address: string, endpoint: string | undefined): string {
  const url = gatewayAddress(address, '--connect: ');
  if (endpoint !== undefined && !isToken(endpoint))
    throw new CommandProblem(
      'usage',
      `--endpoint: expected the name of a server or profile, not ${JSON.stringify(endpoint)}`,
    );
  return endpoint === undefined ? url : `${url}/${endpoint}`;
}

/** The given headers, with the credential of the environment where they have none: arguments of a program can be seen by all users of a machine. @throws {CommandProblem} */
function headersFor(lines: readonly string[]): Readonly<Record<string, string>> {
  const problem = headerProblem(lines);
  if (problem !== undefined) throw new CommandProblem('usage', problem);
  const headers = headersOf(lines);
  const token = hasCredential(headers) ? undefined : environmentToken();
  return token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
}

async function serveAlone(options: StdioOptions): Promise<void> {
  const settings = await findSettings(options.config, options);
  if (settings === undefined) return;
  const { config, baseFolder, file } = settings;
  const refused =
    options.consent === undefined
      ? undefined
      : await consentProblem({ file, starts: startsOf(settings), isOfClient: false, digest: options.consent });
  if (refused !== undefined) {
    fail([refused]);
    return;
  }
  const log = createLogger(config.log);
  const problem = hideEnvironment();
  if (problem !== undefined)
    log.warn({ problem }, 'servers that run as this user can read the environment this process was started with');
  const gateway = await options.start({
    config: aloneOf(config),
    baseFolder,
    role: 'all',
    isServing: false,
    log,
    showPage: showingPages(opensPages(options.browser), say),
  });
  surviveFaults((kind, error) => gateway.faults.bug(kind, 'an error was caught nowhere else', error));
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= gateway.stop());
  stopOnSignal({
    limitMs: config.timeouts.drain + stopSlackMs,
    stop,
    onForced: (reason) => log.error({ reason }, 'stopped by force'),
  });
  const endpoint = options.endpoint === undefined ? undefined : parseEndpointName(options.endpoint);
  const { bus, wheel, metrics, tracing, faults } = gateway;
  // Answers to earlier messages may take as long as calls of a stopping process, which come after them.
  process.stdin.once('close', () => endWithin(2 * config.timeouts.drain + stopSlackMs));
  void gateway.settled().then(() => gateway.invite());
  await serveStdioClient({
    bus,
    endpoint,
    meter: new RequestMeter(metrics, tracing),
    delivery: new Delivery({ bus, wheel, log }),
    limits: config.limits,
    boundary: new Boundary(log, faults),
    input: process.stdin,
    output: process.stdout,
    ready: Promise.race([gateway.settled(), delay(settleMs, undefined, { ref: false })]),
    drainMs: config.timeouts.drain,
  });
  await stop();
  process.exit(0);
}

/** Ends the process after `limitMs` even if something still runs: the client is gone. */
function endWithin(limitMs: number): void {
  setTimeout(() => process.exit(1), limitMs).unref();
}
