/** The gateway that a command starts in its process. The entry of the program gives it to the commands, since it knows all parts of a process. */
import type { Reloaded, ServerEditor } from '@omnibus/admin';
import type { ConfigHistory } from '@omnibus/admin/history';
import type { Audit } from '@omnibus/audit';
import type { Bus, OnFault } from '@omnibus/bus';
import type { Config, Role } from '@omnibus/config';
import type { SealingKeys } from '@omnibus/identity';
import type { ServersHere } from '@omnibus/kubernetes';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { CatalogRecord, ServerName } from '@omnibus/protocol';
import type { Faults, Logger, Metrics, Tracing } from '@omnibus/telemetry';

/** A process of a gateway with several workers on one machine (`serve --workers`): their supervisor, or one of them. */
export interface Membership {
  /** Names the process in its log; undefined in the supervisor. */
  readonly name?: string;
  /** Opens the bus that the processes share. */
  readonly openBus: (onFault: OnFault) => Bus;
  /** Whether this process starts the program of a server: one of them does. */
  readonly hasProgramOf: (server: string) => boolean;
  /** Milliseconds that clients have to connect to another process, when this one leaves. */
  readonly leaveMs: () => number;
  /** Why the gateway cannot serve now, beside the reasons of this process, in words for the operator. */
  readonly notReady: () => readonly string[];
  /** The metrics of all workers beside those of this process; undefined in a worker. */
  readonly metrics?: (own: Metrics) => Promise<string>;
  /** State and lists of the servers that the workers connect to, as of now; undefined in a worker. */
  readonly records?: () => Promise<readonly CatalogRecord[]>;
}

export interface GatewayOptions {
  readonly config: Config;
  /** Folder that relative paths of the configuration are resolved against. */
  readonly baseFolder: string;
  readonly role: Role;
  /** False for a gateway that opens no ports: its one client is served over streams, or it has none. */
  readonly isServing: boolean;
  readonly log: Logger;
  /** Keys that all edges and session workers share; undefined where this process is the only one. */
  readonly sealingKeys?: SealingKeys | undefined;
  /** Reads the configuration again and applies it. If undefined, the process follows no configuration. @returns its problems. */
  readonly reload?: () => Promise<Reloaded>;
  /** Changes servers in the configuration file. If undefined, the console cannot change them. */
  readonly editor?: ServerEditor;
  /** Shows the one user of this machine the page of a sign-in, or prints its address. @returns whether a browser was opened. */
  readonly showPage?: (server: ServerName, address: string) => boolean;
  /** Undefined in a gateway of one process, and over NATS. */
  readonly member?: Membership | undefined;
  /** Versions of the configuration and whether they were applied. If undefined, no operator sees them. */
  readonly history?: ConfigHistory;
}

export interface Gateway {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
  readonly faults: Faults;
  /** Undefined where no audit is configured. */
  readonly audit: Audit | undefined;
  /** `http://host:port/mcp`; undefined for a role without an edge. */
  readonly endpoint: string | undefined;
  /** `host:port`; undefined when not serving. */
  readonly adminAddress: string | undefined;
  /** `http://host:port/`, or with https where the admin port speaks TLS; undefined when not serving, and where the console is off. */
  readonly consoleUrl: string | undefined;
  /** State and lists of the servers that this process connects to, for the user of this machine: a problem has the reason that a program wrote on stderr. */
  records(): readonly CatalogRecord[];
  /** The servers that this process connects to; undefined in one without the role backend. */
  readonly servers: ServersHere | undefined;
  /** Resolves when every server is up or has failed its first attempt. */
  settled(): Promise<void>;
  /** Sends the one user of this machine to the pages of servers that want them to sign in, one after the other. Never rejects. */
  invite(): Promise<void>;
  /** Applies a configuration. @throws {Error} in words for the operator, if a part rejects it. */
  apply(config: Config): Promise<void>;
  stop(): Promise<void>;
}

/** Starts all parts of the role. @throws {Error} in words for the operator, after stopping the parts that had started. */
export type StartGateway = (options: GatewayOptions) => Promise<Gateway>;

/** Options of a command that starts a gateway. */
export interface Starting {
  readonly start: StartGateway;
}
