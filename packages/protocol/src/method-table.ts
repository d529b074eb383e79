/**
 * All methods of requests, of every revision (schemas 2024-11-05 to 2026-07-28) and of the supported extensions: the only list of methods. Each
 * property of a method is a column; the sets and types below are derived from it.
 */

interface AnyRow {
  /** The sender: a client, or a server that asks its client something. */
  readonly by: 'client' | 'server';
  /** `legacy`: the revisions with sessions, 2024-11-05 to 2025-11-25; `modern`: 2026-07-28. */
  readonly eras: readonly ('legacy' | 'modern')[];
  /** Set if executing it twice has no further effect, so that it can be sent again after a loss. */
  readonly isRepeatable?: true;
  /** The parameter that names its target; it must be a string. */
  readonly names?: 'name' | 'uri' | 'taskId';
  /** Kind of its target; methods with the same kind are routed in the same way. */
  readonly about?: 'resource' | 'task';
  /** Set if the header `Mcp-Name` repeats that parameter (2026-07-28 basic/transports, Standard Request Headers). */
  readonly isNamedInHeader?: true;
  /** Set if the server can ask the client before the answer (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
  readonly mayAsk?: true;
  /** Set if it returns no contents of its prompt or resource, so that rules which ask (`access`) let it pass; clients send it with each key, or unprompted. */
  readonly needsNoApproval?: true;
  /** The capability that the receiver needs, a server or a client; for an extension, its name. */
  readonly needs?:
    | 'prompts'
    | 'resources'
    | 'resources.subscribe'
    | 'completions'
    | 'logging'
    | 'sampling'
    | 'elicitation'
    | 'roots'
    | 'io.modelcontextprotocol/skills';
}

/** A method that is forwarded to one server. The gateway answers all others itself. */
interface CarriedRow extends AnyRow {
  readonly isCarried: true;
  /**
   * What access rules decide about: the tool, prompt or resource that it names, the one that `ref` names (`reference`), or only whether the caller
   * sees the server (`server`), where the request concerns the caller's own things, such as tasks.
   */
  readonly asksFor: 'tool' | 'prompt' | 'resource' | 'reference' | 'server';
}

type MethodRow = CarriedRow | (AnyRow & { readonly isCarried?: undefined; readonly asksFor?: undefined });

const both = ['legacy', 'modern'] as const;
const legacy = ['legacy'] as const;
const modern = ['modern'] as const;
const skills = 'io.modelcontextprotocol/skills';

export const methodTable = {
  initialize: { by: 'client', eras: legacy },
  ping: { by: 'client', eras: legacy, isRepeatable: true },
  'server/discover': { by: 'client', eras: modern, isRepeatable: true },
  'subscriptions/listen': { by: 'client', eras: modern, isRepeatable: true },
  'tools/list': { by: 'client', eras: both, isRepeatable: true },
  'tools/call': {
    by: 'client',
    eras: both,
    isCarried: true,
    asksFor: 'tool',
    names: 'name',
    isNamedInHeader: true,
    mayAsk: true,
  },
  'prompts/list': { by: 'client', eras: both, isRepeatable: true, needs: 'prompts' },
  'prompts/get': {
    by: 'client',
    eras: both,
    isCarried: true,
    asksFor: 'prompt',
    isRepeatable: true,
    names: 'name',
    isNamedInHeader: true,
    mayAsk: true,
    needs: 'prompts',
  },
  'resources/list': { by: 'client', eras: both, isRepeatable: true, needs: 'resources' },
  'resources/templates/list': { by: 'client', eras: both, isRepeatable: true, needs: 'resources' },
  'resources/read': {
    by: 'client',
    eras: both,
    isCarried: true,
    asksFor: 'resource',
    isRepeatable: true,
    names: 'uri',
    about: 'resource',
    isNamedInHeader: true,
    mayAsk: true,
    needs: 'resources',
  },
  'resources/subscribe': {
    by: 'client',
    eras: legacy,
    isCarried: true,
    asksFor: 'resource',
    isRepeatable: true,
    names: 'uri',
    about: 'resource',
    needs: 'resources.subscribe',
    needsNoApproval: true,
  },
  'resources/unsubscribe': {
    by: 'client',
    eras: legacy,
    isCarried: true,
    asksFor: 'resource',
    isRepeatable: true,
    names: 'uri',
    about: 'resource',
    needs: 'resources.subscribe',
    needsNoApproval: true,
  },
  'completion/complete': {
    by: 'client',
    eras: both,
    isCarried: true,
    asksFor: 'reference',
    isRepeatable: true,
    needs: 'completions',
    needsNoApproval: true,
  },
  'logging/setLevel': {
    by: 'client',
    eras: legacy,
    isCarried: true,
    asksFor: 'server',
    isRepeatable: true,
    needs: 'logging',
  },
  // 2025-11-25 basic/utilities/tasks; the extension of tasks has no result and no list of them.
  'tasks/get': {
    by: 'client',
    eras: both,
    isCarried: true,
    asksFor: 'server',
    isRepeatable: true,
    names: 'taskId',
    isNamedInHeader: true,
    about: 'task',
  },
  'tasks/result': {
    by: 'client',
    eras: legacy,
    isCarried: true,
    asksFor: 'server',
    isRepeatable: true,
    names: 'taskId',
    about: 'task',
  },
  'tasks/list': { by: 'client', eras: legacy, isCarried: true, asksFor: 'server', isRepeatable: true, about: 'task' },
  'tasks/cancel': {
    by: 'client',
    eras: both,
    isCarried: true,
    asksFor: 'server',
    names: 'taskId',
    isNamedInHeader: true,
    about: 'task',
  },
  'tasks/update': {
    by: 'client',
    eras: modern,
    isCarried: true,
    asksFor: 'server',
    names: 'taskId',
    isNamedInHeader: true,
    about: 'task',
  },
  'skills/list': { by: 'client', eras: modern, isCarried: true, asksFor: 'server', isRepeatable: true, needs: skills },
  'skills/get': {
    by: 'client',
    eras: modern,
    isCarried: true,
    asksFor: 'resource',
    isRepeatable: true,
    names: 'uri',
    needs: skills,
  },
  'resources/directory/read': {
    by: 'client',
    eras: modern,
    isCarried: true,
    asksFor: 'resource',
    isRepeatable: true,
    names: 'uri',
    needs: skills,
  },
  'sampling/createMessage': { by: 'server', eras: both, needs: 'sampling' },
  'elicitation/create': { by: 'server', eras: both, needs: 'elicitation' },
  'roots/list': { by: 'server', eras: both, needs: 'roots' },
} as const satisfies Readonly<Record<string, MethodRow>>;

type Table = typeof methodTable;
type Named = keyof Table;
type Where<Row> = { [Method in Named]: Table[Method] extends Row ? Method : never }[Named];

/** Methods that a server may ask a client. */
export type InputMethod = Where<{ readonly by: 'server' }>;
/** Methods that are forwarded to one server. */
export type CarriedMethod = Where<{ readonly isCarried: true }>;

/** Methods of the tasks of 2025-11-25 (basic/utilities/tasks), and of those of the extension `io.modelcontextprotocol/tasks`. */
export type SessionTaskMethod = Where<{ readonly about: 'task'; readonly eras: typeof both | typeof legacy }>;
export type ExtensionTaskMethod = Where<{ readonly about: 'task'; readonly eras: typeof both | typeof modern }>;

const rows = new Map<string, MethodRow>(Object.entries(methodTable));
const methodsWhere = (fits: (row: MethodRow) => boolean): ReadonlySet<string> =>
  new Set([...rows].filter(([, row]) => fits(row)).map(([method]) => method));

/** @returns undefined for a method that no revision defines. */
export function methodRow(method: string): MethodRow | undefined {
  return rows.get(method);
}

/** Methods of requests. A message with such a method and without an id is refused instead of being taken for a notification, since its sender waits for an answer. */
export const requestMethods = methodsWhere(() => true);
/** Methods of clients of any revision. */
export const clientMethods = methodsWhere(({ by }) => by === 'client');
/** Methods of clients of 2026-07-28 and of the supported extensions; all others are unknown (transports, HTTP status codes). */
export const modernMethods = methodsWhere(({ by, eras }) => by === 'client' && eras.includes('modern'));
/** Methods that can be sent again after a loss, since executing them twice has no further effect. */
export const repeatableMethods = methodsWhere(({ isRepeatable }) => isRepeatable === true);
/** Methods that rules which ask let pass without an approval. */
export const unapprovedMethods = methodsWhere(({ needsNoApproval }) => needsNoApproval === true);
/** Methods of 2026-07-28 during which the server can ask the client. */
export const roundMethods = methodsWhere(({ mayAsk }) => mayAsk === true);

/** The client capability that each question needs. */
export const inputCapabilities = {
  'sampling/createMessage': methodTable['sampling/createMessage'].needs,
  'elicitation/create': methodTable['elicitation/create'].needs,
  'roots/list': methodTable['roots/list'].needs,
} as const;

export function isInputMethod(method: unknown): method is InputMethod {
  return typeof method === 'string' && rows.get(method)?.by === 'server';
}

export function isSessionTaskMethod(method: string): method is SessionTaskMethod {
  const row = rows.get(method);
  return row?.about === 'task' && row.eras.includes('legacy');
}

export function isExtensionTaskMethod(method: string): method is ExtensionTaskMethod {
  const row = rows.get(method);
  return row?.about === 'task' && row.eras.includes('modern');
}
