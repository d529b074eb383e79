/** The answers of a process that holds calls to questions about those that wait for approvers. */
import { ApprovalBoard, type Bus, type Watch } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { approvalStates } from '@omnibus/admin-api';
import { printable, shortApproval, type ApprovalRecord, type Facts } from '@omnibus/protocol';
import { z } from 'zod';
import type { SealingKeys } from '@omnibus/identity';
import { asItIs, mayLook, refusalOf, sentApprover, sentFacts } from '../approval-rules.ts';
import { isSigned } from './decision-seal.ts';
import type { Question } from './process-desk.ts';

export interface ApprovalDeskOptions {
  readonly wheel: DeadlineWheel;
  /** Undefined while the process is starting, and where it holds no calls. */
  readonly bus: () => Bus | undefined;
  readonly process: string;
  /** The keys for signatures of decisions; undefined without authenticated callers, or if no other process could send decisions. */
  readonly signedWith: () => SealingKeys | undefined;
}

/** Records are followed while there is a reader, and this long afterwards. */
const followedMs = 30_000;
/** A record stays visible for a day, as long as the bucket keeps it. */
const shownMs = 86_400_000;

const asked = z.object({
  of: z.object(sentApprover).optional(),
  state: z.enum(['waiting', 'over']).optional(),
  from: z.number(),
  limit: z.number(),
});
const toDecide = z.object({
  id: z.string(),
  digest: z.string(),
  approve: z.boolean(),
  withdraw: z.boolean().optional(),
  reason: z.string().optional(),
  forMs: z.number().optional(),
  by: z.string(),
  facts: sentFacts,
});

export class ApprovalDesk {
  readonly #options: ApprovalDeskOptions;
  readonly #records = new Map<string, ApprovalRecord>();
  #watch: Promise<Watch> | undefined;
  #end: Deadline | undefined;

  constructor(options: ApprovalDeskOptions) {
    this.#options = options;
  }

  readonly questions: Readonly<Record<string, Question>> = {
    approvals: async (args) => {
      const bus = this.#options.bus();
      return bus === undefined ? undefined : this.#list(bus, asked.parse(args));
    },
    approval: async ({ id }) => {
      const bus = this.#options.bus();
      const record = bus === undefined ? undefined : await (await ApprovalBoard.open(bus)).get(String(id));
      return record === undefined ? (bus === undefined ? undefined : {}) : { approval: asItIs(record) };
    },
    'approval-decide': async ({ to, said, signature }) => {
      const bus = this.#options.bus();
      return bus === undefined || to !== this.#options.process
        ? undefined
        : this.#decide(bus, String(said), typeof signature === 'string' ? signature : '');
    },
  };

  async #list(bus: Bus, { of, state, from, limit }: z.output<typeof asked>): Promise<object> {
    await this.#follow(bus);
    const since = Date.now() - shownMs;
    const all = [...this.#records.values()]
      .filter((record) => record.at >= since && (of === undefined || mayLook(of, record)))
      .map(asItIs);
    const waiting = all
      .filter((record) => record.state === 'waiting')
      .toSorted((one, other) => one.until - other.until);
    const over = all.filter((record) => record.state !== 'waiting').toSorted((one, other) => other.at - one.at);
    const found = state === 'waiting' ? waiting : state === 'over' ? over : [...waiting, ...over];
    return {
      approvals: found.slice(from, from + limit),
      waiting: waiting.length,
      total: found.length,
    };
  }

  async #decide(bus: Bus, said: string, signature: string): Promise<object> {
    const keys = this.#options.signedWith();
    if (keys !== undefined && !isSigned(keys, said, signature))
      return { kind: 'unsigned', problem: 'the signature of this decision does not fit' };
    const { id, digest, approve, withdraw, reason, forMs, by, facts } = toDecide.parse(JSON.parse(said));
    let kind = 'over';
    try {
      if (withdraw === true) {
        const left = await (await ApprovalBoard.open(bus)).withdrawVote(id, personOf(facts));
        return { approval: shortApproval(left) };
      }
      const decided = await (
        await ApprovalBoard.open(bus)
      ).decide(
        id,
        { state: approve ? 'approved' : 'refused', by, person: personOf(facts), reason, forMs },
        (record) => {
          const refusal = refusalOf({ facts }, record, digest);
          kind = refusal === undefined ? 'over' : record.digest === digest ? 'forbidden' : 'changed';
          return refusal;
        },
      );
      const short = shortApproval(decided);
      if (this.#watch !== undefined) this.#records.set(id, short);
      return { approval: short };
    } catch (error) {
      return { kind, problem: printable((error as Error).message, 500) };
    }
  }

  async #follow(bus: Bus): Promise<void> {
    this.#end?.cancel();
    this.#end = this.#options.wheel.schedule(followedMs, () => this.stop());
    const since = Date.now() - shownMs;
    for (const [id, { at }] of this.#records) if (at < since) this.#records.delete(id);
    const watch = (this.#watch ??= ApprovalBoard.open(bus).then((board) =>
      board.watch((record) => {
        this.#records.set(record.id, shortApproval(record));
      }),
    ));
    try {
      await watch;
    } catch (error) {
      if (this.#watch === watch) this.#watch = undefined;
      throw error;
    }
  }

  /** Stops following. */
  stop(): void {
    this.#end?.cancel();
    void this.#watch?.then(
      (watch) => watch.close(),
      () => undefined,
    ); // The caller has got the error.
    this.#watch = undefined;
    this.#records.clear();
  }
}

/** One record, as processes send it to each other; a member that this version does not know is left out. */
export const sentApproval = z.object({
  id: z.string(),
  state: z.enum(approvalStates),
  worker: z.string(),
  at: z.number(),
  until: z.number(),
  rule: z.string(),
  because: z.string().optional(),
  server: z.string(),
  kind: z.enum(['prompt', 'resource']).optional(),
  tool: z.string(),
  arguments: z.string(),
  hidden: z.number().optional(),
  digest: z.string(),
  principal: z.string(),
  who: z.array(z.string()),
  tenant: z.string().optional(),
  client: z.string().optional(),
  approvers: z.array(z.string()).optional(),
  quorum: z.number().optional(),
  votes: z
    .array(z.object({ person: z.string(), by: z.string(), at: z.number(), forMs: z.number().optional() }))
    .optional(),
  lasts: z.number().optional(),
  forMs: z.number().optional(),
  by: z.string().optional(),
  reason: z.string().optional(),
});
export type SentApproval = z.output<typeof sentApproval>;

/** `ISSUER|SUBJECT` of an approver; undefined for an unknown one. */
function personOf(facts: Facts | undefined): string | undefined {
  return facts === undefined ? undefined : `${facts.issuer}|${facts.subject}`;
}
