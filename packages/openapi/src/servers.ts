/** The address of an API, from `servers` of its document (OpenAPI 3.1, 4.8.5; Swagger 2.0: `host`, `basePath`, `schemes`). */
import { isObject, printable } from '@omnibus/protocol';
import type { OpenApiDocument } from './document.ts';
import { DocumentProblem } from './problem.ts';
import { modernServers } from './swagger.ts';

/**
 * @param from the address of the document, to which relative addresses belong; undefined for a file.
 * @throws {DocumentProblem} if the document names no usable address.
 */
export function apiAddress(document: OpenApiDocument, from: string | undefined): URL {
  const { root, version } = document;
  const servers: unknown = version === '2.0' ? modernServers(document) : root['servers'];
  const first: unknown = Array.isArray(servers) ? servers[0] : { url: '/' };
  const written = isObject(first) && typeof first['url'] === 'string' ? first['url'] : '/';
  const variables = isObject(first) && isObject(first['variables']) ? first['variables'] : {};
  const url = written.replaceAll(/\{([^{}]+)\}/g, (_whole, name: string) => {
    const variable = variables[name];
    return isObject(variable) && typeof variable['default'] === 'string' ? variable['default'] : '';
  });
  const shown = JSON.stringify(printable(written, 200));
  if (!URL.canParse(url, from))
    throw new DocumentProblem('servers', `${shown} is no whole address: set \`url\` of this server to that of the API`);
  const found = new URL(url, from);
  if (found.protocol !== 'https:' && found.protocol !== 'http:')
    throw new DocumentProblem('servers', `${shown} is no http:// or https:// address`);
  return found;
}
