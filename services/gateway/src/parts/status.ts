/** The state of a process, as its admin port shows it. */
import { version } from '@omnibus/protocol';
import type { ProcessStatus } from '@omnibus/admin';
import type { PartHost } from '../part.ts';
import { servers } from './backend.ts';
import { connectedBus } from './bus.ts';
import { sessions } from './sessions.ts';
import { vaults } from './vault.ts';

export function statusOf(host: PartHost): ProcessStatus {
  const [bus, worker] = [host.find(connectedBus), host.find(sessions)];
  const { options, addresses } = host;
  const ofServers = serversOf(host);
  return {
    role: options.role,
    version,
    pid: process.pid,
    uptimeSeconds: Math.round((Date.now() - host.startedAt) / 1_000),
    endpoint: addresses.endpoint,
    problems: host.notReady(),
    bus: {
      kind: options.config.bus === 'memory' ? 'memory' : 'nats',
      isConnected: bus?.connected ?? false,
      reconnects: bus?.reconnects ?? 0,
    },
    ...(worker === undefined
      ? {}
      : { sessions: worker.desk.counts(), leftOut: worker.desk.leftOut, adapters: worker.desk.adapters }),
    ...(ofServers === undefined ? {} : { servers: ofServers }),
  };
}

function serversOf(host: PartHost): ProcessStatus['servers'] {
  const backend = host.find(servers);
  return backend?.loads.map(
    ({
      record: {
        server,
        status,
        problem,
        revision,
        lists,
        unread = [],
        leftOut = 0,
        unfit = [],
        held = [],
        wantsSignIn,
      },
      repairs,
    }) => ({
      server,
      status,
      ...unreadableAt(host, server),
      ...(backend.sleeping.has(server) ? { isAsleep: true as const } : {}),
      problem,
      ...(unread.length === 0 ? {} : { unread }),
      leftOut,
      ...(unfit.length === 0 ? {} : { unfit }),
      ...(repairs.length === 0 ? {} : { repairs }),
      revision,
      ...(wantsSignIn === true ? { wantsSignIn: backend.waitingFor(server) } : {}),
      tools: lists.tools.length,
      prompts: lists.prompts.length,
      resources: lists.resources.length,
      held: held.length,
    }),
  );
}

/** The connections of users to a server that need a key that the vault does not have. */
function unreadableAt(host: PartHost, server: string): { readonly unreadable?: number } {
  const lost = host.find(vaults)?.opened?.lost ?? [];
  const count = lost.filter(({ place }) => place.purpose === 'connection' && place.server === server).length;
  return count === 0 ? {} : { unreadable: count };
}
