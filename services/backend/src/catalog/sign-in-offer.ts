import {
  noLists,
  signInName,
  type CallerOffer,
  type CatalogRecord,
  type ServerName,
  type ToolEntry,
} from '@omnibus/protocol';

/**
 * The possible capabilities of a server before the first sign-in. A client of the revisions with sessions learns capabilities once (2025-11-25 lifecycle,
 * Capability Negotiation), and would never ask for resources that came with a sign-in later.
 */
const possible = {
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

/**
 * The tool for a server that shows nothing to unknown users: a call of it returns the address of the sign-in, or the reason
 * why calls in the user's name are impossible.
 * @param standIn undefined for a server that shows its lists.
 */
export function orSignInOffer(record: CatalogRecord, standIn: ToolEntry | undefined): CatalogRecord {
  if (standIn === undefined || (record.status !== 'down' && record.lists.tools.length > 0)) return record;
  const { problem: _problem, ...rest } = record;
  const capabilities = Object.keys(record.capabilities).length === 0 ? possible : record.capabilities;
  return {
    ...rest,
    status: 'up',
    wantsSignIn: true,
    capabilities: { ...capabilities, tools: { listChanged: true } },
    lists: { ...noLists, tools: [standIn] },
  };
}

/** @param isMadeFromCallers whether there is no sign-in for the server, since its tokens come from those of callers. */
export function signInTool(server: ServerName, isMadeFromCallers: boolean): ToolEntry {
  if (isMadeFromCallers)
    return {
      name: signInName,
      title: `Why ${server} shows nothing`,
      description: `The server "${server}" is called in your name, and that does not succeed. This tells you why.`,
      inputSchema: { type: 'object' },
    };
  return {
    name: signInName,
    title: `Sign in to ${server}`,
    description: `The server "${server}" shows what it offers when you have signed in. This tells you where.`,
    inputSchema: {
      type: 'object',
      properties: {
        code: {
          type: 'string',
          description:
            'The code that a page showed at the end of a sign-in, where this tool asks for one; "none" if it showed none, or you have lost it.',
        },
      },
    },
  };
}

/** The tool for a user without lists, for another reason than a sign-in. A call of it returns that reason. */
export function refusedTool(server: ServerName, why: string): ToolEntry {
  return { name: signInName, title: `Why ${server} shows nothing`, description: why, inputSchema: { type: 'object' } };
}

/** The lists of a signed-in user, next to users without a sign-in. */
export function withoutSignIn({
  lists: { tools = { entries: [], without: [] }, ...lists },
  ...offer
}: CallerOffer): CallerOffer {
  return {
    ...offer,
    lists: { ...lists, tools: { entries: tools.entries, without: [...new Set([...tools.without, signInName])] } },
  };
}
