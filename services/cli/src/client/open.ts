/** Opens the client of a command: to a running gateway, to any MCP server at an address, or to the servers of a configuration, started in this process. */
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '@omnibus/config';
import { gatewayUrl } from './gateway-url.ts';
import { aloneOf } from './alone.ts';
import {
  isObject,
  isToken,
  latestLegacyRevision,
  parseEndpointName,
  version,
  type JsonObject,
} from '@omnibus/protocol';
import { notice } from '../output/outcome.ts';
import type { Starting } from '../gateway.ts';
import { CommandProblem, LineClient } from '@omnibus/client';
import { environmentToken } from './environment-token.ts';
import { headerProblem, headersOf } from './header-lines.ts';
import { Questions, type QuestionOptions } from './questions.ts';

export interface TargetOptions extends QuestionOptions, Starting {
  /** Address of a gateway, or of any MCP server. */
  readonly url?: string;
  /** Configuration with servers that start in this process. */
  readonly config?: string;
  readonly endpoint?: string;
  /** HTTP headers, each as `Name: value`. */
  readonly header?: readonly string[];
  readonly tokens?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export interface Opened {
  readonly client: LineClient;
  /** The result of `initialize`. */
  readonly introduction: JsonObject;
  readonly questions: Questions;
  /** Calls `heard` with the parameters of each notification of a method. @returns a function that ends this. */
  readonly on: (method: string, heard: (params: JsonObject) => void) => () => void;
}

interface Transport {
  readonly input: PassThrough;
  readonly output: PassThrough;
  /** @param failed is called when no request will be answered any more. */
  readonly serve: (failed: (problem: CommandProblem) => void) => Promise<void>;
}

/** Milliseconds that servers started in this process have to connect before requests are served without them. */
const settleMs = 10_000;

/** Runs `work` with a client that has been initialized, and ends its session afterwards. @throws {CommandProblem} */
export async function withClient<Result>(
  options: TargetOptions,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  if (options.endpoint !== undefined && !isToken(options.endpoint))
    throw new CommandProblem(
      'usage',
      `--endpoint: expected the name of a server or profile, not ${JSON.stringify(options.endpoint)}`,
    );
  if (options.config !== undefined) return serve(options, await startHere(options, options.config), work);
  const url = addressOf(options);
  try {
    return await serve(options, await join(options, url), work);
  } catch (error) {
    // A server of the other era, or one that speaks HTTP+SSE, is reached through a gateway in this process.
    if (error instanceof InitializeFailed && options.url !== undefined && options.endpoint === undefined)
      return serve(options, await bridge(options, url), work).catch(unwrapped);
    return unwrapped(error);
  }
}

/** `initialize` failed in a way that may be due to the era or transport of the server. */
class InitializeFailed extends Error {
  readonly problem: CommandProblem;

  constructor(problem: CommandProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

function unwrapped(error: unknown): never {
  throw error instanceof InitializeFailed ? error.problem : error;
}

async function serve<Result>(
  options: TargetOptions,
  { input, output, serve: run }: Transport,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const questions = new Questions(options);
  const listeners = new Map<(params: JsonObject) => void, string>();
  const client = new LineClient({
    input: output,
    output: input,
    asked: questions.answer,
    heard: (method, params) => {
      for (const [heard, wanted] of listeners) if (wanted === method) heard(params);
      if (method === 'notifications/message' && options.quiet !== true)
        notice(
          `[${String(params['level'])}] ${typeof params['data'] === 'string' ? params['data'] : JSON.stringify(params['data'])}`,
        );
    },
  });
  const serving = run((problem) => client.fail(problem));
  try {
    const introduction = await introduce(client);
    client.notify('notifications/initialized');
    return await work({
      client,
      introduction,
      questions,
      on: (method, heard) => {
        listeners.set(heard, method);
        return () => void listeners.delete(heard);
      },
    });
  } finally {
    input.end();
    await serving;
  }
}

async function introduce(client: LineClient): Promise<JsonObject> {
  try {
    return await client.request('initialize', {
      protocolVersion: latestLegacyRevision,
      // Some servers list tools for such clients only.
      capabilities: { elicitation: { form: {}, url: {} }, roots: {}, sampling: {} },
      clientInfo: { name: 'omnibus', version },
    });
  } catch (error) {
    const problem = error as CommandProblem;
    if (problem.exit === 'forbidden' || (isObject(problem.data) && problem.data['isSent'] === false))
      throw withAdvice(problem);
    throw new InitializeFailed(problem);
  }
}

function withAdvice(problem: CommandProblem): CommandProblem {
  if (problem.exit !== 'unreachable') return problem;
  return new CommandProblem('unreachable', problem.message, {
    reason: problem.reason,
    retry: problem.retry,
    advice:
      'Start one with "omnibus serve", name another with --url, or have the servers of a configuration started here: --config FILE.',
  });
}

function addressOf({ url: given, endpoint }: TargetOptions): string {
  const url = gatewayUrl(given);
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new CommandProblem('usage', `--url: expected http://HOST:PORT/mcp, not ${JSON.stringify(url)}`);
  const { username, password } = new URL(url);
  // A password is not repeated.
  if (username !== '' || password !== '')
    throw new CommandProblem(
      'usage',
      '--url: the address has a user name or password in it, which would not be sent; leave it out',
    );
  return endpoint === undefined ? url : `${url.replace(/\/$/, '')}/${endpoint}`;
}

/** HTTP headers with the credentials of the caller: those of `--header`, else OMNIBUS_TOKEN, else the token of a sign-in at this gateway. */
export async function credentials(
  { header = [], tokens }: Pick<TargetOptions, 'header' | 'tokens'>,
  url: string,
): Promise<Record<string, string>> {
  const problem = headerProblem(header);
  if (problem !== undefined) throw new CommandProblem('usage', problem);
  const headers = headersOf(header);
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return headers;
  // The variable overrides an earlier sign-in on this machine.
  const token = environmentToken() ?? (await signedInToken(tokens, url));
  return token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
}

async function signedInToken(file: string | undefined, url: string): Promise<string | undefined> {
  const [{ KeptTokens }, { freshToken }] = await Promise.all([
    import('../sign-in/kept-tokens.ts'),
    import('../sign-in/session.ts'),
  ]);
  return (await freshToken(new KeptTokens(file), url).catch(() => undefined))?.accessToken;
}

async function join(options: TargetOptions, url: string): Promise<Transport> {
  const { serveJoinedClient } = await import('./joined-client.ts');
  const headers = await credentials(options, url);
  const [input, output] = [new PassThrough(), new PassThrough()];
  return {
    input,
    output,
    serve: (failed) =>
      serveJoinedClient({
        url,
        headers,
        input,
        output,
        drainMs: 0,
        onProblem: (problem, isFatal) => {
          if (isFatal) failed(new CommandProblem('unreachable', problem));
          else if (options.quiet !== true) notice(`omnibus: ${problem}`);
        },
      }).finally(() => output.end()),
  };
}

async function startHere(options: TargetOptions, file: string): Promise<Transport> {
  const { readSettings } = await import('../commands/settings.ts');
  const settings = await readSettings(file, {});
  if ('problems' in settings) throw new CommandProblem('config', settings.problems.join('\n'));
  return inProcess(options, settings.config, settings.baseFolder, options.endpoint);
}

/** A gateway in this process with that server alone, which finds out the server's era and transport. */
async function bridge(options: TargetOptions, url: string): Promise<Transport> {
  const { loadConfig } = await import('@omnibus/config');
  const text = JSON.stringify({ mcpServers: { server: { url, headers: await credentials(options, url) } } }).replaceAll(
    '${',
    '$${',
  );
  const loaded = loadConfig({ file: 'omnibus.json', text, env: {}, readFile: () => '' });
  if ('problems' in loaded) throw new CommandProblem('usage', loaded.problems.map(({ message }) => message).join('; '));
  return inProcess(options, loaded.config, process.cwd(), 'server', url);
}

/** @param alone address of the only server, without which there is nothing to ask; a configuration's servers may be down. */
async function inProcess(
  options: TargetOptions,
  config: Config,
  baseFolder: string,
  endpoint: string | undefined,
  alone?: string,
): Promise<Transport> {
  const [{ Boundary, Delivery, RequestMeter, serveStdioClient }, { createLogger }, { hideEnvironment }] =
    await Promise.all([
      import('@omnibus/edge'),
      import('@omnibus/telemetry'),
      import('../serving/hide-environment.ts'),
    ]);
  hideEnvironment();
  const log = createLogger({ level: 'silent', format: 'json' });
  const gateway = await options.start({ config: aloneOf(config), baseFolder, role: 'all', isServing: false, log });
  const { bus, wheel, metrics, tracing, faults } = gateway;
  const ready = Promise.race([gateway.settled(), delay(settleMs, undefined, { ref: false })]).then(() => {
    for (const { server, status, problem } of gateway.records())
      if (status === 'down' && options.quiet !== true && alone === undefined)
        notice(`omnibus: server ${server} is down: ${problem ?? 'it does not answer'}`);
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  return {
    input,
    output,
    serve: async (failed) => {
      void ready.then(() => {
        const lost = alone === undefined ? undefined : gateway.records().find(({ status }) => status === 'down');
        if (lost !== undefined)
          failed(
            new CommandProblem('unreachable', `${alone as string}: ${lost.problem ?? 'it does not answer'}`, {
              advice: 'Is this the address of an MCP server? That of a gateway ends in /mcp.',
            }),
          );
      });
      await serveStdioClient({
        bus,
        endpoint: endpoint === undefined ? undefined : parseEndpointName(endpoint),
        meter: new RequestMeter(metrics, tracing),
        delivery: new Delivery({ bus, wheel, log }),
        limits: config.limits,
        boundary: new Boundary(log, faults),
        input,
        output,
        ready,
        drainMs: 0,
      });
      failed(new CommandProblem('unreachable', 'the gateway in this process has ended'));
      await gateway.stop();
    },
  };
}
