/** Chooses the transport for a server's configuration. */
import { resolve } from 'node:path';
import type { Dispatcher } from 'undici';
import type { ServerConfig } from '@omnibus/config';
import type { HeaderSource } from '@omnibus/credentials';
import { withoutTemplates, type Limits, type RepairCounts, type ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { ChildOptions } from './child-process.ts';
import { AuthorizedDispatcher } from './authorized.ts';
import type { Diary } from './diary.ts';
import { guarded } from './guard.ts';
import type { HttpOptions, TransportMaker } from './http-options.ts';
import { HttpSseTransport } from './http-sse.ts';
import type { MessageLimits } from './incoming.ts';
import { noTransport } from './no-transport.ts';
import { ProbingHttpTransport, type HttpVerdict } from './probing-http.ts';
import type { ReadingBudget, ReadingShare } from './reading-budget.ts';
import { RedirectFollower } from './redirect-follower.ts';
import { Redactor } from './redactor.ts';
import type { Sandbox } from './sandbox.ts';
import { ServerTls } from './server-tls.ts';
import { startUps } from './start-ups.ts';
import { StdioTransport } from './stdio.ts';
import { StreamableHttpTransport } from './streamable-http.ts';
import type { Transport, TransportObserver } from './transport.ts';
import { WebSocketTransport } from './websocket.ts';

export interface TransportSource {
  readonly server: ServerName;
  readonly config: ServerConfig;
  /** The folder that relative paths of the configuration start from. */
  readonly baseFolder: string;
  readonly limits: Limits;
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  readonly reading: ReadingBudget;
  /** What becomes of the server, for people. */
  readonly diary?: Diary | undefined;
  /** Counts repairs of the server's messages; undefined without repairs (`validation: enforce`). */
  readonly repairs: RepairCounts | undefined;
  /** Left out for an MCP server. */
  readonly transports?: TransportMaker | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Makes the transports of one server, and stores their findings about it. */
export class TransportFactory {
  readonly #source: TransportSource;
  readonly #child: ChildOptions | undefined;
  readonly #limits: MessageLimits;
  readonly #reading: ReadingShare;
  readonly #verdict: HttpVerdict;

  constructor(source: TransportSource) {
    const { config, baseFolder, diary, log } = source;
    this.#source = source;
    this.#limits = { ...source.limits, repairs: source.repairs };
    this.#reading = source.reading.share();
    this.#verdict = { isEventSource: config.type === 'sse' };
    this.#child =
      config.command === undefined
        ? undefined
        : {
            command: config.command,
            args: config.args,
            env: config.env,
            cwd: resolve(baseFolder, config.cwd ?? '.'),
            user: config.user,
            sandbox: sandboxOf(config, baseFolder),
            redactor: Redactor.of(config),
            diary,
            log,
          };
  }

  /** Whether the transport shows which request a message of the server belongs to. */
  get namesRequests(): boolean {
    const { config, transports } = this.#source;
    const { url, type } = config;
    if (transports !== undefined) return true;
    return url !== undefined && !/^wss?:/.test(url) && type !== 'sse' && !this.#verdict.isEventSource;
  }

  /**
   * @param isBase whether it is the server's first connection, which starts the program that further connections to the same `url` find running.
   * @param credentials shown to the server in addition to its configured headers.
   * @param headers of the connection's caller; left out for a shared connection.
   */
  create(
    hears: TransportObserver,
    isBase: boolean,
    credentials: HeaderSource | undefined,
    headers = withoutTemplates(this.#source.config.headers),
  ): Transport {
    const { config, dispatcher, repairs, transports: maker } = this.#source;
    const { url, type, connectTimeout: openTimeoutMs, problem } = config;
    if (problem !== undefined) return noTransport(problem);
    const limits = this.#limits;
    let session: string | undefined;
    const redactor = Redactor.of(config, () =>
      [session ?? [], credentials?.secrets ?? [], maker?.secrets ?? []].flat(),
    );
    const observer = guarded(hears, redactor, (error) => this.#fault(error));
    const shown = credentials === undefined ? dispatcher : new AuthorizedDispatcher(dispatcher, credentials);
    if (maker !== undefined)
      return maker.create({ headers, dispatcher: shown, reading: this.#reading, limits, openTimeoutMs }, observer);
    if (url === undefined)
      return new StdioTransport(
        { ...(this.#child as ChildOptions), limits, startUps: isBase ? startUps : undefined },
        observer,
      );
    if (/^wss?:/.test(url)) return this.#socket(url, headers, credentials, observer);
    const options: HttpOptions = {
      url,
      headers,
      dispatcher:
        repairs === undefined
          ? shown
          : new RedirectFollower(shown, (led) => repairs.note('redirect', redactor.excerpt(led))),
      reading: this.#reading,
      limits,
      openTimeoutMs,
      noteSession: (id) => {
        session = id;
      },
    };
    const child = isBase ? this.#child : undefined;
    const createStreamable = (to: TransportObserver): Transport =>
      new StreamableHttpTransport({ ...options, child }, to);
    if (type === 'sse') return new HttpSseTransport(options, observer);
    if (type !== undefined || child !== undefined) return createStreamable(observer);
    return new ProbingHttpTransport(
      this.#verdict,
      createStreamable,
      (to) => new HttpSseTransport(options, to),
      observer,
    );
  }

  #socket(
    url: string,
    headers: Readonly<Record<string, string>>,
    credentials: HeaderSource | undefined,
    observer: TransportObserver,
  ): Transport {
    const { server, config, baseFolder } = this.#source;
    const { connectTimeout: openTimeoutMs, addresses, proxy } = config;
    return new WebSocketTransport(
      {
        url,
        headers,
        limits: this.#limits,
        openTimeoutMs,
        addresses,
        proxy,
        credentials,
        tls: ServerTls.of(server, config, baseFolder),
      },
      observer,
    );
  }

  #fault(error: unknown): void {
    const { metrics, log } = this.#source;
    metrics.faulted('transport');
    log.error({ err: error }, 'a message of the server could not be handled');
  }
}

function sandboxOf({ sandbox, cwd }: ServerConfig, baseFolder: string): Sandbox | undefined {
  if (sandbox === undefined) return undefined;
  const at = (path: string): string => resolve(baseFolder, path);
  return {
    network: sandbox.network,
    read: sandbox.read.map(at),
    write: sandbox.write.map(at),
    home: sandbox.home === undefined ? undefined : at(sandbox.home),
    cwd: cwd === undefined ? undefined : at(cwd),
  };
}
