/** Names in questions about tokens. */
import { expect, it } from 'vitest';
import { newWorkerId } from '@omnibus/protocol';
import { tokenHandlers } from './token-handlers.ts';
import type { ApiRequest } from './site.ts';
import { loadedFrom } from '@omnibus/config/testing';

it('a server that the configuration does not have is unknown, also one with the name of a property of all objects', async () => {
  const text = JSON.stringify({ mcpServers: { files: { url: 'https://files.example' } } });
  const loaded = loadedFrom(text);
  const nothing = { tools: 0, tokens: 0, slim: 0 };
  const listed = { mode: 'full', isSlim: false, tools: 0, tokens: 0 };
  const costs = { rows: [], total: nothing, savings: [], search: 0, code: 0, bounded: 0, listed };
  const process = newWorkerId('session');
  const { tokens } = tokenHandlers(
    { config: () => loaded.config },
    {
      assembly: {
        ask: (_question, _said, shape) => {
          const body = shape.parse({ costs, saved: { results: 0, tokens: 0 } });
          return Promise.resolve({ said: [{ process, role: 'session', body }], missing: [] });
        },
      },
    },
  );
  const asked = (server: string): Promise<unknown> => tokens({ query: { server } } as ApiRequest<'tokens'>);
  expect(await asked('files')).toMatchObject({ total: nothing });
  for (const name of ['other', 'constructor', 'toString', '__proto__', 'hasOwnProperty', ' '])
    await expect(asked(name), name).rejects.toMatchObject({ reason: 'unknown' });
});
