/**
 * Notifies an address of calls that wait for approvers, and of how each wait ended. Each message is signed. The answer decides nothing: approvers decide
 * at the admin port.
 */
import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ApprovalRecord } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';

export interface WebhookOptions {
  readonly url: string;
  readonly secret: string;
  /** Milliseconds for one attempt. */
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'approvalsUntold'>;
}

/** Bound on messages in flight; further ones are dropped, counted and logged. */
const maxOnTheirWay = 200;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

export class Webhook {
  readonly #options: WebhookOptions;
  readonly #stopping = new AbortController();
  #onTheirWay = 0;

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  /** Sends a message. Returns at once, and never throws. */
  tell(record: ApprovalRecord): void {
    if (this.#onTheirWay >= maxOnTheirWay) {
      this.#giveUp(record, `${maxOnTheirWay} messages are on their way already`);
      return;
    }
    this.#onTheirWay += 1;
    void this.#deliver(record).finally(() => {
      this.#onTheirWay -= 1;
    });
  }

  /** Gives up the messages in flight. */
  stop(): void {
    this.#stopping.abort();
  }

  async #deliver(record: ApprovalRecord): Promise<void> {
    const { url, attempts } = this.#options;
    const { worker: _worker, ...told } = record;
    const body = JSON.stringify(told);
    let problem = '';
    for (let attempt = 1; attempt <= attempts && !this.#stopping.signal.aborted; attempt += 1) {
      try {
        await this.#post(body, `${record.id}.${record.state}`);
        return;
      } catch (error) {
        problem = `${new URL(url).origin}: ${(error as Error).message}`;
      }
      // A notification of a wait that has ended meanwhile is of no use.
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1));
      if (attempt < attempts) await pause(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
    this.#giveUp(record, problem);
  }

  async #post(body: string, idempotencyKey: string): Promise<void> {
    const { url, secret, timeoutMs } = this.#options;
    const at = Math.floor(Date.now() / 1_000);
    const signature = `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`;
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#stopping.signal]);
    const answer = await fetch(url, {
      method: 'POST',
      body,
      redirect: 'error',
      signal,
      headers: {
        'content-type': 'application/json',
        'omnibus-signature': signature,
        'idempotency-key': idempotencyKey,
      },
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
  }

  #giveUp({ id, state }: ApprovalRecord, problem: string): void {
    this.#options.metrics.approvalsUntold.inc();
    this.#options.log.error({ approval: id, state, problem }, 'the webhook of approvals was not told');
  }
}
