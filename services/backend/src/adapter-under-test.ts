/** An adapter on a bus in memory, in front of a server over HTTP that a test scripts: what tests of the catalogue share. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { catalogBucket, MemoryBus, subjects } from '@omnibus/bus';
import { Heard } from '@omnibus/bus/testing';
import { configOf } from '@omnibus/config/testing';
import { TokenReceiver } from '@omnibus/credentials';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  catalogKey,
  defaultLimits,
  latestLegacyRevision,
  newRequestKey,
  newWorkerId,
  parseServerName,
  RepairCounts,
  type CatalogRecord,
  type ControlCommand,
  type ExchangeContext,
  type ExchangeEvent,
  type ExchangeId,
  type ExchangeMethod,
  type JsonObject,
  type JsonRpcId,
  type ServerNotice,
  type SessionKey,
} from '@omnibus/protocol';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { Adapter, type AdapterOptions } from './adapter.ts';
import type { ServerFeature, ServerIdentities } from './feature.ts';
import type { ApprovedStore } from './features/definitions/approved-store.ts';
import { Definitions } from './features/definitions/definitions.ts';
import { callSignIns, featureOf } from './features/credentials/feature.ts';
import { identitiesOf } from './features/credentials/identities.ts';
import { credentialsOf } from './features/credentials/server-credentials.ts';
import { serverFeatures } from './features/index.ts';
import { ServerShapes, shapesOf } from './features/shaping/shapes.ts';
import { ConnectionBudget } from './connection/budget.ts';
import { ReadingBudget } from './transport/reading-budget.ts';
import { Agents } from './transport/agents.ts';

export interface HeardByServer {
  readonly id?: JsonRpcId;
  readonly method: string;
  readonly params?: JsonObject;
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined;
  readonly revision: string | undefined;
  readonly authorization: string | undefined;
}

type Said = { readonly result: JsonObject } | { readonly error: JsonObject } | 'silence' | undefined;

export interface ServerScript {
  /** Looks at each request before anything else. @returns whether it has answered it. */
  readonly first?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The answer to a message; undefined: that of a correct server with sessions. */
  readonly says?: (message: HeardByServer, response: ServerResponse, request: IncomingMessage) => Said | Promise<Said>;
  /** The standing stream; default: 405. */
  readonly get?: (response: ServerResponse, request: IncomingMessage) => void;
  readonly capabilities?: JsonObject;
  /** False: it gives no session id. */
  readonly hasSessions?: boolean;
}

interface MoreParts {
  /** After those of every adapter. */
  readonly features?: readonly ServerFeature[];
  /** Default: those of the settings. */
  readonly identities?: ServerIdentities;
}

export const toolNamed = (name: string): JsonObject & { readonly name: string } => ({
  name,
  inputSchema: { type: 'object' },
});
const noEdge = (): Promise<never> => Promise.reject(new Error('there is no edge'));
const unknownMethod = { error: { code: -32_601, message: 'no such method' } };

export class AdapterUnderTest implements AsyncDisposable {
  readonly faults: string[] = [];
  readonly bus = new MemoryBus(({ what, error }) => this.faults.push(`${what}: ${String(error)}`));
  readonly wheel = new DeadlineWheel({ tickMs: 5, onFault: (error) => this.faults.push(String(error)) });
  readonly heard = new Heard<HeardByServer>();
  readonly gets = new Heard<string | undefined>();
  readonly records = new Heard<CatalogRecord>();
  /** Messages to sessions outside calls. */
  readonly notices = new Heard<ServerNotice>();
  /** Whether the server is idle, at each change. */
  readonly slept = new Heard<boolean>();
  readonly metrics = new Metrics({ processMetrics: false });
  readonly repairs = new RepairCounts();
  readonly adapter: Adapter;
  /** Where there is a store for them. */
  readonly definitions: Definitions | undefined;
  readonly #server: ReturnType<typeof createServer>;
  readonly #agents: Agents;
  readonly #name = parseServerName('up');
  readonly #worker = newWorkerId('backend');

  private constructor(
    server: ReturnType<typeof createServer>,
    settings: object,
    store: ApprovedStore | undefined,
    isWaitedFor: AdapterOptions['isWaitedFor'],
    { features = [], identities }: MoreParts,
  ) {
    this.#server = server;
    this.#agents = new Agents();
    const config = serverConfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, settings);
    const log = createLogger({ level: 'silent', format: 'json' });
    const { metrics } = this;
    const { wheel } = this;
    // Its port is another with each start, and the server the same.
    if (store !== undefined && config.definitions !== 'off') {
      const mode = config.definitions;
      this.definitions = new Definitions({ server: this.#name, mode, reached: 'here', store, wheel, log, metrics });
    }
    const repairs = config.validation === 'enforce' ? undefined : this.repairs;
    const credentials = credentialsOf({
      server: this.#name,
      config,
      baseFolder: '/',
      agents: this.#agents,
      log,
      metrics,
      vault: undefined,
      clientDocument: undefined,
      isForOne: true,
      edges: { receiver: new TokenReceiver(), ask: noEdge, isGone: () => false },
    });
    const users = credentials?.users;
    const shapes = shapesOf(config);
    const allFeatures: AdapterOptions['features'] = (parts) => {
      const added = users === undefined ? [] : [featureOf(callSignIns(parts, users, undefined))];
      return [...serverFeatures({ tracing: undefined, added, repairs }, parts, undefined), ...features];
    };
    this.adapter = new Adapter({
      features: allFeatures,
      server: this.#name,
      worker: this.#worker,
      config,
      baseFolder: '/',
      limits: defaultLimits,
      budget: new ConnectionBudget(defaultLimits),
      reading: new ReadingBudget({ maxBytes: defaultLimits.maxReadingBytes, onWait: () => undefined }),
      dispatcher: this.#agents.of(undefined, undefined, config.proxy),
      isWaitedFor,
      identities: identities ?? identitiesOf(this.#name, config, credentials),
      slept: (isAsleep) => this.slept.add(isAsleep),
      repairs,
      bus: this.bus,
      wheel: this.wheel,
      log,
      metrics,
      filter: this.definitions,
      shape: shapes === undefined ? undefined : new ServerShapes(shapes),
    });
  }

  /**
   * @param settings of the server in the configuration, without its address.
   * @param store of the approved definitions.
   * @param isWaitedFor of the adapter.
   * @param more parts of the adapter.
   */
  static async start(
    script: ServerScript,
    settings: object = {},
    store?: ApprovedStore,
    isWaitedFor?: AdapterOptions['isWaitedFor'],
    more: MoreParts = {},
  ): Promise<AdapterUnderTest> {
    let made: AdapterUnderTest | undefined;
    const server = createServer((request, response) => void made?.serve(script, request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    made = new AdapterUnderTest(server, settings, store, isWaitedFor, more);
    const catalog = await made.bus.keyValue(catalogBucket);
    const heard = made.records;
    await catalog.watch((change) => {
      if (change.kind === 'put') heard.add(change.value);
    });
    const { notices } = made;
    await made.bus.subscribe(subjects.notices, (notice) => notices.add(notice));
    await made.adapter.start();
    return made;
  }

  get record(): CatalogRecord {
    return this.adapter.catalog.record;
  }

  get tools(): readonly string[] {
    return this.record.lists.tools.map(({ name }) => name);
  }

  count(method: string): number {
    return this.heard.values.filter((each) => each.method === method).length;
  }

  control(command: ControlCommand): void {
    this.bus.publish(subjects.backendControl(this.#name), command);
  }

  /**
   * A session's request to the server.
   * @param more the caller, if not anonymous.
   * @param before hears what comes before the answer.
   * @returns the answer.
   */
  call(
    session: SessionKey,
    method: ExchangeMethod,
    params: JsonObject,
    more: Partial<ExchangeContext> = {},
    before?: (event: ExchangeEvent) => void,
  ): Promise<ExchangeEvent> {
    const context: ExchangeContext = {
      principal: anonymous,
      session,
      capabilities: {},
      standsAlone: false,
      logLevel: undefined,
      wantsProgress: false,
      maxTimeMs: 10_000,
      ...more,
    };
    return new Promise((resolve) => {
      this.adapter.calls.begin(
        { kind: 'call', exchange: newRequestKey() as string as ExchangeId, method, params, context },
        (event) => (['result', 'error', 'fault'].includes(event.kind) ? resolve(event) : before?.(event)),
      );
    });
  }

  get key(): string {
    return catalogKey(this.#name, this.#worker);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await this.adapter.stop(0);
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#agents.destroy();
  }

  private async serve(
    { first, says, get, capabilities = { tools: {} }, hasSessions = true }: ServerScript,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    response.on('error', () => undefined);
    if (first?.(request, response) === true) return;
    if (request.method === 'GET') {
      this.gets.add(request.headers['last-event-id'] as string | undefined);
      if (get === undefined) response.writeHead(405).end();
      else get(response, request);
      return;
    }
    if (request.method !== 'POST') {
      response.writeHead(204).end();
      return;
    }
    const message = (await json(request)) as {
      readonly id?: JsonRpcId;
      readonly method: string;
      readonly params?: JsonObject;
    };
    const heard: HeardByServer = {
      ...message,
      session: request.headers['mcp-session-id'] as string | undefined,
      revision: request.headers['mcp-protocol-version'] as string | undefined,
      authorization: request.headers.authorization,
    };
    this.heard.add(heard);
    const said = (await says?.(heard, response, request)) ?? this.usual(message.method, capabilities);
    if (said === 'silence' || response.writableEnded) return;
    if (message.id === undefined) response.writeHead(202).end();
    else {
      const session =
        message.method === 'initialize' && hasSessions
          ? { 'mcp-session-id': `session-${this.count('initialize')}` }
          : {};
      response
        .writeHead(200, { 'content-type': 'application/json', ...session })
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...said }));
    }
  }

  private usual(method: string, capabilities: JsonObject): Said {
    switch (method) {
      case 'initialize':
        return {
          result: {
            protocolVersion: latestLegacyRevision,
            capabilities,
            serverInfo: { name: 'scripted', version: '1' },
          },
        };
      case 'server/discover':
        return unknownMethod;
      case 'tools/list':
        return { result: { tools: [toolNamed('act')] } };
      case 'tools/call':
        return { result: { content: [{ type: 'text', text: 'done' }] } };
      case 'prompts/list':
        return { result: { prompts: [] } };
      case 'resources/list':
        return { result: { resources: [] } };
      case 'resources/templates/list':
        return { result: { resourceTemplates: [] } };
      default:
        return { result: {} };
    }
  }
}

/** The loaded options of the one server. @param settings as in a configuration file */
function serverConfig(url: string, settings: object): AdapterOptions['config'] {
  const { mcpServers } = configOf({
    auth: { keys: { file: 'keys.yaml' } },
    mcpServers: { up: { url, connectTimeout: '30s', restart: { minDelay: '50ms', maxDelay: '100ms' }, ...settings } },
  });
  return mcpServers['up'] as AdapterOptions['config'];
}
