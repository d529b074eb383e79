import {
  noLists,
  signInName,
  type CallerOffer,
  type CatalogRecord,
  type ServerName,
  type ToolEntry,
} from '@omnibus/protocol';

/**
 * What a server may turn out to have that nobody has met yet. A client of the revisions with sessions is told once what there is (2025-11-25 lifecycle,
 * Capability Negotiation), and would never ask for resources that came with a sign-in later.
 */
const possible = {
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

/**
 * What stands for a server that shows nothing before it knows whom it serves: a call of it is answered with the address where a user signs in, or with the reason
 * why the server cannot be called in his name.
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

/** @param isMadeFromCallers whether nobody signs in for the server, since it is called with tokens made from those of its callers. */
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

/** What somebody is shown to whom the server shows nothing, for another reason than a sign-in. A call of it is answered with that reason. */
export function refusedTool(server: ServerName, why: string): ToolEntry {
  return { name: signInName, title: `Why ${server} shows nothing`, description: why, inputSchema: { type: 'object' } };
}

/** What is offered to somebody who has signed in, beside others who have not. */
export function withoutSignIn({
  lists: { tools = { entries: [], without: [] }, ...lists },
  ...offer
}: CallerOffer): CallerOffer {
  return {
    ...offer,
    lists: { ...lists, tools: { entries: tools.entries, without: [...new Set([...tools.without, signInName])] } },
  };
}
