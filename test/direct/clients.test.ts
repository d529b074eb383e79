/** Client libraries get the same from a server through the gateway as directly: lists, calls, questions, resources, prompts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { clientLibraries } from './clients.ts';
import { conformanceServers, startServer, untilAllAreUp } from './conformance-servers.ts';
import { make, makingLimitMs, usable } from './toolchains.ts';

const libraries = usable(clientLibraries);

/** Our fixture asks clients of either era; the other server, as most servers, asks only clients with sessions. */
describe.each(conformanceServers.filter(({ name }) => ['our fixture', 'TypeScript SDK 2.4'].includes(name)))(
  'at $name,',
  (asked) => {
    const stack = new AsyncDisposableStack();
    let direct: string;
    let through: string;

    beforeAll(() => make(libraries.flatMap(({ needs = [] }) => needs)), makingLimitMs);
    beforeAll(async () => {
      direct = stack.use(await startServer(asked)).url;
      const gateway = stack.use(await startGateway('embedded', { mcpServers: { asked: { url: direct } } }));
      await untilAllAreUp(gateway);
      through = `${gateway.url}/asked`;
    });
    afterAll(() => stack.disposeAsync());

    it.each(libraries)(
      'the client of $name hears through the gateway what it hears directly',
      { timeout: 180_000 },
      async (library) => {
        const before = await library.use(direct);
        const after = await library.use(through);
        // The gateway keeps streams that can be resumed, also of a server at which this client cannot resume one.
        const resumed = before.resumed === '' ? { resumed: '' } : {};
        expect({ ...after, ...resumed, tools: after.tools.filter((name) => before.tools.includes(name)) }).toEqual(
          before,
        );
        // The question reached the user, unless the server cannot ask clients of this revision.
        if (!before.asked.includes('could not be asked')) expect(after.asked).toContain('a person');
      },
    );
  },
);
