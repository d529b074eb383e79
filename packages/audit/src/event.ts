/** Audit events, which the parts of the gateway report. Reporting one costs them an object: texts, digests and the chain follow later (`trail.ts`). */
import type { EndpointName, JsonObject, JsonRpcId, Principal, ServerName, SessionKey } from '@omnibus/protocol';

/**
 * `started`: the request is about to be sent (strict only). `fault`: the gateway has failed, or the server has answered with an error. `denied`: no server
 * got the request, because it is not permitted or names something unknown. `unknown`: its execution is uncertain.
 */
export type Outcome = 'started' | 'ok' | 'tool_error' | 'fault' | 'denied' | 'cancelled' | 'unknown';

/** The class of an event, by which `audit.calls` decides whether it is recorded. */
export type Weight = 'read' | 'write' | 'refusal' | 'always';

/** A subject with its issuer. */
export interface Named {
  readonly issuer: string;
  readonly subject: string;
}

export interface Who {
  readonly principal?: Principal | undefined;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly tenant?: string | undefined;
  /** Agents that act for the subject; the one that sent the request comes first. */
  readonly actors?: readonly Named[] | undefined;
  /** The client that the token was issued to. */
  readonly client?: string | undefined;
  /** The id of the API key, which gives no access. */
  readonly key?: string | undefined;
  readonly address?: string | undefined;
}

export interface AuditEvent {
  readonly name:
    | `mcp.${'call' | 'list' | 'read' | 'refused' | 'question'}`
    | `audit.${string}`
    | `auth.${string}`
    | `consent.${string}`
    | `admin.${string}`
    | `config.${string}`
    | `policy.${string}`
    | `definition.${string}`
    | `approval.${string}`
    | `flow.${string}`
    | `scim.${string}`;
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
  /** The name that the client uses. */
  readonly publicName?: string | undefined;
  readonly uri?: string | undefined;
  /** Arguments as sent to the server. They are recorded as a digest, and in parts where a rule says so. */
  readonly args?: unknown;
  /** The server's answer, of which parts are recorded where a rule says so. */
  readonly result?: JsonObject | undefined;
  readonly outcome?: Outcome | undefined;
  /** A reason of the table of errors, or another word of a closed set. */
  readonly reason?: string | undefined;
  /** The code of a server's own error. */
  readonly code?: number | undefined;
  readonly rule?: string | undefined;
  readonly policy?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly responseBytes?: number | undefined;
  /** Further members for this kind of event, recorded under `omnibus.`. */
  readonly more?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>> | undefined;
}

/** The interface of the audit for the rest of the gateway; undefined where nothing is recorded. */
export interface Audit {
  /** Whether requests that are not read-only are sent only after their record is stored. */
  readonly isStrict: boolean;
  /** Whether parts of results are recorded, so that others need not be stored for it. */
  readonly wantsResults: boolean;
  /** Whether events of a class are recorded, so that others are not created. */
  wants(weight: Weight): boolean;
  /** Records an event. Never throws, and never waits. */
  record(event: AuditEvent): void;
  /** Records an event, and waits until every required sink has stored it. @returns false when that is not possible. */
  confirm(event: AuditEvent): Promise<boolean>;
}
