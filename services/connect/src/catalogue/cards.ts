/**
 * Server cards, and the catalogue that leads to them (SEP-2127, MCP Server Cards, and its discovery document): what a client needs to connect to an endpoint,
 * before it connects. A card names no tools: these are in the lists of the endpoint.
 */
import { legacyRevisions, modernRevisions, type JsonObject } from '@omnibus/protocol';
import type { Found } from './entries.ts';

export const cardType = 'application/mcp-server-card+json';
const schema = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json';
const supportedProtocolVersions = [...legacyRevisions, ...modernRevisions];

/** `GET /.well-known/mcp/catalog.json`. @param base at which clients reach the gateway. */
export function catalogOf(all: readonly Found[], base: string): JsonObject {
  const { hostname } = new URL(base);
  return {
    specVersion: 'draft',
    entries: all.map(({ endpoint, url }) => ({
      identifier: `urn:air:${hostname.replaceAll(/[[\]:]/g, '-')}:${endpoint}`,
      displayName: endpoint,
      type: cardType,
      url: `${url}/server-card`,
    })),
  };
}

/** `GET` of an endpoint's address with `/server-card`. @returns undefined for an endpoint that the caller may not use. */
export function cardOf(all: readonly Found[], wanted: string | undefined): JsonObject | undefined {
  const found = all.find(({ endpoint }) => endpoint === wanted);
  if (found === undefined) return undefined;
  const { remotes, ...server } = found.server;
  return {
    ...server,
    $schema: schema,
    remotes: (remotes as readonly JsonObject[]).map((remote) => ({ ...remote, supportedProtocolVersions })),
  };
}
