/** The board of calls that wait for approvers, as one session worker uses it: opened with the first of them, and followed while there are some. */
import { ApprovalBoard, BusError, openingAdvice, type Bus, type Watch } from '@omnibus/bus';
import { shortApproval, type ApprovalRecord, type WorkerId } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { Webhook } from './webhook.ts';

export interface BoardOptions {
  readonly bus: Bus;
  readonly log: Logger;
  /** Undefined when no webhook is configured. */
  readonly webhook: Webhook | undefined;
}

/** How a wait ended. */
type Ended = 'approved' | 'refused' | 'expired' | 'withdrawn' | 'impossible';

export class Board {
  readonly #options: BoardOptions;
  readonly #waiting = new Map<
    string,
    { readonly record: ApprovalRecord; readonly decided: (record: ApprovalRecord) => void }
  >();
  #observer: (record: ApprovalRecord) => void = () => undefined;
  #opening: Promise<ApprovalBoard> | undefined;
  #watch: Watch | undefined;

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  /**
   * Puts a call there.
   * @param decided called when approvers have decided.
   * @returns false when there is a record with this id.
   * @throws {Error} when it cannot be stored; the log says why.
   */
  async post(record: ApprovalRecord, decided: (record: ApprovalRecord) => void): Promise<boolean> {
    this.#waiting.set(record.id, { record: shortApproval(record), decided });
    try {
      const board = await this.#open();
      // The call may have been withdrawn while the board was opened.
      if (!this.#waiting.has(record.id)) return true;
      await board.post(record);
    } catch (error) {
      this.#waiting.delete(record.id);
      if (error instanceof BusError && error.kind === 'revision-conflict') return false;
      this.#options.log.error(
        { err: error },
        `a call that waits for approvers cannot be shown to them: ${openingAdvice(error)}`,
      );
      throw error;
    }
    if (this.#waiting.has(record.id)) this.#options.webhook?.tell(record);
    else this.#close(record, 'withdrawn');
    return true;
  }

  /**
   * Takes over the wait of a call whose session worker is gone.
   * @param isOurs whether it is the same call, with an outcome that it can wait for or use.
   * @param decided called when approvers have decided, also if they did before this.
   * @returns the record; undefined when there is none, or it is of another call.
   * @throws {Error} when the board cannot be read or written.
   */
  async takeOver(
    id: string,
    worker: WorkerId,
    isOurs: (record: ApprovalRecord) => boolean,
    decided: (record: ApprovalRecord) => void,
  ): Promise<ApprovalRecord | undefined> {
    const board = await this.#open();
    const found = await board.get(id);
    if (found === undefined || !isOurs(found)) return undefined;
    const held = { record: shortApproval({ ...found, worker }), decided };
    this.#waiting.set(id, held);
    try {
      return await board.take(id, worker);
    } catch (error) {
      this.#waiting.delete(id);
      throw error;
    }
  }

  /** Called when the call no longer waits. */
  ended(id: string, outcome: Ended): void {
    const held = this.#waiting.get(id);
    if (held === undefined || !this.#waiting.delete(id)) return;
    if (outcome !== 'impossible') this.#close(held.record, outcome);
  }

  /** Calls back with every record there, of all workers, and with every change; opens the board for that. Without a board, later once it can be opened. */
  async follow(observer: (record: ApprovalRecord) => void): Promise<void> {
    this.#observer = observer;
    await this.#open().catch((error: unknown) =>
      this.#options.log.error(
        { err: error },
        `approvers cannot be shown calls in their clients: ${openingAdvice(error)}`,
      ),
    );
  }

  /** Decides about a call of any worker. @throws {Error} in words for the approver. */
  async decide(...decision: Parameters<ApprovalBoard['decide']>): Promise<ApprovalRecord> {
    return (await this.#open()).decide(...decision);
  }

  #close(record: ApprovalRecord, outcome: Exclude<Ended, 'impossible'>): void {
    this.#options.webhook?.tell({ ...record, state: outcome });
    if (outcome === 'refused') return;
    const [from, to] = outcome === 'approved' ? (['approved', 'used'] as const) : (['waiting', outcome] as const);
    void this.#open()
      .then((board) => board.close(record.id, from, to, record.worker))
      .catch((error: unknown) =>
        this.#options.log.warn(
          { err: error, approval: record.id },
          'what became of a call that waited for approvers could not be written down',
        ),
      );
  }

  #open(): Promise<ApprovalBoard> {
    this.#opening ??= this.#begin().catch((error: unknown) => {
      this.#opening = undefined; // The next call tries again.
      throw error;
    });
    return this.#opening;
  }

  async #begin(): Promise<ApprovalBoard> {
    const board = await ApprovalBoard.open(this.#options.bus);
    this.#watch = await board.watch((record) => {
      this.#waiting.get(record.id)?.decided(record);
      this.#observer(record);
    });
    return board;
  }

  stop(): void {
    this.#watch?.close();
    this.#options.webhook?.stop();
  }
}
