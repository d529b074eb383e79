/** Assembles what one worker needs for approvals. Nothing is opened before the first call has to be approved. */
import type { Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { Approvals, type ApprovalsOptions } from './approvals.ts';
import { Board } from './board.ts';
import { Webhook } from './webhook.ts';

export interface OpenedApprovals {
  readonly approvals: Approvals;
  stop(): void;
}

interface OpenOptions extends Omit<ApprovalsOptions, 'board' | 'metrics'> {
  readonly bus: Bus;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly webhook: NonNullable<Config['access']>['approvals']['webhook'] | undefined;
}

export function openApprovals({ bus, log, webhook, ...options }: OpenOptions): OpenedApprovals {
  const { metrics } = options;
  const told = webhook === undefined ? undefined : new Webhook({ url: webhook.url, secret: webhook.secret, timeoutMs: webhook.timeout, attempts: webhook.attempts, log, metrics });
  const board = new Board({ bus, log, webhook: told });
  const approvals = new Approvals({ ...options, board });
  metrics.beforeScrape(() => metrics.waitingApprovals.set(approvals.size));
  return { approvals, stop: () => board.stop() };
}
