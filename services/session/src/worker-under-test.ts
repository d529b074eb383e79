/** A session worker on a bus in memory, with servers that a test writes into the catalogue: what tests of lists and capabilities share. */
import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import type { Audit } from '@omnibus/audit';
import { catalogBucket, MemoryBus, subjects, type KeyValue, type OnFault } from '@omnibus/bus';
import { firstReply, Heard } from '@omnibus/bus/testing';
import { offerKeyOf } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { loadedFrom } from '@omnibus/config/testing';
import { DeadlineWheel } from '@omnibus/lifecycle';
import {
  anonymous,
  catalogKey,
  declaredOf,
  latestModernRevision,
  metaKeys,
  newRequestKey,
  newWorkerId,
  noAnnouncements,
  noLists,
  parseServerName,
  rootEndpoint,
  sessionKey,
  toErrorObject,
  type CallCommand,
  type Caller,
  type CatalogRecord,
  type ControlCommand,
  type EndpointName,
  type ExchangeEvent,
  type Facts,
  type JsonObject,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type OfferCaller,
  type PostedMessage,
  type Principal,
  type Revision,
  type ServerName,
  type ServerNotice,
  type SessionCommand,
  type SessionKey,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { compile, compileGuardrails, type Guardrails, type Policy } from '@omnibus/policy';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { createSessionWorker } from './create.ts';
import type { SessionWorker } from './worker.ts';

/** A message to a client. */
interface Message extends JsonObject {
  readonly method?: string;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
}

export interface ClientUnderTest {
  /** What `initialize` or `server/discover` was answered. */
  readonly greeting: JsonObject;
  readonly ask: (method: string, params?: JsonObject) => Promise<Message>;
  /** What came on its standing stream; nothing for a client without a session. */
  readonly pushed: Heard<Message>;
  /** Questions during its calls; none for a client without a session, which gets them as answers. */
  readonly asked: Heard<Message>;
  /** Says something that is no request: an answer, or a notification. Does nothing for a client without a session. */
  readonly say: (message: PostedMessage) => void;
  /** Of the request that was sent last. */
  readonly lastId: () => number;
  /** From now on its requests come with something else that an edge has found out of it. */
  readonly become: (caller: Caller) => void;
  /** Ends its session; does nothing for a client without one. */
  readonly end: () => void;
  /** Of its session, where it has one. */
  readonly key: SessionKey | undefined;
}

const caller: Caller = { principal: anonymous, endpoint: rootEndpoint };

/** What an edge knows of a caller. */
export function factsOf(subject: string, more: Partial<Facts> = {}): Facts {
  return {
    principal: `p_${more.tenant ?? ''}_${subject}` as Principal,
    issuer: 'test',
    subject,
    tenant: undefined,
    actors: [],
    groups: [],
    scopes: [],
    client: undefined,
    expiresAt: undefined,
    key: undefined,
    ...more,
  };
}

/** A caller that is known, as an edge of the same process says it. */
export function callerOf(subject: string, more: Partial<Facts> = {}, endpoint: EndpointName = rootEndpoint): Caller {
  const facts = factsOf(subject, more);
  return { principal: facts.principal, endpoint, facts };
}

export class WorkerUnderTest {
  readonly faults: string[] = [];
  readonly bus: MemoryBus;
  /** How far the clock of the worker's deadlines was turned, in milliseconds. */
  #turnedMs = 0;
  readonly wheel = new DeadlineWheel({
    tickMs: 5,
    now: () => performance.now() + this.#turnedMs,
    onFault: (error) => this.faults.push(String(error)),
  });
  readonly metrics = new Metrics({ processMetrics: false });
  readonly controls = new Heard<ControlCommand>();
  readonly asked = new Heard<CallCommand>();
  /** The asked servers, in order. */
  readonly reached: string[] = [];
  /** The servers' answers to calls. */
  outcome: ExchangeEvent = { kind: 'result', result: { content: [] } };
  /** Takes the next call instead of answering it at once. */
  takes: ((reply: (event: ExchangeEvent) => void) => void) | undefined;
  /** Whether servers say at once what they offer to clients with other declarations: the same. A record that says it itself stays as it is. */
  saysOffers = true;
  worker: SessionWorker | undefined;
  #catalog: KeyValue<CatalogRecord> | undefined;
  readonly #backend = newWorkerId('backend');
  /** The last record of each server, and the keys of the declarations that it was asked about. */
  readonly #servers = new Map<string, { readonly record: CatalogRecord; readonly keys: Set<string> }>();
  #count = 0;

  private constructor(makeBus: (onFault: OnFault) => MemoryBus) {
    this.bus = makeBus(({ what, error }) => this.faults.push(`${what}: ${String(error)}`));
  }

  /**
   * @param settings of the configuration, without the servers; each has an unused address.
   * @param audit where requests are put on record.
   */
  static async start(
    servers: readonly string[],
    settings: object = {},
    audit?: Audit,
    makeBus: (onFault: OnFault) => MemoryBus = (onFault) => new MemoryBus(onFault),
  ): Promise<WorkerUnderTest> {
    const made = new WorkerUnderTest(makeBus);
    const { config, policy, guardrails } = await settingsOf(servers, settings);
    const { bus, wheel } = made;
    made.#catalog = await bus.keyValue(catalogBucket);
    made.worker = await createSessionWorker({
      config,
      policy,
      guardrails,
      bus,
      wheel,
      log: createLogger({ level: 'silent', format: 'json' }),
      metrics: made.metrics,
      tracing: undefined,
      audit,
    });
    await made.worker.start();
    for (const server of servers.map(parseServerName)) {
      await bus.subscribe(subjects.backendControl(server), (command) => {
        made.controls.add(command);
        if (command.kind === 'wanted' && command.caller !== undefined) made.#offer(server, command.caller);
      });
      await bus.subscribe(
        subjects.backend(server),
        (command, reply) => {
          made.asked.add(command);
          made.reached.push(server);
          const { takes } = made;
          made.takes = undefined;
          if (takes === undefined) reply(made.outcome);
          else takes(reply);
        },
        { queue: 'backend' },
      );
    }
    return made;
  }

  async apply(servers: readonly string[], settings: object): Promise<void> {
    const { config, policy, guardrails } = await settingsOf(servers, settings);
    this.worker?.apply(config, policy, guardrails);
  }

  /** Messages of servers outside calls. */
  notice(notice: ServerNotice): void {
    this.bus.publish(subjects.notices, notice);
  }

  async put(server: string, more: Partial<CatalogRecord> = {}): Promise<void> {
    const name = parseServerName(server);
    const record: CatalogRecord = {
      server: name,
      status: 'up',
      revision: latestModernRevision,
      capabilities: { tools: {} },
      lists: noLists,
      announcements: noAnnouncements,
      ...more,
    };
    const keys = this.#servers.get(server)?.keys ?? new Set<string>();
    this.#servers.set(server, { record, keys });
    await this.#write(record, keys);
  }

  /** Does what an adapter does that hears of a client whose declarations are new. */
  #offer(server: ServerName, asking: OfferCaller): void {
    const { record, keys } = this.#servers.get(server) ?? {};
    if (record === undefined || keys === undefined || !this.saysOffers || record.owners !== undefined) return;
    keys.add(offerKeyOf(record, declaredOf(asking)));
    void this.#write(record, keys);
  }

  async #write(record: CatalogRecord, keys: ReadonlySet<string>): Promise<void> {
    const offers = record.offers ?? [...keys].map((key) => ({ key, lists: {} }));
    await this.#catalog?.put(catalogKey(record.server, this.#backend), { ...record, offers });
  }

  /** A client of a revision, with a session where that has them. @param by its caller; default: anonymous. */
  async open(revision: Revision, capabilities: JsonObject = {}, by: Caller = caller): Promise<ClientUnderTest> {
    return this.turning(
      revision === latestModernRevision
        ? this.#openModern(capabilities, by)
        : this.#openSession(revision, capabilities, by),
    );
  }

  /** A client with a session that does not say `notifications/initialized`. */
  openUnconfirmed(revision: Revision, capabilities: JsonObject): Promise<ClientUnderTest> {
    return this.turning(this.#openSession(revision, capabilities, caller, false));
  }

  /** Turns the clock of the worker's deadlines until something has happened that waits for one of them. */
  async turning<T>(awaited: Promise<T>): Promise<T> {
    const state = { isPending: true };
    const ended = (): void => {
      state.isPending = false;
    };
    awaited.then(ended, ended);
    while (state.isPending) {
      // What needs no time happens first. Encryption is done by another thread, which needs some: a second for the worker takes ten milliseconds here.
      for (let round = 0; round < 20 && state.isPending; round += 1) await setImmediate();
      if (state.isPending) await pause(1);
      if (!state.isPending) break;
      this.#turnedMs += 100;
      this.wheel.tick();
    }
    return awaited;
  }

  /** Turns the clock of the worker's deadlines. */
  turn(ms: number): void {
    this.#turnedMs += ms;
    this.wheel.tick();
  }

  async stop(): Promise<void> {
    await this.worker?.stop();
  }

  async #openModern(capabilities: JsonObject, given: Caller): Promise<ClientUnderTest> {
    let by = given;
    const ask = async (method: string, params: JsonObject = {}): Promise<Message> => {
      this.#count += 1;
      const request: JsonRpcRequest = {
        jsonrpc: '2.0',
        id: this.#count,
        method,
        params: {
          ...params,
          _meta: { ...(params['_meta'] as JsonObject | undefined), [metaKeys.clientCapabilities]: capabilities },
        },
      };
      const frame = await firstReply(this.bus, subjects.modern(undefined), {
        kind: 'request',
        key: newRequestKey(),
        caller: by,
        request,
        context: { capabilities, logLevel: undefined },
        parameterHeaders: undefined,
      });
      if (frame.kind === 'refused') return { error: toErrorObject(frame.fault) as NonNullable<Message['error']> };
      return frame.kind === 'message'
        ? (JSON.parse(frame.text) as Message)
        : { error: { code: 0, message: JSON.stringify(frame) } };
    };
    const { result } = await ask('server/discover');
    return {
      greeting: result as JsonObject,
      ask,
      pushed: this.#listen(capabilities, by),
      asked: new Heard<Message>(),
      say: () => undefined,
      end: () => undefined,
      lastId: () => this.#count,
      key: undefined,
      become: (other) => {
        by = other;
      },
    };
  }

  /** @returns the notifications of changed lists. */
  #listen(capabilities: JsonObject, caller: Caller): Heard<Message> {
    const pushed = new Heard<Message>();
    const request: JsonRpcRequest = {
      jsonrpc: '2.0',
      id: 'listen',
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true } },
    };
    this.bus.request(
      subjects.modern(undefined),
      {
        kind: 'request',
        key: newRequestKey(),
        caller,
        request,
        context: { capabilities, logLevel: undefined },
        parameterHeaders: undefined,
      },
      {
        reply: (frame) => {
          if (frame.kind === 'message') pushed.add(JSON.parse(frame.text) as Message);
        },
        failed: (error) => this.faults.push(String(error)),
      },
    );
    return pushed;
  }

  async #openSession(
    revision: Revision,
    capabilities: JsonObject,
    given: Caller,
    isConfirmed = true,
  ): Promise<ClientUnderTest> {
    let by = given;
    const opened = await firstReply(this.bus, subjects.sessionOpen(undefined), {
      kind: 'open',
      caller: by,
      request: {
        jsonrpc: '2.0',
        id: 'init',
        method: 'initialize',
        params: { protocolVersion: revision, capabilities, clientInfo: { name: 'test', version: '1' } },
      },
    });
    if (opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
    const key = sessionKey(opened.session);
    const [pushed, asked] = [new Heard<Message>(), new Heard<Message>()];
    let lastId = 0;
    const hear = (frame: StreamFrame): void => {
      if (frame.kind === 'message') pushed.add(JSON.parse(frame.text) as Message);
    };
    const post = (message: PostedMessage, heard: (frame: StreamFrame) => void): void =>
      this.#command(opened.worker, key, { kind: 'post', caller: by, stream: this.#stream(), message }, heard);
    const say = (message: PostedMessage): void => post(message, () => undefined);
    const initialized: JsonRpcNotification = { jsonrpc: '2.0', method: 'notifications/initialized' };
    if (isConfirmed) say({ kind: 'notification', message: initialized });
    this.#command(opened.worker, key, { kind: 'attach', caller: by, stream: this.#stream(), after: undefined }, hear);
    const ask = (method: string, params: JsonObject = {}): Promise<Message> =>
      new Promise((resolve) => {
        this.#count += 1;
        const id = this.#count;
        lastId = id;
        post({ kind: 'request', message: { jsonrpc: '2.0', id, method, params } }, (frame) => {
          const message = frame.kind === 'message' ? (JSON.parse(frame.text) as Message) : undefined;
          if (message?.['id'] === id) resolve(message);
          else if (message?.method !== undefined) asked.add(message);
        });
      });
    const { result } = JSON.parse(opened.text) as Message;
    const end = (): void => this.#command(opened.worker, key, { kind: 'delete', caller: by }, () => undefined);
    return {
      greeting: result as JsonObject,
      ask,
      pushed,
      asked,
      say,
      end,
      lastId: () => lastId,
      key,
      become: (other) => {
        by = other;
      },
    };
  }

  #stream(): StreamId {
    this.#count += 1;
    return `stream-${this.#count}` as StreamId;
  }

  #command(worker: WorkerId, key: SessionKey, command: SessionCommand, hear: (frame: StreamFrame) => void): void {
    this.bus.request(
      subjects.session(worker),
      { key, command },
      { reply: hear, failed: (error) => this.faults.push(String(error)) },
    );
  }
}

/** A configuration with servers at unused addresses, and its rules. */
async function settingsOf(
  servers: readonly string[],
  settings: object,
): Promise<{
  readonly config: Config;
  readonly policy: Policy | undefined;
  readonly guardrails: Guardrails | undefined;
}> {
  const loaded = loadedFrom({
    mcpServers: Object.fromEntries(servers.map((server) => [server, { url: 'http://127.0.0.1:1/mcp' }])),
    ...settings,
  });
  const compiled = loaded.config.access === undefined ? { policy: undefined } : await compile(loaded.config.access);
  if ('problems' in compiled) throw new Error(JSON.stringify(compiled.problems));
  const { guardrails } = loaded.config;
  // A schema of a test wants types of members, and nothing else.
  const guards =
    guardrails.length === 0
      ? undefined
      : await compileGuardrails(guardrails, (schema, value) =>
          Object.entries(schema['properties'] as Record<string, { readonly type: string }>)
            .flatMap(([name, { type }]) =>
              typeof (value as JsonObject)[name] === type ? [] : [`${name} is no ${type}`],
            )
            .at(0),
        );
  if (guards !== undefined && 'problems' in guards) throw new Error(JSON.stringify(guards.problems));
  return { config: loaded.config, policy: compiled.policy, guardrails: guards?.guardrails };
}
