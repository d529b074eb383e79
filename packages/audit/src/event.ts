/** What the parts of the gateway say of what has happened. It costs them an object: digests, texts and the chain are made later (`trail.ts`). */
import type { EndpointName, JsonObject, JsonRpcId, Principal, ServerName, SessionKey } from '@omnibus/protocol';

/**
 * `started`: it is about to be sent (strict only). `fault`: the gateway, or its server with an error, did not do it. `denied`: nobody was asked, since it is not
 * permitted or not there. `unknown`: nobody can know whether it was done.
 */
export type Outcome = 'started' | 'ok' | 'tool_error' | 'fault' | 'denied' | 'cancelled' | 'unknown';

/** What an event is counted among: whether it is recorded follows from it (`audit.calls`). */
export type Weight = 'read' | 'write' | 'refusal' | 'always';

/** A name with whoever vouches for it. */
export interface Named {
  readonly issuer: string;
  readonly subject: string;
}

export interface Who {
  readonly principal?: Principal | undefined;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly tenant?: string | undefined;
  /** Who acts for the subject, the one that sent the request first. */
  readonly actors?: readonly Named[] | undefined;
  /** The program that the token was given to. */
  readonly client?: string | undefined;
  /** The id of the API key that was shown; it opens nothing. */
  readonly key?: string | undefined;
  readonly address?: string | undefined;
}

export interface AuditEvent {
  readonly name: `mcp.${'call' | 'list' | 'read' | 'refused' | 'question'}` | `audit.${string}` | `auth.${string}` | `consent.${string}` | `admin.${string}` | `config.${string}` | `policy.${string}` | `trust.${string}` | `approval.${string}`;
  readonly weight: Weight;
  readonly who?: Who | undefined;
  readonly endpoint?: EndpointName | undefined;
  readonly session?: SessionKey | undefined;
  /** A W3C `traceparent`. */
  readonly trace?: string | undefined;
  readonly method?: string | undefined;
  readonly revision?: string | undefined;
  readonly id?: JsonRpcId | undefined;
  readonly server?: ServerName | undefined;
  /** The server's own name of the tool or prompt. */
  readonly target?: string | undefined;
  /** What the client calls it. */
  readonly publicName?: string | undefined;
  readonly uri?: string | undefined;
  /** As they are sent to the server; recorded as a digest, and by rule. */
  readonly args?: unknown;
  /** What the server answered; recorded by rule alone. */
  readonly result?: JsonObject | undefined;
  readonly outcome?: Outcome | undefined;
  /** A reason of the table of errors, or another word of a closed set. */
  readonly reason?: string | undefined;
  /** Of a server's own error. */
  readonly code?: number | undefined;
  readonly rule?: string | undefined;
  readonly policy?: string | undefined;
  /** Milliseconds since 1970; left out: now. */
  readonly at?: number;
  readonly durationMs?: number | undefined;
  readonly responseBytes?: number | undefined;
  /** Members of its own kind, under `omnibus.`. */
  readonly more?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>> | undefined;
}

/** What the rest of the gateway knows of the audit; undefined where there is none. */
export interface Audit {
  /** What is not read-only is not sent before its record is safe. */
  readonly isStrict: boolean;
  /** Whether events of a weight are recorded, so that others need not be made. */
  wants(weight: Weight): boolean;
  /** Never throws, and never waits. */
  record(event: AuditEvent): void;
  /** Records it, and waits until it is safe in every sink that must have it. @returns false when it cannot be. */
  confirm(event: AuditEvent): Promise<boolean>;
}
