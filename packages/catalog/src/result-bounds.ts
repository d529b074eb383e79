/** Bounds on the results of tools at an endpoint, and the tool by which a model reads a stored result. */
import { compileGlob, type JsonObject, type ServerName } from '@omnibus/protocol';

type Bounds = readonly (readonly [glob: string, maxTokens: number | undefined])[];

export interface ResultBounds {
  /** Most tokens of a result; undefined if only `tools` and `clients` have bounds. */
  readonly maxTokens: number | undefined;
  /** Bounds that replace `maxTokens`, by globs over `server/tool`; the first that fits counts. Undefined: no bound. */
  readonly tools: Bounds;
  /** Bounds by globs over the name that a client gives itself. */
  readonly clients: Bounds;
  /** Whether `structuredContent` and output schemas stay as they are. */
  readonly keepsStructured: boolean;
  readonly keepMs: number;
  /** Of the stored results of one caller. */
  readonly maxBytes: number;
  readonly maxResults: number;
}

/** Compiled globs, by their bounds. */
const compiled = new WeakMap<Bounds, readonly (readonly [(text: string) => boolean, number | undefined])[]>();

function first(bounds: Bounds, text: string): { readonly maxTokens: number | undefined } | undefined {
  let tests = compiled.get(bounds);
  if (tests === undefined) {
    tests = bounds.map(([glob, maxTokens]) => [compileGlob(glob), maxTokens]);
    compiled.set(bounds, tests);
  }
  const found = tests.find(([fits]) => fits(text));
  return found === undefined ? undefined : { maxTokens: found[1] };
}

/** Most tokens of a result of a tool, whatever the client. @param original the server's own name of the tool. */
function boundOfTool(bounds: ResultBounds, server: ServerName, original: string): number | undefined {
  const own = bounds.tools.length === 0 ? undefined : first(bounds.tools, `${server}/${original}`);
  return own === undefined ? bounds.maxTokens : own.maxTokens;
}

/** Most tokens of a result of a tool for a client. @param client the name that it gives itself. */
export function resultBound(
  bounds: ResultBounds,
  server: ServerName,
  original: string,
  client: string | undefined,
): number | undefined {
  const ofTool = boundOfTool(bounds, server, original);
  const ofClient = client === undefined ? undefined : first(bounds.clients, client)?.maxTokens;
  return ofTool === undefined || ofClient === undefined ? (ofTool ?? ofClient) : Math.min(ofTool, ofClient);
}

/** Whether a tool is listed without its output schema, since its results may come without structured content. */
export function hidesOutputSchema(bounds: ResultBounds, server: ServerName, original: string): boolean {
  return !bounds.keepsStructured && (bounds.clients.length > 0 || boundOfTool(bounds, server, original) !== undefined);
}

/** The beginning of the URIs of stored results. */
export const resultScheme = 'omnibus://result/';

/** The tool by which a model reads a stored result, for clients that read no resources. */
export const resultReader = {
  name: 'read_result',
  entry: {
    name: 'read_result',
    description: 'Read more of a long result that was stored. Give its uri and one of bytes, lines, path, search.',
    inputSchema: {
      type: 'object',
      properties: {
        uri: { type: 'string' },
        bytes: { type: 'string', description: '0-3999' },
        lines: { type: 'string', description: '1-100' },
        path: { type: 'string', description: 'JSON pointer' },
        search: { type: 'string' },
        part: { type: 'integer' },
      },
      required: ['uri'],
    },
    annotations: { readOnlyHint: true },
    _meta: { 'anthropic/alwaysLoad': true },
  } satisfies JsonObject,
} as const;
