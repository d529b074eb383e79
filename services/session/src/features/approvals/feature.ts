/** Calls that need an approval first (`ask` under `access`). Nothing is opened before the first call must be approved. */
import type { Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Policy } from '@omnibus/policy';
import type { SessionFeature } from '../../feature.ts';
import { approvalGate } from './approval-gate.ts';
import { ApproverForms } from './approver-forms.ts';
import { ApproverDesk } from './approver-desk.ts';
import { Approvals, type ApprovalsOptions } from './approvals.ts';
import { Board } from './board.ts';
import { CallGrants } from './call-grants.ts';
import { Webhook } from './webhook.ts';

interface OpenOptions extends Omit<ApprovalsOptions, 'board' | 'grants' | 'metrics'> {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly config: Pick<Config, 'access' | 'auth'>;
}

/** @param policy the compiled rules; undefined where there are none. */
export function openApprovals(
  { bus, log, config: { access, auth }, ...options }: OpenOptions,
  policy: Policy | undefined,
): SessionFeature {
  const { metrics } = options;
  const { webhook, clients } = access?.approvals ?? {};
  const roles = auth === undefined || auth === 'none' ? undefined : auth.admin?.roles;
  const told =
    webhook === undefined
      ? undefined
      : new Webhook({
          url: webhook.url,
          secret: webhook.secret,
          timeoutMs: webhook.timeout,
          attempts: webhook.attempts,
          log,
          metrics,
        });
  const board = new Board({ bus, log, webhook: told });
  const grants = new CallGrants({ bus, log });
  const approvals = new Approvals({ ...options, metrics, board, grants });
  metrics.beforeScrape(() => metrics.waitingApprovals.set(approvals.size));
  const desk = clients === true && roles !== undefined ? new ApproverDesk({ board, roles, log, metrics }) : undefined;
  let isOn = hasAsking(policy);
  return {
    name: 'approvals',
    get isOn() {
      return isOn;
    },
    get waiting() {
      return approvals.forApprovers;
    },
    gates: [approvalGate(approvals)],
    guests: desk === undefined ? [] : [(session) => new ApproverForms({ ...session, desk })],
    start: async () => {
      await Promise.all([desk?.start(), grants.apply(policy)]);
    },
    apply: (_config, compiled) => {
      isOn = hasAsking(compiled.policy);
      void grants.apply(compiled.policy);
    },
    stop: () => {
      board.stop();
      grants.stop();
    },
  };
}

function hasAsking(policy: Policy | undefined): boolean {
  return policy?.rules.some(({ effect }) => effect === 'ask') === true;
}
