/** The board of calls that wait for approvers, as one session worker uses it: opened with the first of them, and followed while there are some. */
import { setLast } from '@omnibus/collections';
import { ApprovalBoard, isConflict, openingAdvice, type Bus, type Watch } from '@omnibus/bus';
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

/** Bound on the records of one caller's calls that wait no more; beyond it, the oldest one is removed. */
const maxEnded = 100;
/** Bound on the callers that are counted. */
const maxCallers = 1_000;

interface Held {
  readonly record: ApprovalRecord;
  /** Names its caller: the bound on records is for each caller. */
  readonly share: string;
  readonly decided: (record: ApprovalRecord) => void;
}

export class Board {
  readonly #options: BoardOptions;
  readonly #waiting = new Map<string, Held>();
  /** Ids of records by caller, the caller that was here last at the end. */
  readonly #ended = new Map<string, string[]>();
  #observer: (record: ApprovalRecord) => void = () => undefined;
  #opening: Promise<ApprovalBoard> | undefined;
  #watch: Watch | undefined;

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  /**
   * Puts a call there.
   * @param share names its caller.
   * @param decided called when approvers have decided.
   * @returns false when there is a record with this id.
   * @throws {Error} when it cannot be stored; the log says why.
   */
  async post(record: ApprovalRecord, share: string, decided: (record: ApprovalRecord) => void): Promise<boolean> {
    const held = { record: shortApproval(record), share, decided };
    this.#waiting.set(record.id, held);
    try {
      const board = await this.#open();
      // The call may have been withdrawn while the board was opened.
      if (!this.#waiting.has(record.id)) return true;
      await board.post(record);
    } catch (error) {
      this.#waiting.delete(record.id);
      if (isConflict(error)) return false;
      this.#options.log.error(
        { err: error },
        `a call that waits for approvers cannot be shown to them: ${openingAdvice(error)}`,
      );
      throw error;
    }
    if (this.#waiting.has(record.id)) this.#options.webhook?.tell(record);
    else this.#close(held, 'withdrawn');
    return true;
  }

  /**
   * Takes over the wait of a call whose session worker is gone.
   * @param share names its caller.
   * @param isOurs whether it is the same call, with an outcome that it can wait for or use.
   * @param decided called when approvers have decided, also if they did before this.
   * @returns the record; undefined when there is none, or it is of another call.
   * @throws {Error} when the board cannot be read or written.
   */
  async takeOver(
    id: string,
    worker: WorkerId,
    share: string,
    isOurs: (record: ApprovalRecord) => boolean,
    decided: (record: ApprovalRecord) => void,
  ): Promise<ApprovalRecord | undefined> {
    const board = await this.#open();
    const found = await board.get(id);
    if (found === undefined || !isOurs(found)) return undefined;
    const held = { record: shortApproval({ ...found, worker }), share, decided };
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
    if (outcome !== 'impossible') this.#close(held, outcome);
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

  #close({ record, share }: Held, outcome: Exclude<Ended, 'impossible'>): void {
    this.#options.webhook?.tell({ ...record, state: outcome });
    const [from, to] = outcome === 'approved' ? (['approved', 'used'] as const) : (['waiting', outcome] as const);
    void this.#open()
      .then(async (board) => {
        // A record that another worker has taken over is not over.
        if (outcome !== 'refused' && !(await board.close(record.id, from, to, record.worker))) return;
        const oldest = this.#oldestBeside(record.id, share);
        if (oldest !== undefined) await board.remove(oldest);
      })
      .catch((error: unknown) =>
        this.#options.log.warn(
          { err: error, approval: record.id },
          'the outcome of a call that waited for approvers could not be written down',
        ),
      );
  }

  /**
   * Counts a record among those of its caller, which must not fill the bucket with calls that it withdraws.
   * @returns the id of the record that it displaces.
   */
  #oldestBeside(id: string, share: string): string | undefined {
    const ids = this.#ended.get(share) ?? [];
    setLast(this.#ended, share, ids, maxCallers);
    ids.push(id);
    return ids.length > maxEnded ? ids.shift() : undefined;
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
