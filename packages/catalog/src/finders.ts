/**
 * The tools that a short list begins with, as clients see them: three with `listing: search`, two with `listing: code`. A model pays for them in every
 * conversation, whatever stands behind them, so each word has to be worth it. These tools ask clients that defer tools to keep them loaded
 * (`anthropic/alwaysLoad`).
 */
import { callToolName, type JsonObject } from '@omnibus/protocol';

export const finderNames = { find: 'find_tools', describe: 'describe_tools', call: callToolName } as const;
export const coderNames = { find: 'find_api', run: 'run_code' } as const;

const _meta = { 'anthropic/alwaysLoad': true };
const readOnly = { readOnlyHint: true };

/** Of both tools that search. */
const searchSchema = {
  type: 'object',
  properties: {
    query: { type: 'string' },
    limit: { type: 'integer', description: 'default 8, at most 50' },
    server: { type: 'string', description: 'only of this server' },
  },
  required: ['query'],
};

const entries: readonly JsonObject[] = [
  {
    name: finderNames.find,
    description:
      'Search the tools of this server, which are not listed. Say in words what one step needs. Answers names, parameters (* required) and what each tool does.',
    inputSchema: searchSchema,
    annotations: readOnly,
    _meta,
  },
  {
    name: finderNames.describe,
    description: 'Full definitions of found tools. Read them unless the parameters are plain.',
    inputSchema: {
      type: 'object',
      properties: { names: { type: 'array', items: { type: 'string' } } },
      required: ['names'],
    },
    annotations: readOnly,
    _meta,
  },
  {
    name: finderNames.call,
    description: 'Call a found tool. Answers what that tool answers.',
    inputSchema: {
      type: 'object',
      properties: { name: { type: 'string' }, arguments: { type: 'object' } },
      required: ['name'],
    },
    // It can reach any tool, so it promises nothing.
    annotations: { readOnlyHint: false, destructiveHint: true },
    _meta,
  },
];

/** The same entries, one of which says that its tool runs as a task (2025-11-25 basic/utilities/tasks). */
function asTask(given: readonly JsonObject[], name: string): readonly JsonObject[] {
  return given.map((entry) => (entry['name'] === name ? { ...entry, execution: { taskSupport: 'optional' } } : entry));
}

const asTasks = asTask(entries, finderNames.call);

const coding: readonly JsonObject[] = [
  {
    name: coderNames.find,
    description:
      'Search the functions that code of run_code may call. Say in words what each step needs. Answers their TypeScript signatures. Read them before you call them.',
    inputSchema: searchSchema,
    annotations: readOnly,
    _meta,
  },
  {
    name: coderNames.run,
    description:
      'Run TypeScript, the body of an async function, in a sandbox without network, files, imports and timers. Functions: await servers.SERVER.TOOL({...}), see find_api. Do several steps in one run; use Promise.all for calls that do not depend on each other. Filter large results, and `return` only the data that you need. A failed call throws an Error. console.log adds to the output.',
    inputSchema: {
      type: 'object',
      properties: { code: { type: 'string' } },
      required: ['code'],
    },
    // Code can call any tool, so this tool promises nothing.
    annotations: { readOnlyHint: false, destructiveHint: true },
    _meta,
  },
];

const codingAsTasks = asTask(coding, coderNames.run);

export const coders = {
  names: new Set<unknown>(Object.values(coderNames)) as ReadonlySet<unknown>,
  /** @param saysTasks whether the list says that scripts run as tasks, as it does for revisions with sessions. */
  entries: (saysTasks: boolean): readonly JsonObject[] => (saysTasks ? codingAsTasks : coding),
};

export const finders = {
  names: new Set<unknown>(Object.values(finderNames)) as ReadonlySet<unknown>,
  /** @param runsTasks whether a tool that can be called through them runs as a task (2025-11-25 basic/utilities/tasks). */
  entries: (runsTasks: boolean): readonly JsonObject[] => (runsTasks ? asTasks : entries),
};
