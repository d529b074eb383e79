/** Runs each chain in a session of its own, and finds out whether private data has come to a server at the end of it, and whether a call was held up. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@omnibus/protocol';
import type { Shape } from '../../support/gateway.ts';
import { startGatewayHere } from '../../support/gateway-here.ts';
import { RawClient, type Message } from '../../support/raw-client.ts';
import { blindStealing, blindWorking } from './blind.ts';
import { stealing, working } from './chains.ts';
import { secret, startFlowServers, type FlowServers } from './servers.ts';
import { thirdStealing, thirdWorking } from './third.ts';

/** Chains that were stopped, or hindered, of all in a list. */
export interface FlowRow {
  readonly list: string;
  readonly chains: number;
  /** Chains in which a call was not made. */
  readonly stopped: readonly string[];
  /** Chains at whose end a server has got the private data. */
  readonly leaked: readonly string[];
}

const published: Readonly<Record<string, readonly [tool: string, args: (folder: string) => JsonObject]>> = {
  'files.read': ['files__read_text_file', (folder) => ({ path: join(folder, 'private.txt') })],
  'files.list': ['files__list_directory', (folder) => ({ path: folder })],
  'files.write': ['files__write_file', (folder) => ({ path: join(folder, 'made.txt'), content: 'made' })],
  'files.edit': [
    'files__edit_file',
    (folder) => ({ path: join(folder, 'private.txt'), edits: [{ oldText: 'of', newText: 'of' }], dryRun: true }),
  ],
  'files.search': ['files__search_files', (folder) => ({ path: folder, pattern: 'private*' })],
  'files.tree': ['files__directory_tree', (folder) => ({ path: folder })],
  'files.info': ['files__get_file_info', (folder) => ({ path: join(folder, 'private.txt') })],
  'files.many': ['files__read_multiple_files', (folder) => ({ paths: [join(folder, 'private.txt')] })],
  'files.folder': ['files__create_directory', (folder) => ({ path: join(folder, 'made') })],
  'notes.read': ['notes__read_graph', () => ({})],
  'notes.search': ['notes__search_nodes', () => ({ query: secret })],
  'notes.open': ['notes__open_nodes', () => ({ names: [secret] })],
  'notes.observe': ['notes__add_observations', () => ({ observations: [{ entityName: secret, contents: ['more'] }] })],
  'notes.relate': [
    'notes__create_relations',
    () => ({ relations: [{ from: secret, to: secret, relationType: 'is' }] }),
  ],
  'notes.write': [
    'notes__create_entities',
    () => ({ entities: [{ name: secret, entityType: 'number', observations: ['mine'] }] }),
  ],
};

/**
 * @param flow the option, to compare with a gateway without it.
 * @param nth each nth chain that works runs.
 * @param stores `flow` of files and notes.
 */
export async function runFlow(
  shape: Shape,
  flow: 'guarded' | 'rules',
  nth = 1,
  stores: 'closed' | 'store' = 'closed',
): Promise<readonly FlowRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-flow-'));
  try {
    await writeFile(join(folder, 'private.txt'), `the number of my card: ${secret}`);
    const note = { type: 'entity', name: secret, entityType: 'number', observations: ['mine'] };
    await writeFile(join(folder, 'notes.jsonl'), `${JSON.stringify(note)}\n`);
    await using servers = await startFlowServers(folder, stores);
    await using gateway = await startGatewayHere(shape, { flow, mcpServers: servers.settings });
    {
      using waiting = await RawClient.open(gateway.url);
      await waiting.untilTools((names) =>
        [
          'web__fetch',
          'mail__reply',
          'tickets__comment',
          'code__get_file',
          'notes__read_graph',
          'files__list_directory',
        ].every((name) => names.includes(name)),
      );
    }
    const rows: FlowRow[] = [];
    for (const [list, chains] of [
      ['stealing, first half', stealing.first],
      ['stealing, second half', stealing.second],
      ['working, first half', working.first.filter((_chain, index) => index % nth === 0)],
      ['working, second half', working.second.filter((_chain, index) => index % nth === 0)],
      ['stealing, blind half', blindStealing],
      ['working, blind half', blindWorking.filter((_chain, index) => index % nth === 0)],
      ['stealing, third half', thirdStealing],
      ['working, third half', thirdWorking.filter((_chain, index) => index % nth === 0)],
    ] as const)
      rows.push({ list, chains: chains.length, ...(await runAll(chains, list, gateway.url, servers, folder)) });
    return rows;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Chains that run beside each other. */
const atOnce = 10;

async function runAll(
  chains: readonly string[],
  list: string,
  url: string,
  servers: FlowServers,
  folder: string,
): Promise<Pick<FlowRow, 'stopped' | 'leaked'>> {
  const stopped: string[] = [];
  const leaked: string[] = [];
  const runOne = async (chain: string, index: number): Promise<void> => {
    const mark = `${secret} of ${list} ${index};`;
    const stolen = list.startsWith('stealing') ? { data: mark } : {};
    if (await isHeldUp(chain, url, folder, stolen)) stopped.push(chain);
    if (servers.received().includes(mark)) leaked.push(chain);
  };
  for (let start = 0; start < chains.length; start += atOnce)
    await Promise.all(chains.slice(start, start + atOnce).map((chain, index) => runOne(chain, start + index)));
  return { stopped, leaked };
}

/** @param chain in one session, or in several with `|` between them. @param stolen arguments of the last call. */
async function isHeldUp(chain: string, url: string, folder: string, stolen: JsonObject): Promise<boolean> {
  const sessions = chain.split(' | ');
  let isStopped = false;
  for (const [index, steps] of sessions.entries())
    if (await isSessionHeldUp(steps, url, folder, index === sessions.length - 1 ? stolen : {})) isStopped = true;
  return isStopped;
}

async function isSessionHeldUp(chain: string, url: string, folder: string, stolen: JsonObject): Promise<boolean> {
  using client = await RawClient.open(url);
  const steps = chain.split(' ');
  let isStopped = false;
  for (const [index, step] of steps.entries()) {
    const [tool, own] = argumentsIn(step);
    const [name, args] = published[tool] ?? [tool.replace('.', '__'), () => ({ text: 'words of the user' })];
    const { last } = await client.callTool(name, {
      ...args(folder),
      ...own,
      ...(index === steps.length - 1 ? stolen : {}),
    });
    isStopped ||= isRefused(chain, step, last);
  }
  return isStopped;
}

/** A step `server.tool(name=value,…)` without its arguments, and these. */
function argumentsIn(step: string): readonly [tool: string, args: JsonObject] {
  const [, tool = step, list = ''] = /^([\w.]+)\((.*)\)$/.exec(step) ?? [];
  return [
    tool,
    Object.fromEntries(
      list
        .split(',')
        .filter((each) => each !== '')
        .map((each) => {
          const at = each.indexOf('=');
          return [each.slice(0, at), each.slice(at + 1)];
        }),
    ),
  ];
}

/** @throws {Error} if a call fails for another reason, since the chain shows nothing then. */
function isRefused(chain: string, step: string, { result, error }: Message): boolean {
  if (result !== undefined && result['isError'] !== true) return false;
  const rule = (error?.data as { readonly rule?: string } | undefined)?.rule;
  if (rule?.startsWith('flow:') !== true)
    throw new Error(`${step} of "${chain}" failed: ${JSON.stringify(error ?? result)}`);
  return true;
}
