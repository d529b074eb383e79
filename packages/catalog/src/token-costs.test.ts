import { expect, it } from 'vitest';
import { noAnnouncements, noLists, parseEndpointName, parseServerName } from '@omnibus/protocol';
import { tokenCosts } from './token-costs.ts';
import { View } from './view.ts';

it('a count that failed is made again', async () => {
  const server = parseServerName('many');
  const tools = Array.from({ length: 250 }, (_none, at) => ({ name: `t${at}`, inputSchema: { type: 'object' } }));
  const view = new View(
    {
      endpoint: parseEndpointName(''),
      servers: [server],
      prefix: 'auto',
      rename: new Map(),
      pin: new Map(),
      pageSize: 100,
    },
    new Map([
      [
        server,
        {
          server,
          status: 'up',
          capabilities: { tools: {} },
          lists: { ...noLists, tools },
          announcements: noAnnouncements,
        },
      ],
    ]),
  );
  await expect(tokenCosts(view, undefined, () => Promise.reject(new Error('stopped')))).rejects.toThrow('stopped');
  const { total } = await tokenCosts(view, undefined, () => Promise.resolve());
  expect(total.tools).toBe(250);
});
