/** Finds globs of profiles and of lists that can select nothing, as far as the configuration alone shows. */
import { distance } from 'fastest-levenshtein';
import type { Path } from './problem.ts';
import { withoutValues } from './put-in.ts';
import { valueAt } from './values.ts';
import type { Config } from './schema.ts';

/**
 * Says nothing where servers are discovered in Kubernetes, since those are not in the file.
 * @param raw the configuration as the file has it: a glob with a reference is noted in these words.
 */
export function profileNotes(config: Config, raw: unknown, note: (path: Path, message: string) => void): void {
  if (config.discovery.kubernetes.enabled) return;
  const servers = Object.keys(config.mcpServers);
  const globs = (path: Path, all: readonly string[]): void => {
    for (const [index, each] of all.entries()) {
      const written = valueAt(raw, [...path, index]);
      const [glob, words] = [each, typeof written === 'string' ? written : each].map(withoutSign) as [string, string];
      const problem = globProblem(glob, servers);
      if (problem !== undefined) note([...path, index], withoutValues(problem, glob, words));
    }
  };
  const ofListing = (path: Path, { show, descriptions }: Config['listing']): void => {
    globs([...path, 'show'], show);
    for (const key of Object.keys(descriptions)) {
      const problem = key.includes('/')
        ? serverProblem(key, servers)
        : `${JSON.stringify(key)} matches nothing: the name of a tool is \`server/tool\``;
      if (problem !== undefined) note([...path, 'descriptions', key], problem);
    }
  };
  const ofResults = (path: Path, results: Config['results']): void => {
    if (results === 'off') return;
    for (const glob of Object.keys(results.tools)) {
      const problem = globProblem(glob, servers);
      if (problem !== undefined) note([...path, 'tools', glob], problem);
    }
  };
  ofListing(['listing'], config.listing);
  ofResults(['results'], config.results);
  for (const [name, { tools = [], listing, results }] of Object.entries(config.profiles)) {
    globs(['profiles', name, 'tools'], tools);
    if (listing !== undefined) ofListing(['profiles', name, 'listing'], listing);
    if (results !== undefined) ofResults(['profiles', name, 'results'], results);
  }
}

/** A glob without the sign of an exclusion. */
const withoutSign = (glob: string): string => glob.replace(/^!/, '');

/** @param key begins with a server and `/`. */
function serverProblem(key: string, servers: readonly string[]): string | undefined {
  const server = key.split('/', 1)[0] as string;
  if (servers.includes(server)) return undefined;
  const near = servers.find((each) => distance(each, server) <= Math.max(1, server.length / 3));
  return `${JSON.stringify(key)} matches nothing: there is no server "${server}" under mcpServers${near === undefined ? '' : `; did you mean "${near}"?`}`;
}

function globProblem(glob: string, servers: readonly string[]): string | undefined {
  if (/\[[^\]]*$/.test(glob)) return `${JSON.stringify(glob)} matches nothing: its "[" is not closed`;
  const literal = /^[^*?[{\\]*/.exec(glob)?.[0] ?? '';
  if (literal.includes('/')) return serverProblem(glob, servers);
  if (servers.some((server) => server.startsWith(literal)) && literal !== glob) return undefined;
  const [, sign = ''] = /^[\w-]+?(__|[.:])/.exec(glob) ?? [];
  const named = servers.find((server) => sign !== '' && glob.startsWith(`${server}${sign}`));
  const instead =
    named === undefined
      ? servers.includes(glob)
        ? `${glob}/*`
        : `*/${glob}`
      : `${named}/${glob.slice(named.length + sign.length)}`;
  return `${JSON.stringify(glob)} matches nothing: a glob is over \`server/tool\`, such as ${JSON.stringify(instead)}`;
}
