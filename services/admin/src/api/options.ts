/** The parts of its process that the API shows and changes. Each handler names the members that it uses. */
import type { IncomingMessage } from 'node:http';
import type { Audit } from '@omnibus/audit';
import type { AuthorizationServer } from '@omnibus/authorization';
import type { Backend } from '@omnibus/backend';
import type { Blocks, Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { VaultOperations } from '@omnibus/credentials';
import type { Edge } from '@omnibus/edge';
import type { Authenticator, SealingKeys } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { WorkerId } from '@omnibus/protocol';
import type { SessionWorker } from '@omnibus/session';
import type { Failures, Faults, Logger, Metrics } from '@omnibus/telemetry';
import type { AdminAccess } from '../access.ts';
import type { ActDetails } from '../act-records.ts';
import type { RuleCompiler } from '../policy/decisions.ts';
import type { Recovery } from '../recovery.ts';
import type { ServerEditor } from '../server-editor.ts';
import type { ProcessStatus } from '../status.ts';
import type { ConfigHistory } from './config-history.ts';
import type { TapDesk } from './tap-desk.ts';

/** The result of reading the configuration again. */
export interface Reloaded {
  /** Why the previous configuration stays in use; empty if the new one is in use. */
  readonly problems: readonly string[];
  /** Options that take effect with the next start, of those that differ from the start. */
  readonly later: readonly string[];
}

/** State that all processes share on the bus. */
export interface Kept {
  readonly bus: Bus;
  readonly blocks: Blocks;
}

/** Writes an act of an administrator into the audit. */
type Note = (request: IncomingMessage, act: string, details: ActDetails) => void;

export interface ApiOptions {
  readonly process: WorkerId;
  readonly status: () => ProcessStatus;
  /** The configuration in force. */
  readonly config: () => Config;
  /** Folder that relative paths of the configuration are resolved against. */
  readonly baseFolder: string;
  readonly history: ConfigHistory;
  readonly rules: RuleCompiler;
  readonly reload: () => Promise<Reloaded>;
  /** Undefined in a process that follows no configuration file. */
  readonly editor: ServerEditor | undefined;
  readonly access: AdminAccess;
  /** Undefined in a process without a sealing key. */
  readonly recovery: Recovery | undefined;
  readonly sealingKeys: SealingKeys | undefined;
  /** @returns undefined while the process is starting, and if callers are not authenticated. */
  readonly authenticator: () => Pick<Authenticator, 'keyUses'> | undefined;
  /** @returns undefined in a process without the gateway's own authorization server, and while it starts. */
  readonly authorization: () =>
    | Pick<AuthorizationServer, 'signingKeys' | 'rotateKeys' | 'programsOf' | 'revokeProgram'>
    | undefined;
  /** @returns the id of the user of this issuer's file, undefined if the file has no such user. */
  readonly userId: (issuer: string, subject: string) => string | undefined;
  /** @returns undefined if the process has no sessions, or is starting. */
  readonly sessions: () => SessionWorker['desk'] | undefined;
  /** @returns undefined if the process connects to no servers, or is starting. */
  readonly backend: () => Backend | undefined;
  /** @returns undefined in a process without one, and while it starts. */
  readonly edge: () => Pick<Edge, 'worker' | 'sessionWorkers' | 'connectGuest'> | undefined;
  /** @returns undefined in a process that serves no clients. */
  readonly edgeBus: () => Bus | undefined;
  /** @returns undefined while the process is starting. */
  readonly kept: () => Kept | undefined;
  /** @returns undefined in a process that has not opened one. */
  readonly vaults: () => VaultOperations | undefined;
  /** @returns undefined without an audit, and while the process is starting. */
  readonly audit: () => Audit | undefined;
  readonly tapDesk: TapDesk;
  readonly failures: Failures;
  readonly wheel: DeadlineWheel;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly faults: Pick<Faults, 'fromOutside'>;
  readonly onFault: (what: string, error: unknown) => void;
  /** Records a change in the audit, and logs it. */
  readonly note: Note;
  /** Records a refused change in the audit. */
  readonly denied: Note;
}
