/** The plan of a request: its destination and form. */
import type { GatewayFault, JsonObject, ServerName } from '@omnibus/protocol';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { Topic } from './exchange-request.ts';
import type { Decided } from './permission.ts';

/** The server that a request goes to, and its parameters there. */
export interface Destination {
  readonly server: ServerName;
  /** Names, URIs and task ids are the server's own. */
  readonly params: JsonObject;
  readonly subject: Topic;
  /** The server's own name of the tool. */
  readonly tool?: string;
  /** The public name of the tool, where the client called it by the server's own name. */
  readonly publicName?: string;
  /** Whether a page shows results of the tool. */
  readonly hasPage?: boolean;
  /** Whether the server declares that a second call has no further effect. */
  readonly isRepeatable?: boolean;
  /** Whether the list shows the tool's output wrapped in an object to clients of older revisions. */
  readonly wrapsOutput?: boolean;
  /** The task that the request is about. */
  readonly task?: TaskAddress;
  /** The result for a server that does not know the method. */
  readonly orElse?: JsonObject;
}

/** A URI that no list, template or link names, and the servers to ask for it, one after the other. */
export interface Search {
  readonly servers: readonly ServerName[];
  readonly uri: string;
  readonly params: JsonObject;
  /** By server, the decision with a screen that redacts or guards its messages; left out if there is none. */
  readonly screened?: ReadonlyMap<ServerName, Decided>;
  /** The server of which the URI is read only after an approval. */
  readonly asking?: ServerName;
}

/** Servers with lists that are read one after the other, as pages of one list. */
export interface Lists {
  readonly servers: readonly ServerName[];
  /** The member of the result that has the entries. */
  readonly entries: string;
  readonly params: JsonObject;
}

/**
 * `send`: to one server. `start-task`: the same, and progress of the task is passed to the client after its call was answered with the task. `await-task`:
 * the tool runs as a task only, and the client does not support tasks; the gateway waits for the result in its place.
 */
export type Plan = (
  | (Destination & { readonly kind: 'send' | 'start-task' | 'await-task' })
  | (Search & { readonly kind: 'search' })
  | (Lists & { readonly kind: 'list' })
  | { readonly kind: 'refuse'; readonly fault: GatewayFault }
) &
  Partial<Decided>;
