/**
 * What one feature adds to the adapter of a server. The adapter gets a list of features, and knows this interface only. Each feature is one folder under
 * `features/`; `features/index.ts` has the list; its order is that of steps and watchers.
 */
import type { Bus } from '@omnibus/bus';
import type { ServerConfig } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type {
  ControlCommand,
  JsonObject,
  Principal,
  RepairCounts,
  ServerIntroduction,
  ServerName,
  SessionKey,
  Who,
  WorkerId,
} from '@omnibus/protocol';
import type { Logger, Metrics, Tap, Tracing } from '@omnibus/telemetry';
import type { QuestionChecks, QuestionRelay } from './call/question-relay.ts';
import { merged, type CallStep, type CallWatcher } from './call/steps.ts';
import type { CatalogPublisher } from './catalog/publisher.ts';
import type { RecordFilter } from './catalog/record-of.ts';
import type { RecordShape } from './catalog/record-shape.ts';
import type { CallersInCatalog } from './catalog/publisher-options.ts';
import type { UpstreamConnection } from './connection/connection.ts';
import type { Tell } from './connection/connection-observer.ts';
import type { ConnectionIdentities } from './connection/identities.ts';
import type { ConnectionPool } from './connection/pool.ts';
import type { Progress } from './connection/progress.ts';
import type { Agents } from './transport/agents.ts';
import type { TransportMaker } from './transport/http-options.ts';

/** What decides which features a server has. */
export interface FeatureOptions {
  readonly tracing: Tracing | undefined;
  /** Reports calls to users that watch them; undefined where none can. */
  readonly tap?: Tap | undefined;
  /** Those of `ServerMeans`. */
  readonly added: readonly ServerFeature[];
  /** Counts repairs of the server's messages; undefined if there are none. */
  readonly repairs: RepairCounts | undefined;
}

/** Credentials that a user did not have before, or has no more. */
interface NewCredentials {
  /** The connections that have to be opened again: those of the user, or the one of all users. */
  readonly of: 'user' | 'all';
  /** Whether requests are sent with them already: connections that are ready or being opened stay, since a new handshake would interrupt their calls. */
  readonly isInUse: boolean;
}

/** How one server knows its callers, for all parts of its adapter. */
export interface ServerIdentities extends ConnectionIdentities {
  readonly catalog: CallersInCatalog;
  /**
   * A user's stored records have changed.
   * @returns undefined if it changes nothing for connections.
   */
  changed(principal: Principal): Promise<NewCredentials | undefined>;
}

/** Of a server that gets its configured headers, the same for every caller. */
export const noIdentities: ServerIdentities = {
  base: undefined,
  own: undefined,
  wantsSignIn: false,
  catalog: { standIn: () => undefined, listsOfUsers: undefined, isToldCallers: false },
  changed: () => Promise.resolve(undefined),
};

/** What features give to one server before it is connected to. */
export interface ServerMeans {
  /** Undefined for a server to which all callers are the same. */
  readonly identities?: ServerIdentities | undefined;
  /** What it adds to the server's adapter. */
  readonly feature?: ((parts: ServerParts) => ServerFeature) | undefined;
  /** Undefined where everything is published that the server says. */
  readonly filter?: RecordFilter | undefined;
  /** Undefined where clients see every tool as the server gives it. */
  readonly shape?: RecordShape | undefined;
  /** Undefined for an MCP server. */
  readonly transports?: TransportMaker | undefined;
}

/** What the adapter of a server hears of its users. */
interface UserEvents {
  /** The stored credentials of a user have changed. */
  credentialsChanged(principal: Principal): Promise<void>;
  /** A directory has removed a user, and another person may get the name. @param called principals of the user whose connections must end. */
  userGone(isGone: (who: Who) => boolean, called: readonly Principal[]): void;
}

/** What the features of one process use of it. */
export interface ProcessParts {
  readonly agents: Agents;
  /** Session workers that are there, or have vanished. */
  readonly sessionWorkers: () => readonly WorkerId[];
  /** Undefined for a server that is not served here. */
  readonly adapterOf: (server: string) => UserEvents | undefined;
}

/** What one feature keeps for all servers of a process. */
export interface ProcessFeature {
  /** Called before the first server is connected to. @param worker the name of this backend worker. */
  start?(worker: WorkerId): Promise<void>;
  /**
   * Called before a server is connected to, again when its configuration has changed.
   * @throws {Error} in words for the operator: then the server is not connected to, and it is tried again later.
   */
  of?(server: ServerName, config: ServerConfig): Promise<ServerMeans>;
  /** A server was removed from the configuration. */
  forget?(server: ServerName): void;
  stop(): Promise<void>;
}

/** Makes the features of a backend. */
export interface FeatureMaker {
  ofProcess(parts: ProcessParts): readonly ProcessFeature[];
  ofServer(of: Pick<FeatureOptions, 'added' | 'repairs'>, parts: ServerParts): readonly ServerFeature[];
}

/** The parts of one server's adapter that features use. */
export interface ServerParts {
  readonly server: ServerName;
  readonly config: ServerConfig;
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly catalog: CatalogPublisher;
  readonly questions: QuestionRelay;
  /** The connections other than the first; it exists once the features do. */
  readonly pool: () => ConnectionPool;
  readonly connections: () => readonly UpstreamConnection[];
  /** Sends a request and ignores its answer. */
  readonly tell: (method: string, params: JsonObject, connection: UpstreamConnection) => Promise<unknown> | undefined;
}

type Heard = (connection: UpstreamConnection, params: JsonObject) => void;
type Controls = {
  readonly [Kind in ControlCommand['kind']]?: (command: Extract<ControlCommand, { kind: Kind }>) => void;
};

/** Members that a feature leaves out are not called. */
export interface ServerFeature {
  readonly name: string;
  readonly step?: CallStep;
  readonly watcher?: CallWatcher;
  /** Looks at the server's questions and their answers. */
  readonly checks?: QuestionChecks;
  /** Hears notifications of the server by their methods. */
  readonly hears?: { readonly [method: string]: Heard };
  /** Hears commands of sessions by their kinds. */
  readonly controls?: Controls;
  /** Sessions with state. */
  readonly sessions?: Iterable<SessionKey>;
  /** Calls that wait for people. */
  readonly waiting?: number;
  start?(): Promise<void>;
  /** A connection is being opened, and no request was sent over it. @returns a promise that the first request must wait for. */
  greeted?(connection: UpstreamConnection, introduction: ServerIntroduction, ask: Tell): Promise<unknown> | undefined;
  opened?(connection: UpstreamConnection): void;
  /** The server may have made unheard announcements. */
  missed?(connection: UpstreamConnection): void;
  /** Whether something still runs over a connection although no call does. */
  isNeeded?(connection: UpstreamConnection): boolean;
  /** Hears progress for a request that is not in flight. @returns false if it belongs to nothing of this feature. */
  strayProgress?(connection: UpstreamConnection, progress: Progress): boolean;
  forgetSession?(session: SessionKey): void;
  /** The stored credentials of a user have changed. */
  userChanged?(principal: Principal): void;
}

/** The features of one adapter. */
export class Features {
  readonly all: readonly ServerFeature[];
  readonly steps: readonly CallStep[];
  readonly watchers: readonly CallWatcher[];
  readonly checks: readonly QuestionChecks[];
  readonly hears: { readonly [method: string]: Heard };
  readonly #controls: Controls;

  constructor(all: readonly ServerFeature[]) {
    this.all = all;
    this.steps = all.flatMap(({ step }) => step ?? []);
    this.watchers = all.flatMap(({ watcher }) => watcher ?? []);
    this.checks = all.flatMap(({ checks }) => checks ?? []);
    this.hears = merged(all.map(({ hears }) => hears));
    this.#controls = merged(all.map(({ controls }) => controls));
  }

  /** @returns false for a command that no feature hears. */
  control<Kind extends ControlCommand['kind']>(command: Extract<ControlCommand, { kind: Kind }>): boolean {
    const hear = this.#controls[command.kind as Kind] as ((given: typeof command) => void) | undefined;
    hear?.(command);
    return hear !== undefined;
  }

  get sessions(): readonly SessionKey[] {
    return this.all.flatMap(({ sessions }) => [...(sessions ?? [])]);
  }

  get waiting(): number {
    return this.all.reduce((sum, { waiting = 0 }) => sum + waiting, 0);
  }

  async start(): Promise<void> {
    for (const feature of this.all) await feature.start?.();
  }

  greeted(connection: UpstreamConnection, introduction: ServerIntroduction, ask: Tell): Promise<unknown> | undefined {
    const waits = this.all.flatMap((feature) => feature.greeted?.(connection, introduction, ask) ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  opened(connection: UpstreamConnection): void {
    for (const feature of this.all) feature.opened?.(connection);
  }

  missed(connection: UpstreamConnection): void {
    for (const feature of this.all) feature.missed?.(connection);
  }

  isNeeded(connection: UpstreamConnection): boolean {
    return this.all.some((feature) => feature.isNeeded?.(connection) === true);
  }

  strayProgress(connection: UpstreamConnection, progress: Progress): boolean {
    return this.all.some((feature) => feature.strayProgress?.(connection, progress) === true);
  }

  forgetSession(session: SessionKey): void {
    for (const feature of this.all) feature.forgetSession?.(session);
  }

  userChanged(principal: Principal): void {
    for (const feature of this.all) feature.userChanged?.(principal);
  }
}
