/** The edge: where clients connect over HTTP. It starts when all that answers them is there. */
import type { Edge } from '@omnibus/edge';
import { tlsFilesOf } from '@omnibus/identity';
import { begun, type Part } from '../part.ts';
import { auditing } from './audit.ts';
import { callers } from './authenticator.ts';
import { ownAuthorization, servesClients } from './authorization.ts';
import { blocking } from './blocks.ts';
import { connectedBus } from './bus.ts';
import { tokenExchange } from './exchange.ts';
import { callerProofs } from './proofs.ts';
import { baseOf } from './sign-in-pages.ts';
import { tapping } from './tap.ts';
import { traces } from './tracing.ts';

export const edge: Part<Edge> = {
  name: 'the edge',
  isIn: servesClients,
  async start(host) {
    const [{ Edge: Clients, EdgeRecords, openCallers, RequestMeter }, { openSites }] = await Promise.all([
      import('@omnibus/edge'),
      import('@omnibus/connect/sites'),
    ]);
    const { config, wheel, metrics, isForOne } = host;
    const { baseFolder, role, member } = host.options;
    const log = host.log.child({ role: 'edge' });
    const [bus, tracing, authenticator] = [host.of(connectedBus), host.of(traces), host.of(callers)];
    const authorization = host.of(ownAuthorization);
    const proofs = authenticator === undefined ? undefined : host.of(callerProofs);
    const audit = host.of(auditing);
    const watcher = audit === undefined ? undefined : new EdgeRecords(audit, proofs);
    const clients = new Clients({
      config,
      bus,
      wheel,
      log,
      metrics,
      meter: new RequestMeter(metrics, tracing, host.of(tapping).tap),
      tls: tlsFilesOf(config, baseFolder),
      callers: openCallers({ config, wheel, authenticator, blocks: host.of(blocking), proofs, watcher }),
      watcher,
      site: openSites({ authorization, authenticator, bus, log, base: () => baseOf(host), isForOne }),
    });
    await host.of(tokenExchange).start(authenticator, clients.worker);
    host.addresses.endpoint = await begun(clients);
    return {
      offers: clients,
      prepare: (changed) => () => clients.apply(changed),
      async leave() {
        const { leave, drain } = config.timeouts;
        // In a process that has sessions too, these wait for running calls: if the edge waited as well, the stop would take longer than it may.
        // One of several workers answers requests for sessions of the others too.
        const isOneOfSeveral = role === 'edge' || member !== undefined;
        const leastMs = member?.leaveMs() ?? 0;
        if (leave > 0 || isOneOfSeveral) await clients.leave(isOneOfSeveral ? drain : 0, leastMs);
        clients.drain();
      },
      stop: () => clients.stop(),
    };
  },
};
