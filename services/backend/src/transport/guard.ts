/** Between a transport and what handles its messages: whatever throws while a message is handled ends one request at most, never the process. */
import { isJsonRpcId, isObject } from '@omnibus/protocol';
import type { Redactor } from './redactor.ts';
import type { TransportObserver } from './transport.ts';

/**
 * What a transport talks to instead of its observer: nothing it calls throws, and no credentials of ours come back in errors.
 * @param fault hears what was thrown.
 */
export function guarded(observer: TransportObserver, redactor: Redactor, fault: (error: unknown) => void): TransportObserver {
  const safely = (run: () => void): boolean => {
    try {
      run();
      return true;
    } catch (error) {
      fault(error);
      return false;
    }
  };
  const redacted = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    if ('error' in value) return { ...value, error: redactor.sentIn(value['error']) };
    // A tool's result with `isError` is an error too.
    return isObject(value['result']) && value['result']['isError'] === true ? { ...value, result: redactor.sentIn(value['result']) } : value;
  };
  return {
    message: (value, origin) => {
      const clean = Array.isArray(value) ? value.map(redacted) : redacted(value);
      if (safely(() => observer.message(clean, origin))) return;
      const id = isObject(value) && !('method' in value) && isJsonRpcId(value['id']) ? value['id'] : undefined;
      if (id !== undefined) safely(() => observer.requestFailed(id, { kind: 'invalid', problem: 'its answer could not be handled' }));
    },
    requestFailed: (id, failure) => safely(() => {
      const clean = { ...failure, problem: redactor.sent(failure.problem) };
      observer.requestFailed(id, clean.kind === 'refused' && clean.error !== undefined ? { ...clean, error: redactor.sentIn(clean.error) as typeof clean.error } : clean);
    }),
    sessionGone: () => safely(() => observer.sessionGone()),
    missed: () => safely(() => observer.missed()),
    lost: (problem) => safely(() => observer.lost(redactor.sent(problem))),
    dropped: (kind, problem, question) => safely(() => observer.dropped(kind, redactor.excerpt(problem), question)),
  };
}
