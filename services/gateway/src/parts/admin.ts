/** The admin port. It opens first, so that its readiness names the reason of a waiting start, and shows the other parts as they start. */
import type { OpenedAdmin } from '@omnibus/admin';
import { compileAccess, compileGuards, guardedRules } from '@omnibus/setup/rules';
import { measureConfig } from '../measure.ts';
import type { Part } from '../part.ts';
import { auditing } from './audit.ts';
import { callers } from './authenticator.ts';
import { ownAuthorization } from './authorization.ts';
import { servers } from './backend.ts';
import { blocking } from './blocks.ts';
import { connectedBus } from './bus.ts';
import { edge } from './edge.ts';
import { failures } from './failures.ts';
import { sessions } from './sessions.ts';
import { statusOf } from './status.ts';
import { tapping } from './tap.ts';
import { vaults } from './vault.ts';

export const admin: Part<OpenedAdmin> = {
  name: 'the admin port',
  isIn: ({ options }) => options.isServing,
  async start(host) {
    const { openAdmin } = await import('@omnibus/admin');
    const { self, wheel, metrics, faults, notReady } = host;
    const { baseFolder, sealingKeys, reload, history, editor, role, member } = host.options;
    const opened = await openAdmin({
      // A worker answers for itself at the port of the supervisor.
      listens: member === undefined || role === 'supervisor',
      ...(member?.metrics === undefined ? {} : { metricsText: () => member.metrics?.(metrics) ?? metrics.text() }),
      config: () => host.config,
      authenticator: () => host.find(callers),
      kept: () => {
        const [bus, blocks] = [host.find(connectedBus), host.find(blocking)];
        return bus === undefined || blocks === undefined ? undefined : { bus, blocks };
      },
      baseFolder,
      sealingKeys,
      reload,
      editor,
      edgeBus: () => (host.has('edge') ? host.find(connectedBus) : undefined),
      authorization: () => host.find(ownAuthorization),
      userId: (issuer, subject) => {
        const own = host.find(ownAuthorization);
        return own?.issuer === issuer ? own.userOfFile(subject)?.id : undefined;
      },
      metrics,
      notReady,
      status: () => statusOf(host),
      process: self,
      wheel,
      history,
      rules: { compileAccess, compileGuards, guardedRules },
      failures: host.of(failures),
      tapDesk: host.of(tapping).desk,
      sessions: () => host.find(sessions)?.desk,
      backend: () => host.find(servers),
      edge: () => host.find(edge),
      vaults: () => host.find(vaults)?.opened,
      audit: () => host.find(auditing),
      log: host.log.child({ part: 'admin' }),
      faults,
      onFault: (what, error) => faults.bug('request', what, error),
    });
    if (opened.address !== undefined) host.addresses.admin = opened.address;
    measureConfig(history, metrics);
    return { offers: opened, stop: () => opened.close() };
  },
};

/** Answers questions of other processes about this one, with the parts started so far: the signs of life of its workers come later. */
export const adminAnswers: Part = {
  name: 'the answers of the admin port',
  isIn: ({ options }) => options.isServing,
  start: async (host) => ({ offers: await host.of(admin).join(host.of(connectedBus)) }),
};
