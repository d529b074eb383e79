/** Servers as their projects publish them, with the test requests for each. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { JsonObject } from '@omnibus/protocol';
import { root } from '../support/processes.ts';
import type { Target } from './speaker.ts';
import { goServers, pythonServers, work, type Making } from './toolchains.ts';

export interface PublishedServer {
  readonly name: string;
  readonly needs?: readonly Making[];
  readonly target: Target;
  /** Creates its data in `folder`. */
  prepare?(): Promise<void>;
  /** The calls, in this order: the last ones restore the server's initial state. */
  readonly calls: readonly (readonly [tool: string, args: JsonObject])[];
  readonly prompts?: readonly (readonly [prompt: string, args: JsonObject])[];
  readonly reads?: readonly string[];
  readonly completions?: readonly JsonObject[];
  /** A log message that it sends unasked, at any time, to a client that declares roots. */
  readonly remark?: RegExp;
}

/** A program of a package of npm that is installed here. */
export const installed = (program: string, ...args: string[]): Extract<Target, { command: string }> => ({
  command: 'node',
  args: [join(root, 'node_modules/.bin', program), ...args],
});
const folder = join(work, 'files');
const repository = join(work, 'repository');

/** @throws {Error} when git fails. */
function git(...args: string[]): void {
  const identity = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
    GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
  };
  const { status, stderr } = spawnSync('git', ['-C', repository, ...args], {
    env: { ...process.env, ...identity },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr}`);
}

const entity = { name: 'Omnibus', entityType: 'gateway', observations: ['carries what it is given'] };
const chromium = '/usr/bin/chromium';
const page = 'data:text/html,<title>A page</title><button>Press</button>';

export const publishedServers: readonly PublishedServer[] = [
  {
    name: 'everything',
    target: installed('mcp-server-everything'),
    remark: /Roots updated/,
    calls: [
      ['echo', { message: 'äöü 🚌 \u0000' }],
      ['get-sum', { a: 1, b: 2.5 }],
      ['get-tiny-image', {}],
      ['get-structured-content', { location: 'Chicago' }],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-resource-links', { count: 3 }],
      ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
      ['trigger-long-running-operation', { duration: 0.2, steps: 3 }],
    ],
    prompts: [
      ['simple-prompt', {}],
      ['args-prompt', { city: 'Bern', state: 'BE' }],
      ['resource-prompt', { resourceType: 'Text', resourceId: '1' }],
    ],
    reads: ['demo://resource/static/document/features.md', 'demo://resource/dynamic/text/1'],
    completions: [
      { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' } },
      {
        ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
        argument: { name: 'resourceId', value: '1' },
      },
    ],
  },
  {
    name: 'filesystem',
    target: installed('mcp-server-filesystem', folder),
    async prepare() {
      await mkdir(join(folder, 'below'), { recursive: true });
      await writeFile(join(folder, 'text.txt'), 'one\ntwo\nthree\n');
      await writeFile(join(folder, 'below', 'image.png'), Buffer.from('iVBORw0KGgo=', 'base64'));
    },
    calls: [
      ['list_allowed_directories', {}],
      ['list_directory', { path: folder }],
      ['directory_tree', { path: folder }],
      ['read_text_file', { path: join(folder, 'text.txt'), head: 2 }],
      ['read_media_file', { path: join(folder, 'below', 'image.png') }],
      ['read_multiple_files', { paths: [join(folder, 'text.txt'), join(folder, 'none')] }],
      ['search_files', { path: folder, pattern: '**/*.png' }],
      ['edit_file', { path: join(folder, 'text.txt'), edits: [{ oldText: 'two', newText: 'zwei' }], dryRun: true }],
      ['read_text_file', { path: '/etc/hostname' }],
    ],
  },
  {
    name: 'memory',
    target: { ...installed('mcp-server-memory'), env: { MEMORY_FILE_PATH: join(work, 'memory.jsonl') } },
    prepare: () => writeFile(join(work, 'memory.jsonl'), ''),
    calls: [
      ['create_entities', { entities: [entity] }],
      ['add_observations', { observations: [{ entityName: 'Omnibus', contents: ['and nothing else'] }] }],
      ['search_nodes', { query: 'carries' }],
      ['read_graph', {}],
      ['add_observations', { observations: [{ entityName: 'nobody', contents: ['x'] }] }],
      ['delete_entities', { entityNames: ['Omnibus'] }],
    ],
  },
  {
    name: 'playwright',
    target: installed(
      'playwright-mcp',
      '--headless',
      '--isolated',
      '--no-sandbox',
      '--executable-path',
      chromium,
      '--output-dir',
      join(work, 'playwright'),
    ),
    // Without a browser, its lists and its error messages are still compared.
    calls: existsSync(chromium)
      ? [
          ['browser_navigate', { url: page }],
          ['browser_snapshot', {}],
          ['browser_evaluate', { function: '() => document.title' }],
          ['browser_click', { target: 'e999', element: 'nothing' }],
          ['browser_close', {}],
        ]
      : [['browser_close', {}]],
  },
  {
    name: 'git',
    needs: [pythonServers],
    target: { command: pythonServers.program('mcp-server-git'), args: ['--repository', repository] },
    async prepare() {
      if (existsSync(join(repository, '.git'))) return;
      await mkdir(repository, { recursive: true });
      git('init', '--quiet', '--initial-branch', 'main');
      await writeFile(join(repository, 'file.txt'), 'one\n');
      git('add', '.');
      git('commit', '--quiet', '--message', 'The first');
      await writeFile(join(repository, 'file.txt'), 'one\ntwo\n');
    },
    calls: [
      ['git_status', { repo_path: repository }],
      ['git_diff_unstaged', { repo_path: repository }],
      ['git_log', { repo_path: repository, max_count: 1 }],
      ['git_show', { repo_path: repository, revision: 'HEAD' }],
      ['git_show', { repo_path: repository, revision: 'nothing' }],
      ['git_status', { repo_path: '/' }],
    ],
  },
  {
    name: 'time',
    needs: [pythonServers],
    target: { command: pythonServers.program('mcp-server-time'), args: ['--local-timezone', 'Europe/Zurich'] },
    calls: [
      ['convert_time', { source_timezone: 'Asia/Tokyo', time: '12:30', target_timezone: 'Europe/Zurich' }],
      ['convert_time', { source_timezone: 'Nowhere', time: '12:30', target_timezone: 'Europe/Zurich' }],
    ],
  },
  {
    // It refuses addresses in this network, so the only call is one that is refused.
    name: 'fetch',
    needs: [pythonServers],
    target: { command: pythonServers.program('mcp-server-fetch'), args: [] },
    calls: [
      ['fetch', { url: 'http://127.0.0.1:1/' }],
      ['fetch', { url: 'no address' }],
    ],
    prompts: [['fetch', { url: 'http://127.0.0.1:1/' }]],
  },
  {
    name: 'go',
    needs: [goServers],
    target: { command: goServers.program('everything'), args: [] },
    calls: [
      ['greet', { name: 'you' }],
      ['greet (structured)', { name: 'you' }],
      ['greet (content with ResourceLink)', { name: 'you' }],
      ['ping', {}],
      ['log', {}],
      ['sample', {}],
      ['elicit (form)', {}],
      ['roots', {}],
    ],
    prompts: [['greet', { name: 'you' }]],
    reads: ['embedded:info'],
    completions: [{ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'x' } }],
  },
];
