/** Public names of tools that change with the number of servers: at `/mcp` they have their server's name before them as soon as there are two. */
import { enabledServers, type Config } from '@omnibus/config';

/**
 * @param before and `after` are configurations, one of which follows the other.
 * @returns what becomes of the names at `/mcp`, in words for a person; undefined where they stay as they are.
 */
export function nameChanges(
  before: Pick<Config, 'prefix' | 'mcpServers'>,
  after: Pick<Config, 'prefix' | 'mcpServers'>,
): string | undefined {
  const [old, now] = [serversOf(before), serversOf(after)];
  const [was, is] = [isPrefixed(before, old), isPrefixed(after, now)];
  const kept = old.find((server) => now.includes(server));
  if (was === is || kept === undefined) return undefined;
  return is
    ? `names change at /mcp: a tool "x" of ${kept} is "${kept}__x" now, since there is more than one server; at /mcp/${kept} it keeps its name, and \`prefix: never\` keeps it at /mcp`
    : `names change at /mcp: a tool "${kept}__x" is "x" now, since ${kept} is the only server; \`prefix: always\` keeps the longer names`;
}

const serversOf = (config: Pick<Config, 'mcpServers'>): readonly string[] => [
  ...enabledServers(config as Config).keys(),
];
const isPrefixed = ({ prefix }: Pick<Config, 'prefix'>, servers: readonly string[]): boolean =>
  prefix === 'always' || (prefix === 'auto' && servers.length > 1);
