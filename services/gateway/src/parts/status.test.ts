import { expect, it } from 'vitest';
import { noAnnouncements, noLists, parseServerName, type CatalogRecord } from '@omnibus/protocol';
import type { PartHost } from '../part.ts';
import { servers } from './backend.ts';
import { statusOf } from './status.ts';

it('a server that is up names the lists that its problem is about', () => {
  const record = (name: string, more: Partial<CatalogRecord>): CatalogRecord => ({
    server: parseServerName(name),
    status: 'up',
    capabilities: { tools: {} },
    lists: noLists,
    announcements: noAnnouncements,
    ...more,
  });
  const backend = {
    sleeping: new Set(),
    loads: [
      { record: record('whole', {}), repairs: [] },
      { record: record('wedged', { problem: 'tools/list: no answer', unread: ['tools'] }), repairs: [] },
    ],
  };
  const host = {
    find: (part: unknown) => (part === servers ? backend : undefined),
    notReady: () => [],
    options: { role: 'all', config: { bus: 'memory' } },
    addresses: {},
    startedAt: 0,
  } as unknown as PartHost;
  const [whole, wedged] = statusOf(host).servers ?? [];
  expect(wedged).toMatchObject({ status: 'up', problem: 'tools/list: no answer', unread: ['tools'] });
  expect(whole).not.toHaveProperty('unread');
});
