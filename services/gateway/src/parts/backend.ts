/** The servers that this process connects to. */
import type { Audit } from '@omnibus/audit';
import type { Backend, BackendOptions } from '@omnibus/backend';
import type { Membership } from '@omnibus/cli';
import type { Config } from '@omnibus/config';
import { begun, type Part } from '../part.ts';
import { auditing } from './audit.ts';
import { blocking } from './blocks.ts';
import { connectedBus } from './bus.ts';
import { signInPages } from './sign-in-pages.ts';
import { tapping } from './tap.ts';
import { traces } from './tracing.ts';
import { vaults } from './vault.ts';

export const servers: Part<Backend> = {
  name: 'the servers',
  isIn: (host) => host.has('backend'),
  async start(host) {
    const { createBackend } = await import('@omnibus/backend');
    const { wheel, metrics, isForOne } = host;
    const { baseFolder, showPage, member } = host.options;
    const config = startedHere(host.config, member);
    const pages = host.of(signInPages);
    const backend = createBackend({
      config,
      baseFolder,
      bus: host.of(connectedBus),
      wheel,
      metrics,
      tracing: host.of(traces),
      tap: host.find(tapping)?.tap,
      users: {
        base: pages.base,
        clientDocument: pages.clientDocument,
        ready: pages.ready,
        show: isForOne ? showPage : undefined,
        isForOne,
        areKnown: config.auth !== undefined && config.auth !== 'none',
        blocks: host.find(blocking),
        openVaults: host.of(vaults).open,
      },
      log: host.log.child({ role: 'backend' }),
      definitionChanged: changesOnRecord(host.of(auditing)),
    });
    await begun(backend);
    let isSettled = false;
    void backend.settled().then(() => {
      isSettled = true;
    });
    return {
      offers: backend,
      notReady: () => (isSettled ? [] : ['servers are still connecting']),
      prepare: (changed) => async () => {
        // Servers of the changed configuration are called with what its keys open.
        await host.of(vaults).opened?.apply(changed);
        await backend.apply(startedHere(changed, member));
      },
      stop: () => backend.stop(),
    };
  },
};

/** The configuration without the programs that other workers of this machine start. */
function startedHere(config: Config, member: Membership | undefined): Config {
  if (member === undefined) return config;
  const here = Object.entries(config.mcpServers).filter(
    ([server, { command }]) => command === undefined || member.hasProgramOf(server),
  );
  return { ...config, mcpServers: Object.fromEntries(here) };
}

/** Records that definitions of a server changed since they were approved. */
function changesOnRecord(audit: Audit | undefined): BackendOptions['definitionChanged'] {
  return audit === undefined
    ? undefined
    : ({ server, kind, name, why, effect, facets, risks, digest }) =>
        audit.record({
          name: 'definition.changed',
          weight: 'always',
          server,
          ...(kind === 'tools' || kind === 'prompts' ? { target: name } : {}),
          more: { definition: digest, definition_of: `${kind} ${name}`, why, effect, facets, risks },
        });
}
