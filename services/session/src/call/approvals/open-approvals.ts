/** Assembles what one worker needs for approvals. Nothing is opened before the first call has to be approved. */
import type { Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { ApproverDesk } from './approver-desk.ts';
import { Approvals, type ApprovalsOptions } from './approvals.ts';
import { Board } from './board.ts';
import { Webhook } from './webhook.ts';

export interface OpenedApprovals {
  readonly approvals: Approvals;
  /** Shows waiting calls to approvers in their clients; undefined where that is not configured. */
  readonly desk: ApproverDesk | undefined;
  stop(): void;
}

interface OpenOptions extends Omit<ApprovalsOptions, 'board' | 'metrics'> {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly config: Pick<Config, 'access' | 'auth'>;
}

export function openApprovals({ bus, log, config: { access, auth }, ...options }: OpenOptions): OpenedApprovals {
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
  const approvals = new Approvals({ ...options, board });
  metrics.beforeScrape(() => metrics.waitingApprovals.set(approvals.size));
  const desk = clients === true && roles !== undefined ? new ApproverDesk({ board, roles, log, metrics }) : undefined;
  return { approvals, desk, stop: () => board.stop() };
}
