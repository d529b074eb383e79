/** The resources of the authorization server's pages. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type Provider from 'oidc-provider';
import type { FurtherScope } from './further-scope.ts';
import type { People, Person } from './people.ts';
import type { Secrets } from './secrets.ts';
import type { SignInRecords } from './sign-in-records.ts';
import type { Workloads } from './agents/workloads.ts';
import type { Delegations } from './exchange/delegations.ts';
import type { Upstream } from './upstream.ts';
import type { Users } from './users.ts';

export interface SiteOptions {
  readonly publicUrl: string;
  readonly scopes: readonly string[];
  readonly moreScopes: readonly FurtherScope[];
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly records: SignInRecords;
  readonly secrets: Secrets;
  readonly people: People;
  readonly upstream: Upstream | undefined;
  /** Undefined where no workload gets tokens. */
  readonly workloads: Workloads | undefined;
  /** Undefined where no agent can act for a user. */
  readonly delegations: Delegations | undefined;
  readonly users: () => Users | undefined;
  /** The signed-in user, if the user still exists, with current data of the provider. */
  readonly personOf: (subject: string, signedInAt: number | undefined) => Promise<Person | undefined>;
  /** The current provider; it is replaced when keys change. */
  readonly provider: () => Provider;
  readonly serversAt: (resource: string, tenant: string | undefined) => readonly string[] | undefined;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The address under which the client is counted. */
  readonly address: string;
}

/** A request to one of the server's addresses. */
export interface Visit extends Exchange {
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  /** Serves the address as the protocol says. */
  readonly library: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}
/** @throws {Unwanted} */
export type Step = (visit: Visit) => Promise<void>;

export type SessionContext = Parameters<Provider['Session']['get']>[0];
