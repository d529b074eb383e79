import { expect, it } from 'vitest';
import type { Config } from '@omnibus/config';
import { noAnnouncements, noLists, parseServerName, type CatalogRecord } from '@omnibus/protocol';
import { compositeFindings } from './composites.ts';

it('a step of a tool that its server does not list is named, if the server could list it', () => {
  const record = (server: string, more: Partial<CatalogRecord> = {}): CatalogRecord => ({
    server: parseServerName(server),
    status: 'up',
    capabilities: {},
    lists: { ...noLists, tools: [{ name: 'find', inputSchema: { type: 'object' } }] },
    announcements: noAnnouncements,
    ...more,
  });
  const calls = ['crm/find', 'crm/shut', 'down/shut', 'own/shut', 'away/shut'];
  const steps = calls.map((call, index) => ({ id: `s${index}`, call, arguments: {} }));
  const config = { composites: { close: { steps } } } as unknown as Config;
  const records = [record('crm'), record('down', { status: 'down' }), record('own', { owners: {} })];
  expect(compositeFindings(config, records)).toMatchObject([
    { about: 'composite tool close', state: 'warning', text: expect.stringContaining('"s1" calls crm/shut') as string },
  ]);
});
