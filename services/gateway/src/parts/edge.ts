/** The edge: where clients connect over HTTP. It starts when all that answers them is there. */
import type { Edge, Site } from '@omnibus/edge';
import type { Config } from '@omnibus/config';
import { Proofs, tlsFilesOf } from '@omnibus/identity';
import { rightsToOnly, type Policy } from '@omnibus/policy';
import type { Caller } from '@omnibus/protocol';
import { compileAccess } from '@omnibus/setup/rules';
import { begun, type Part, type PartHost } from '../part.ts';
import { auditing } from './audit.ts';
import { callers } from './authenticator.ts';
import { ownAuthorization, servesClients } from './authorization.ts';
import { blocking } from './blocks.ts';
import { connectedBus } from './bus.ts';
import { directories } from './directories.ts';
import { tokenExchange } from './exchange.ts';
import { callerProofs } from './proofs.ts';
import { baseOf } from './sign-in-pages.ts';
import { tapping } from './tap.ts';
import { traces } from './tracing.ts';

export const edge: Part<Edge> = {
  name: 'the edge',
  isIn: servesClients,
  async start(host) {
    const [{ Edge: Clients, EdgeRecords, openCallers, RequestMeter }, { openCatalogue, openSites }] = await Promise.all(
      [import('@omnibus/edge'), import('@omnibus/connect/sites')],
    );
    const { config, wheel, metrics, isForOne } = host;
    const { baseFolder, role, member } = host.options;
    const log = host.log.child({ role: 'edge' });
    const [bus, tracing, authenticator] = [host.of(connectedBus), host.of(traces), host.of(callers)];
    const authorization = host.of(ownAuthorization);
    const proofs = authenticator === undefined ? undefined : host.of(callerProofs);
    const audit = host.of(auditing);
    const watcher = audit === undefined ? undefined : new EdgeRecords(audit, proofs);
    const admitted = openCallers({ config, wheel, authenticator, blocks: host.of(blocking), proofs, watcher });
    const known = authenticator === undefined ? undefined : admitted;
    let rules = rulesOf(config, await compileAccess(config));
    const catalogue = openCatalogue({
      config,
      callers: admitted,
      base: () => baseOf(host),
      sees: (caller) => sightOf(caller, proofs, rules),
      log,
    });
    const scim = await scimSite(host);
    const clients = new Clients({
      config,
      bus,
      wheel,
      log,
      metrics,
      meter: new RequestMeter(metrics, tracing, host.of(tapping).tap),
      tls: tlsFilesOf(config, baseFolder),
      callers: admitted,
      watcher,
      site: openSites({ authorization, callers: known, bus, log, base: () => baseOf(host), isForOne, catalogue, scim }),
    });
    await host.of(tokenExchange).start(authenticator, clients.worker);
    host.addresses.endpoint = await begun(clients);
    return {
      offers: clients,
      async prepare(changed) {
        const compiled = rulesOf(changed, await compileAccess(changed));
        return () => {
          rules = compiled;
          catalogue.apply(changed);
          clients.apply(changed);
        };
      },
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

/** Where providers send users and groups; undefined where no directory is configured. */
async function scimSite(host: PartHost): Promise<Site | undefined> {
  const [directory, blocks] = [host.of(directories), host.of(blocking)];
  if (directory === undefined || blocks === undefined) return undefined;
  const { openScim } = await import('@omnibus/connect/sites');
  return openScim({
    config: () => host.config,
    started: host.options.config,
    bus: host.of(connectedBus),
    authorization: host.of(ownAuthorization),
    directory,
    blocks,
    audit: host.of(auditing),
    metrics: host.metrics,
    log: host.log.child({ role: 'edge' }),
  });
}

/** The rules that hide servers; undefined where none does. */
function rulesOf({ access }: Config, policy: Policy | undefined): Policy | undefined {
  return access?.mode === 'record' ? undefined : policy;
}

/** Tests whether a caller may see a server, by the rules and by its API key. */
function sightOf(caller: Caller, proofs: Proofs | undefined, rules: Policy | undefined): (server: string) => boolean {
  const facts = Proofs.factsOf(caller, proofs);
  const rights = rules?.rightsOf(facts);
  const ofKey = facts?.tools === undefined ? undefined : rightsToOnly(facts.tools);
  return (server) => rights?.seesServer(server) !== false && ofKey?.seesServer(server) !== false;
}
