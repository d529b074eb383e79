import type { CatalogRecord, ServerName } from '@omnibus/protocol';

/** Characters of all servers together; each has the same share. */
const maxLength = 16 * 1024;

/**
 * The instructions of servers, each under its name, and the unavailable servers.
 * @param servers of the endpoint, in its order.
 */
export function instructionsOf(
  servers: readonly ServerName[],
  recordOf: (server: ServerName) => CatalogRecord | undefined,
): string | undefined {
  const parts = servers.flatMap((server) => {
    const {
      status,
      instructions,
      problem = 'it is not connected',
    } = recordOf(server) ?? { problem: 'it has not been reached yet' };
    if (status !== 'up') return [`# ${server}\n\nThis server is not available now: ${problem}`];
    if (instructions === undefined || instructions === '') return [];
    return [servers.length > 1 ? `# ${server}\n\n${instructions}` : instructions];
  });
  const share = Math.floor(maxLength / parts.length);
  return parts.length === 0 ? undefined : parts.map((part) => part.slice(0, share)).join('\n\n');
}
