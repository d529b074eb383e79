/**
 * `npm run bench -- tokens`: the tokens that a scripted agent of twenty calls costs a model, without and with each measure. It uses ten published
 * servers, four of which it calls, through one gateway for each measure, with an official SDK client. Tokens are characters / 4.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { JsonObject } from '@omnibus/protocol';
import { installed } from '../direct/published.ts';
import { startGateway } from '../support/gateway.ts';
import { RawClient } from '../support/raw-client.ts';
import { moreServers } from './more-servers.ts';

/** As `omnibus tokens` counts. */
const tokensOf = (text: string): number => Math.ceil(text.length / 4);

/** A step of the agent: the words of the task, by which it searches, and the call. */
type Step = readonly [task: string, tool: string, args: JsonObject];

/** A tool of each server. */
const offered = [
  'filesystem__read_text_file',
  'memory__read_graph',
  'everything__echo',
  'playwright__browser_click',
  'thinking__sequentialthinking',
  'chrome__navigate_page',
  'notion__API-post-search',
  'firecrawl__firecrawl_scrape',
  'github__create_issue',
  'kubernetes__kubectl_get',
];

const measures: readonly (readonly [name: string, config: object])[] = [
  ['none', {}],
  ['listing: { slim: true }', { listing: { slim: true } }],
  ['results: { maxTokens: 500 }', { results: { maxTokens: 500 } }],
  ['listing: search', { listing: 'search' }],
  ['both of these', { listing: 'search', results: { maxTokens: 500 } }],
];

function stepsIn(folder: string): readonly Step[] {
  const file = (name: string): JsonObject => ({ path: join(folder, name) });
  const entity = { name: 'release', entityType: 'event', observations: ['is on Friday'] };
  const log = ['read the text of a file', 'filesystem__read_text_file', file('app.log')] as const;
  const graph = ['read the whole knowledge graph', 'memory__read_graph', {}] as const;
  return [
    ['list the files of a folder', 'filesystem__list_directory', { path: folder }],
    ['show the tree of a folder', 'filesystem__directory_tree', { path: folder }],
    ['size and date of a file', 'filesystem__get_file_info', file('app.log')],
    log,
    ['search for files by name', 'filesystem__search_files', { path: folder, pattern: '*.json' }],
    ['read the text of a file', 'filesystem__read_text_file', file('orders.json')],
    ['write a file', 'filesystem__write_file', { ...file('notes.md'), content: '# Notes' }],
    [
      'edit lines of a file',
      'filesystem__edit_file',
      { ...file('notes.md'), edits: [{ oldText: 'Notes', newText: 'News' }] },
    ],
    [
      'read several files',
      'filesystem__read_multiple_files',
      { paths: [join(folder, 'notes.md'), join(folder, 'orders.json')] },
    ],
    ['create entities in the knowledge graph', 'memory__create_entities', { entities: [entity] }],
    [
      'add observations to an entity',
      'memory__add_observations',
      { observations: [{ entityName: 'release', contents: ['is ready'] }] },
    ],
    ['search nodes of the knowledge graph', 'memory__search_nodes', { query: 'release' }],
    ['open nodes by name', 'memory__open_nodes', { names: ['release'] }],
    graph,
    ['sum of two numbers', 'everything__get-sum', { a: 19, b: 23 }],
    ['echo a message', 'everything__echo', { message: 'done' }],
    ['weather of a city', 'everything__get-structured-content', { location: 'Chicago' }],
    ['links to resources', 'everything__get-resource-links', { count: 5 }],
    log,
    graph,
  ];
}

interface Trace {
  readonly list: number;
  readonly answers: number;
  /** Each turn sends the list and all that was said before. */
  readonly turns: number;
}

async function traceOf(config: object, folder: string): Promise<Trace> {
  const mcpServers = {
    filesystem: installed('mcp-server-filesystem', folder),
    memory: { ...installed('mcp-server-memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
    everything: installed('mcp-server-everything'),
    playwright: installed('playwright-mcp', '--headless'),
    ...moreServers(),
  };
  const profiles = { all: { listing: 'full' } };
  await using gateway = await startGateway('embedded', { ...config, profiles, mcpServers });
  {
    using waiting = await RawClient.open(`${gateway.url}/all`);
    await waiting.untilTools((names) => offered.every((name) => names.includes(name)));
  }
  const client = new Client({ name: 'scripted-agent', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
  const isShort = JSON.stringify(config).includes('search');
  const find = async (query: string): Promise<string> =>
    JSON.stringify((await client.callTool({ name: 'find_tools', arguments: { query } })).content);
  const { tools } = await client.listTools();
  const list = tokensOf(
    tools
      .map(({ name, description, inputSchema, outputSchema, annotations }) =>
        JSON.stringify({ name, description, inputSchema, outputSchema, annotations }),
      )
      .join(''),
  );
  let said = 0;
  let turns = 0;
  const found = new Set<string>();
  const turn = (asked: object, answered: unknown): void => {
    turns += list + said;
    said += tokensOf(JSON.stringify(asked)) + tokensOf(JSON.stringify(answered));
  };
  for (const [task, name, args] of stepsIn(folder)) {
    // A model searches for a tool once.
    if (isShort && !found.has(name)) turn({ name: 'find_tools', arguments: { query: task } }, await find(task));
    found.add(name);
    const call = isShort ? { name: 'call_tool', arguments: { name, arguments: args } } : { name, arguments: args };
    const result = await client.callTool(call);
    if (result.isError === true) throw new Error(`${name}: ${JSON.stringify(result.content).slice(0, 300)}`);
    turn(call, [result.content, result.structuredContent]);
  }
  await client.close();
  return { list, answers: said, turns };
}

const cells = (...words: readonly (string | number)[]): string => `| ${words.join(' | ')} |`;
console.log(cells('measure', 'list', 'calls and answers', 'input of all turns', 'saved'));
console.log('|---|---|---|---|---|');
let first: number | undefined;
for (const [name, config] of measures) {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-tokens-'));
  try {
    const line = (at: number): string =>
      `2026-01-01T00:00:00Z INFO request ${at} of GET /orders/${at * 7} ended with 200\n`;
    await writeFile(join(folder, 'app.log'), Array.from({ length: 800 }, (_, at) => line(at)).join(''));
    const orders = Array.from({ length: 300 }, (_, id) => ({ id, customer: `customer ${id % 17}`, total: id * 3 }));
    await writeFile(join(folder, 'orders.json'), JSON.stringify(orders));
    const { list, answers, turns } = await traceOf(config, folder);
    first ??= turns;
    console.log(cells(name, list, answers, turns, `${((100 * (first - turns)) / first).toFixed(1)} %`));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
