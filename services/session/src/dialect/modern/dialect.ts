/** The dialect of 2026-07-28, which has no sessions. */
import {
  createdTask,
  declaresExtension,
  latestModernRevision,
  tasksExtension,
  type ExchangeMethod,
  type JsonObject,
} from '@omnibus/protocol';
import type { ClientDialect, ServerAnswer, TaskMode } from '../dialect.ts';
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

  answerOf(method: ExchangeMethod, answer: ServerAnswer): ServerAnswer {
    if (answer.kind === 'error') return { kind: 'error', error: modernError(answer.error) };
    const task = method === 'tools/call' && !('resultType' in answer.result) ? createdTask(answer.result) : undefined;
    return {
      kind: 'result',
      result: modernResult(method, task === undefined ? answer.result : { resultType: 'task', ...extensionTask(task) }),
    };
  }
}

export const modernDialect = new ModernDialect();
