/** Options of a server that is an HTTP API with an OpenAPI document. */
import { z } from 'zod';
import { nonEmpty, onByDefault, textMap } from './plain-options.ts';

const glob = nonEmpty;

const options = z.strictObject({
  document: nonEmpty.describe(
    'The document: a file, from the folder of the configuration file, or an http:// or https:// address; JSON or YAML; OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0. The gateway follows changes of a file at once, and of an address when it reads the lists of the server again (`rereadLists`).',
  ),
  operations: z
    .array(glob)
    .optional()
    .describe(
      'The operations that become tools: globs over names of tools, `operationId` and `METHOD /path`, for example "GET /repos/*". A glob with "!" in front excludes its matches. Default: all.',
    ),
  tags: z.array(nonEmpty).optional().describe('Only operations with one of these tags. Default: all.'),
  security: textMap.describe(
    'Secrets by the names of the security schemes of the document: the value of an API key, a bearer token, or `user:password` for basic authentication. The gateway sends each where its scheme says. Secret.',
  ),
  outputSchemas: onByDefault.describe(
    'Whether tools have output schemas, from the successful answers of their operations.',
  ),
});

/** A text is the document alone. */
export const openapiSchema = z.union([nonEmpty.transform((document) => options.parse({ document })), options]);

export type OpenApiConfig = z.output<typeof options>;

export function isDocumentAddress(document: string): boolean {
  return /^https?:\/\//i.test(document);
}

interface Entry {
  readonly openapi?: OpenApiConfig | undefined;
  readonly command?: string | undefined;
  readonly url?: string | undefined;
  readonly type?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Mistakes that show where several options of one server are looked at together. */
export function* openapiMistakes(entry: Entry): Iterable<readonly [path: readonly string[], message: string]> {
  const { openapi, command, url, type, headers } = entry;
  if (openapi === undefined) return;
  if (command !== undefined)
    yield [['command'], 'a server with "openapi" is an API that runs already: leave out "command", or "openapi"'];
  if (type !== undefined)
    yield [['type'], 'type is the transport of an MCP server, and "openapi" describes an HTTP API: leave out "type"'];
  if (url !== undefined && /^wss?:/.test(url)) yield [['url'], 'the address of an API begins with http:// or https://'];
  const { document, security } = openapi;
  const hasSecrets = Object.keys(headers).length > 0 || Object.keys(security).length > 0;
  if (url === undefined && hasSecrets && isDocumentAddress(document))
    yield [
      [],
      'set "url" to the address of the API: a document from an address must not decide where "headers" and "security" are sent',
    ];
}
