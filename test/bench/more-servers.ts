/** Six published servers that only `npm run bench -- tokens` uses: it installs them once with npm. The agent calls none of their tools; a model pays for their definitions. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/processes.ts';

const cache = join(root, 'node_modules/.cache/bench-servers');
/** Their programs accept any token: they send it with calls alone. */
const token = 'not-a-token';

interface Published {
  readonly package: string;
  readonly program: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const servers: Readonly<Record<string, Published>> = {
  thinking: {
    package: '@modelcontextprotocol/server-sequential-thinking@2026.8.31',
    program: 'mcp-server-sequential-thinking',
  },
  chrome: {
    package: 'chrome-devtools-mcp@1.11.0',
    program: 'chrome-devtools-mcp',
    args: ['--headless', '--no-usage-statistics'],
  },
  notion: {
    package: '@notionhq/notion-mcp-server@2.5.2',
    program: 'notion-mcp-server',
    env: { NOTION_TOKEN: token },
  },
  firecrawl: { package: 'firecrawl-mcp@3.26.0', program: 'firecrawl-mcp', env: { FIRECRAWL_API_KEY: token } },
  github: {
    package: '@modelcontextprotocol/server-github@2025.4.8',
    program: 'mcp-server-github',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: token },
  },
  kubernetes: { package: 'mcp-server-kubernetes@4.1.7', program: 'mcp-server-kubernetes' },
};

/**
 * Installs what is not there yet. No script of a package runs.
 * @returns the servers as entries of a configuration, by name.
 * @throws {Error} with npm's words, for example without a network.
 */
export function moreServers(): Readonly<Record<string, object>> {
  const programOf = ({ program }: Published): string => join(cache, 'node_modules/.bin', program);
  const missing = Object.values(servers).filter((each) => !existsSync(programOf(each)));
  if (missing.length > 0) {
    console.error(`installing ${missing.map((each) => each.package).join(', ')} (about 350 MB, once)`);
    mkdirSync(cache, { recursive: true });
    const all = Object.values(servers).map((each) => each.package);
    const options = ['--prefix', cache, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    execFileSync('npm', ['install', ...options, ...all], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  return Object.fromEntries(
    Object.entries(servers).map(([name, each]) => [
      name,
      {
        command: 'node',
        args: [programOf(each), ...(each.args ?? [])],
        ...(each.env === undefined ? {} : { env: each.env }),
      },
    ]),
  );
}
