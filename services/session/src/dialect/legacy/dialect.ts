/** The dialect of the revisions with sessions, which differ by feature (`featuresOf`). */
import {
  featuresOf,
  type Caller,
  type ExchangeMethod,
  type InputMethod,
  type JsonObject,
  type Revision,
  type SessionKey,
} from '@omnibus/protocol';
import type { CallerContext, ClientDialect, ServerAnswer, TaskMode } from '../dialect.ts';
import { CommonMessages } from '../messages.ts';
import { downLevelError, downLevelQuestion, downLevelResult } from './down-level.ts';
import { plainModernError, plainResult } from './from-modern.ts';

export class LegacyDialect extends CommonMessages implements ClientDialect {
  readonly unknownMethod = 'method.unknown';
  readonly stateHasResult = false;
  /** Whether a POST may contain several messages (2025-03-26). */
  readonly hasBatches: boolean;
  readonly taskMode: TaskMode;
  readonly revision: Revision;
  /** Whether clients know every kind of content. */
  readonly #knowsAllContent: boolean;

  constructor(revision: Revision) {
    super();
    const { batching, tasks, audioContent, resourceLinks } = featuresOf(revision);
    this.#knowsAllContent = audioContent && resourceLinks;
    this.revision = revision;
    this.hasBatches = batching;
    this.taskMode = tasks ? 'requested' : 'none';
  }

  answerOf(method: ExchangeMethod, answer: ServerAnswer, wrapsOutput: boolean): ServerAnswer {
    const plain = answer.kind === 'error' ? plainModernError(method, answer.error) : answer;
    if (plain.kind === 'error') return downLevelError(method, plain.error, this.revision);
    const isNewer = wrapsOutput || 'resultType' in plain.result;
    if (!isNewer && this.#knowsAllContent) return plain;
    const result = isNewer ? plainResult(plain.result, wrapsOutput) : plain.result;
    return { kind: 'result', result: downLevelResult(method, result, this.revision) };
  }

  contextOf({ principal }: Caller, session: SessionKey): CallerContext {
    return { principal, session, standsAlone: false };
  }

  /** The parameters of a server's question in this revision, or why a client of it cannot get it. */
  questionOf(method: InputMethod, params: JsonObject): ReturnType<typeof downLevelQuestion> {
    return downLevelQuestion(method, params, this.revision);
  }
}

const dialects = new Map<Revision, LegacyDialect>();

/** The dialect of a revision; one object for each. @param revision a negotiated one. */
export function legacyDialect(revision: Revision): LegacyDialect {
  const known = dialects.get(revision);
  if (known !== undefined) return known;
  const dialect = new LegacyDialect(revision);
  dialects.set(revision, dialect);
  return dialect;
}
