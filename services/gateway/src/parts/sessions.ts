/** The session worker of this process. */
import type { SessionWorker } from '@omnibus/session';
import { compileAccess, compileGuards } from '@omnibus/setup/rules';
import { begun, type Part } from '../part.ts';
import { auditing } from './audit.ts';
import { connectedBus } from './bus.ts';
import { failures } from './failures.ts';
import { callerProofs } from './proofs.ts';
import { tapping } from './tap.ts';
import { traces } from './tracing.ts';

export const sessions: Part<SessionWorker> = {
  name: 'the session worker',
  isIn: (host) => host.has('session'),
  async start(host) {
    const { createSessionWorker, Sealer } = await import('@omnibus/session');
    const { config, wheel, metrics } = host;
    const { sealingKeys } = host.options;
    const worker = await createSessionWorker({
      config,
      bus: host.of(connectedBus),
      wheel,
      metrics,
      tracing: host.of(traces),
      audit: host.of(auditing),
      tap: host.find(tapping)?.tap,
      failures: host.of(failures),
      sealer: sealingKeys === undefined ? undefined : new Sealer(sealingKeys),
      proofs: host.of(callerProofs),
      policy: await compileAccess(config),
      guardrails: await compileGuards(config),
      log: host.log.child({ role: 'session' }),
    });
    await begun(worker);
    return {
      offers: worker,
      async prepare(changed) {
        const [policy, guardrails] = [await compileAccess(changed), await compileGuards(changed)];
        return () => worker.apply(changed, policy, guardrails);
      },
      leave: () => worker.stop(),
    };
  },
};
