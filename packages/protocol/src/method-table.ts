/**
 * Every method that a request can have, of all revisions (schemas 2024-11-05 to 2026-07-28) and of the extensions that are carried: the only
 * list of methods. What is to be known of a method is a column; whoever asks has a set or a type that is made of it below.
 */

interface AnyRow {
  /** Who sends it: a client, or a server that wants something of a client. */
  readonly by: 'client' | 'server';
  /** `legacy`: the revisions with sessions, 2024-11-05 to 2025-11-25; `modern`: 2026-07-28. */
  readonly eras: readonly ('legacy' | 'modern')[];
  /** It can be asked a second time without doing more than once would have, whoever lost the first answer. */
  readonly isRepeatable?: true;
  /** The parameter that says what it is about, which has to be a string. */
  readonly names?: 'name' | 'uri' | 'taskId';
  /** What it is served by: methods about one thing take the same way. */
  readonly about?: 'resource' | 'task';
  /** `Mcp-Name` repeats that parameter (2026-07-28 basic/transports, Standard Request Headers). */
  readonly isNamedInHeader?: true;
  /** The client can be asked something while it is answered (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
  readonly mayAsk?: true;
  /** What a server has to have for it, or a client whom a server asks; for extensions their name. */
  readonly needs?: 'prompts' | 'resources' | 'resources.subscribe' | 'completions' | 'logging' | 'sampling' | 'elicitation' | 'roots' | 'io.modelcontextprotocol/skills';
}

/** It is carried to one upstream server. What is not, the gateway answers itself. */
interface CarriedRow extends AnyRow {
  readonly isCarried: true;
  /**
   * What rules are asked for it (`access`): the tool, prompt or resource it is about, the one that `ref` names (`reference`), or only whether the
   * caller sees its server (`server`), since what is told there is his own.
   */
  readonly asksFor: 'tool' | 'prompt' | 'resource' | 'reference' | 'server';
}

type MethodRow = CarriedRow | (AnyRow & { readonly isCarried?: undefined; readonly asksFor?: undefined });

const both = ['legacy', 'modern'] as const;
const legacy = ['legacy'] as const;
const modern = ['modern'] as const;
const skills = 'io.modelcontextprotocol/skills';

export const methodTable = {
  'initialize': { by: 'client', eras: legacy },
  'ping': { by: 'client', eras: legacy, isRepeatable: true },
  'server/discover': { by: 'client', eras: modern, isRepeatable: true },
  'subscriptions/listen': { by: 'client', eras: modern, isRepeatable: true },
  'tools/list': { by: 'client', eras: both, isRepeatable: true },
  'tools/call': { by: 'client', eras: both, isCarried: true, asksFor: 'tool', names: 'name', isNamedInHeader: true, mayAsk: true },
  'prompts/list': { by: 'client', eras: both, isRepeatable: true, needs: 'prompts' },
  'prompts/get': { by: 'client', eras: both, isCarried: true, asksFor: 'prompt', isRepeatable: true, names: 'name', isNamedInHeader: true, mayAsk: true, needs: 'prompts' },
  'resources/list': { by: 'client', eras: both, isRepeatable: true, needs: 'resources' },
  'resources/templates/list': { by: 'client', eras: both, isRepeatable: true, needs: 'resources' },
  'resources/read': { by: 'client', eras: both, isCarried: true, asksFor: 'resource', isRepeatable: true, names: 'uri', about: 'resource', isNamedInHeader: true, mayAsk: true, needs: 'resources' },
  'resources/subscribe': { by: 'client', eras: legacy, isCarried: true, asksFor: 'resource', isRepeatable: true, names: 'uri', about: 'resource', needs: 'resources.subscribe' },
  'resources/unsubscribe': { by: 'client', eras: legacy, isCarried: true, asksFor: 'resource', isRepeatable: true, names: 'uri', about: 'resource', needs: 'resources.subscribe' },
  'completion/complete': { by: 'client', eras: both, isCarried: true, asksFor: 'reference', isRepeatable: true, needs: 'completions' },
  'logging/setLevel': { by: 'client', eras: legacy, isCarried: true, asksFor: 'server', isRepeatable: true, needs: 'logging' },
  // 2025-11-25 basic/utilities/tasks; the extension of tasks has no result and no list of them.
  'tasks/get': { by: 'client', eras: both, isCarried: true, asksFor: 'server', isRepeatable: true, names: 'taskId', isNamedInHeader: true, about: 'task' },
  'tasks/result': { by: 'client', eras: legacy, isCarried: true, asksFor: 'server', isRepeatable: true, names: 'taskId', about: 'task' },
  'tasks/list': { by: 'client', eras: legacy, isCarried: true, asksFor: 'server', isRepeatable: true, about: 'task' },
  'tasks/cancel': { by: 'client', eras: both, isCarried: true, asksFor: 'server', names: 'taskId', isNamedInHeader: true, about: 'task' },
  'tasks/update': { by: 'client', eras: modern, isCarried: true, asksFor: 'server', names: 'taskId', isNamedInHeader: true, about: 'task' },
  'skills/list': { by: 'client', eras: modern, isCarried: true, asksFor: 'server', isRepeatable: true, needs: skills },
  'skills/get': { by: 'client', eras: modern, isCarried: true, asksFor: 'resource', isRepeatable: true, names: 'uri', needs: skills },
  'resources/directory/read': { by: 'client', eras: modern, isCarried: true, asksFor: 'resource', isRepeatable: true, names: 'uri', needs: skills },
  'sampling/createMessage': { by: 'server', eras: both, needs: 'sampling' },
  'elicitation/create': { by: 'server', eras: both, needs: 'elicitation' },
  'roots/list': { by: 'server', eras: both, needs: 'roots' },
} as const satisfies Readonly<Record<string, MethodRow>>;

type Table = typeof methodTable;
type Named = keyof Table;
type Where<Row> = { [Method in Named]: Table[Method] extends Row ? Method : never }[Named];

/** What a server may ask of a client. */
export type InputMethod = Where<{ readonly by: 'server' }>;
/** What is carried to one upstream server. */
export type CarriedMethod = Where<{ readonly isCarried: true }>;

/** Methods of the tasks of 2025-11-25 (basic/utilities/tasks), and of those of the extension `io.modelcontextprotocol/tasks`. */
export type SessionTaskMethod = Where<{ readonly about: 'task'; readonly eras: typeof both | typeof legacy }>;
export type ExtensionTaskMethod = Where<{ readonly about: 'task'; readonly eras: typeof both | typeof modern }>;

const rows = new Map<string, MethodRow>(Object.entries(methodTable));
const methodsWhere = (fits: (row: MethodRow) => boolean): ReadonlySet<string> => new Set([...rows].filter(([, row]) => fits(row)).map(([method]) => method));

/** @returns undefined for a method that no revision knows. */
export function methodRow(method: string): MethodRow | undefined {
  return rows.get(method);
}

/** Methods that only requests have. Whoever sends one without an id waits for an answer all the same, and is told so instead of being taken for a notification. */
export const requestMethods = methodsWhere(() => true);
/** Methods of clients of any revision. */
export const clientMethods = methodsWhere(({ by }) => by === 'client');
/** Methods of clients of 2026-07-28 and of the extensions that are carried; all others are unknown (transports, HTTP status codes). */
export const modernMethods = methodsWhere(({ by, eras }) => by === 'client' && eras.includes('modern'));
/** What can be asked a second time without doing more than once would have, whoever lost the first answer. */
export const repeatableMethods = methodsWhere(({ isRepeatable }) => isRepeatable === true);
/** Requests of 2026-07-28 that their client can be asked something for. */
export const roundMethods = methodsWhere(({ mayAsk }) => mayAsk === true);

/** The client capability each question needs. */
export const inputCapabilities = { 'sampling/createMessage': methodTable['sampling/createMessage'].needs, 'elicitation/create': methodTable['elicitation/create'].needs, 'roots/list': methodTable['roots/list'].needs } as const;

export function isInputMethod(method: unknown): method is InputMethod {
  return typeof method === 'string' && rows.get(method)?.by === 'server';
}

/** Whether it is carried to one upstream server as it is, in any revision. */
export function isCarriedMethod(method: string): method is CarriedMethod {
  return rows.get(method)?.isCarried === true;
}

export function isSessionTaskMethod(method: string): method is SessionTaskMethod {
  const row = rows.get(method);
  return row?.about === 'task' && row.eras.includes('legacy');
}

export function isExtensionTaskMethod(method: string): method is ExtensionTaskMethod {
  const row = rows.get(method);
  return row?.about === 'task' && row.eras.includes('modern');
}
