/** The dialect of 2026-07-28, which has no sessions. */
import {
  anonymous,
  createdTask,
  declaresExtension,
  latestModernRevision,
  tasksExtension,
  type Caller,
  type ExchangeMethod,
  type JsonObject,
  type Principal,
  type SessionKey,
} from '@omnibus/protocol';
import type { CallerContext, ClientDialect, ServerAnswer, TaskMode } from '../dialect.ts';
import { CommonMessages } from '../messages.ts';
import { modernError, modernResult } from './encode.ts';
import { extensionTask } from './tasks.ts';

class ModernDialect extends CommonMessages implements ClientDialect {
  readonly unknownMethod = 'method.removed';
  readonly stateHasResult = true;
  readonly revision = latestModernRevision;

  /** @param declared capabilities in the metadata of the request. */
  taskMode(declared: JsonObject): TaskMode {
    return declaresExtension(declared, tasksExtension) ? 'offered' : 'none';
  }

  /** A request that asks, as adapters know it. */
  asker(principal: Principal, session: SessionKey): Pick<CallerContext, 'principal' | 'session' | 'standsAlone'> {
    return { principal, session, standsAlone: true };
  }

  /** Calls of one client go to one program of a stdio server, as far as the client is known. */
  contextOf({ principal, client }: Caller, session: SessionKey): CallerContext {
    const known = client ?? (principal === anonymous ? undefined : { id: principal, isOne: false });
    return known === undefined
      ? { principal, session, standsAlone: true }
      : { principal, session, standsAlone: true, client: known };
  }

  answerOf(method: ExchangeMethod, answer: ServerAnswer): ServerAnswer {
    if (answer.kind === 'error') return { kind: 'error', error: modernError(answer.error) };
    const isTask = method === 'tools/call' && 'task' in answer.result && !('resultType' in answer.result);
    const task = isTask ? createdTask(answer.result) : undefined;
    return {
      kind: 'result',
      result: modernResult(method, task === undefined ? answer.result : { resultType: 'task', ...extensionTask(task) }),
    };
  }
}

export const modernDialect = new ModernDialect();
