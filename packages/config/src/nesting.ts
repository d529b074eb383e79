/** Options that stand at another depth than they belong: one level too deep, too high, or below a name of their own. */
import type { Path } from './problem.ts';
import { shape } from './schema.ts';
import { isMap, type Values } from './values.ts';

/** Names under which people put all options of the file. */
const wrappers = new Set(['omnibus', 'gateway', 'config', 'settings']);
/** Options of a server, by which an option that stands in the place of a server is known. */
const ofServers = new Set(['command', 'args', 'url', 'env', 'headers', 'cwd', 'type', 'timeout']);

const isTop = (name: string): boolean => Object.hasOwn(shape.shape, name);
const isServer = (value: unknown): boolean =>
  isMap(value) && ['command', 'url', 'openapi'].some((option) => Object.hasOwn(value, option));

/** What to do about an unknown option that is known elsewhere; undefined for others. */
export function otherPlace(key: string, found: unknown, path: Path): string | undefined {
  if (path.length === 0 && isMap(found)) {
    if (isServer(found)) return 'a server belongs under mcpServers';
    if (wrappers.has(key) && Object.keys(found).some(isTop))
      return `remove this line, and write its options at the top of the file, without blanks in front: ${named(Object.keys(found).filter(isTop))}`;
  }
  return path[0] === 'mcpServers' && path.length === 2 && isTop(key)
    ? `write \`${key}\` at the top of the file, without blanks in front`
    : undefined;
}

/**
 * Reports entries of `mcpServers` that are no servers, because they stand one level too deep or without the name of a server.
 * @returns the value without them.
 */
export function withoutMisnested(value: unknown, report: (path: Path, message: string) => void): unknown {
  if (!isMap(value) || !isMap(value['mcpServers'])) return value;
  const servers: Values = value['mcpServers'];
  const options = Object.keys(servers).filter((name) => ofServers.has(name) && !isServer(servers[name]));
  const nameless = options.some((name) => name === 'command' || name === 'url') ? options : [];
  const [first] = nameless;
  if (first !== undefined)
    report(
      ['mcpServers', first],
      `a server has a name, and its options stand below it: write mcpServers: { NAME: { ${nameless.map((name) => `${name}: …`).join(', ')} } }`,
    );
  const kept = Object.entries(servers).filter(([name, found]) => {
    if (nameless.includes(name)) return false;
    if (!isMap(found) || isServer(found) || !isTop(name)) return true;
    report(
      ['mcpServers', name],
      name === 'mcpServers'
        ? 'this word stands above already: remove this line, and write its servers with fewer blanks in front'
        : `this is no server: write \`${name}\` at the top of the file, without blanks in front`,
    );
    return false;
  });
  return { ...value, mcpServers: Object.fromEntries(kept) };
}

const named = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
