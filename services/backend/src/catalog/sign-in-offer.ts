import { noLists, signInName, type CallerOffer, type CatalogRecord, type ServerName, type ToolEntry } from '@omnibus/protocol';

/** What stands for a server that shows nothing before somebody has signed in: a call of it is answered with the address where that is done. */
export function orSignInOffer(record: CatalogRecord, wantsSignIn: boolean): CatalogRecord {
  if (!wantsSignIn || (record.status !== 'down' && record.lists.tools.length > 0)) return record;
  const { problem: _problem, ...rest } = record;
  return { ...rest, status: 'up', wantsSignIn: true, capabilities: { ...record.capabilities, tools: { listChanged: true } }, lists: { ...noLists, tools: [signInTool(record.server)] } };
}

export function signInTool(server: ServerName): ToolEntry {
  return { name: signInName, title: `Sign in to ${server}`, description: `The server "${server}" shows what it offers when you have signed in. This tells you where.`, inputSchema: { type: 'object', properties: { code: { type: 'string', description: 'The code that a page showed at the end of a sign-in, where this tool asks for one.' } } } };
}

/** What is offered to somebody who has signed in, beside others who have not. */
export function withoutSignIn({ key, lists: { tools = { entries: [], without: [] }, ...lists } }: CallerOffer): CallerOffer {
  return { key, lists: { ...lists, tools: { entries: tools.entries, without: [...new Set([...tools.without, signInName])] } } };
}
