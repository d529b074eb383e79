import { noLists, type CatalogRecord, type ServerName } from '@omnibus/protocol';

/** What stands for a server that shows nothing before somebody has signed in: a call of it is answered with the address where that is done. */
export function orSignInOffer(record: CatalogRecord, wantsSignIn: boolean): CatalogRecord {
  return wantsSignIn && (record.status === 'down' || record.lists.tools.length === 0) ? { ...record, ...offerOf(record.server), status: 'up' } : record;
}

function offerOf(server: ServerName): Pick<CatalogRecord, 'capabilities' | 'lists'> {
  return {
    capabilities: { tools: { listChanged: true } },
    lists: { ...noLists, tools: [{ name: 'connect', title: `Sign in to ${server}`, description: `The server "${server}" shows what it offers when you have signed in. This tells you where.`, inputSchema: { type: 'object' } }] },
  };
}
