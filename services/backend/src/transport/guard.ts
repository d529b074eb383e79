/**
 * Catches exceptions between a transport and the code that handles its messages: an exception while a message is handled ends one request at most, and
 * never the process.
 */
import { isJsonRpcId, isObject, type JsonObject } from '@omnibus/protocol';
import type { Redactor } from './redactor.ts';
import type { TransportObserver } from './transport.ts';

/**
 * Wraps the observer of a transport: no call of it throws, and our credentials are removed from errors.
 * @param fault is called with the exception.
 */
export function guarded(
  observer: TransportObserver,
  redactor: Redactor,
  fault: (error: unknown) => void,
): TransportObserver {
  const safely = (run: () => void): void => {
    try {
      run();
    } catch (error) {
      fault(error);
    }
  };
  const redacted = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    if ('error' in value) return { ...value, error: redactor.sentIn(value['error']) };
    // A tool's result with `isError` is an error too.
    return isObject(value['result']) && value['result']['isError'] === true
      ? { ...value, result: redactor.sentIn(value['result']) }
      : value;
  };
  return {
    message: (value, origin) => {
      try {
        const isNoError =
          isObject(value) &&
          !('error' in value) &&
          (value['result'] as JsonObject | null | undefined)?.['isError'] !== true;
        const clean = isNoError ? value : Array.isArray(value) ? value.map(redacted) : redacted(value);
        observer.message(clean, origin);
      } catch (error) {
        fault(error);
        const id = isObject(value) && !('method' in value) && isJsonRpcId(value['id']) ? value['id'] : undefined;
        if (id !== undefined)
          safely(() => observer.requestFailed(id, { kind: 'invalid', problem: 'its answer could not be handled' }));
      }
    },
    requestFailed: (id, failure) =>
      safely(() => {
        const clean = { ...failure, problem: redactor.sent(failure.problem) };
        observer.requestFailed(
          id,
          clean.kind === 'refused' && clean.error !== undefined
            ? { ...clean, error: redactor.sentIn(clean.error) as typeof clean.error }
            : clean,
        );
      }),
    sessionGone: () => safely(() => observer.sessionGone()),
    missed: () => safely(() => observer.missed()),
    lost: (problem, trouble) => safely(() => observer.lost(redactor.sent(problem), trouble)),
    takesAfterText: () => observer.takesAfterText(),
    dropped: (kind, problem, question, isAnswer) =>
      safely(() => observer.dropped(kind, redactor.excerpt(problem), question, isAnswer)),
  };
}
