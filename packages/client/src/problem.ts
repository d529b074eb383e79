/** Why a request or a command failed, with the exit status that this means for a script. */
import { isObject } from '@omnibus/protocol';
import type { Exit } from './exit-codes.ts';

/** The reason why a command failed, with its exit status and advice for the user. */
export class CommandProblem extends Error {
  readonly exit: Exit;
  readonly advice: string | undefined;
  /** Reason from `docs/reference/errors.md`, where the error is one of a gateway. */
  readonly reason: string | undefined;
  readonly retry: string | undefined;
  /** Member `data` of the JSON-RPC error, where it is one. */
  readonly data: unknown;

  constructor(
    exit: Exit,
    message: string,
    more: {
      readonly data?: unknown;
      readonly advice?: string | undefined;
      readonly reason?: string | undefined;
      readonly retry?: string | undefined;
    } = {},
  ) {
    super(message);
    this.exit = exit;
    this.advice = more.advice;
    this.reason = more.reason;
    this.retry = more.retry;
    this.data = more.data;
  }
}

/** The problem, with its exit status, that a JSON-RPC error of a gateway or server means for a command. */
export function problemOf(error: {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}): CommandProblem {
  const { reason, retry, httpStatus } = isObject(error.data)
    ? (error.data as { readonly reason?: string; readonly retry?: string; readonly httpStatus?: number })
    : {};
  return new CommandProblem(exitOf(reason ?? '', error.code, httpStatus), error.message, {
    reason,
    retry,
    data: error.data,
  });
}

function exitOf(reason: string, code: number, httpStatus: number | undefined): Exit {
  if (
    /^(tool|prompt|resource|task)\.(unknown|ambiguous)$/.test(reason) ||
    reason === 'http.path_unknown' ||
    (reason === '' && code === -32_002)
  )
    return 'unknown';
  if (reason.startsWith('auth.') || reason.endsWith('.forbidden') || httpStatus === 401 || httpStatus === 403)
    return 'forbidden';
  if (httpStatus === 404) return 'unknown';
  if (reason.endsWith('.timeout')) return 'timeout';
  if (
    /^(upstream\.(busy|connections|paused|later)|session\.(limit|rate|busy)|gateway\.(busy|draining|interrupted)|request\.limit|upstream\.lost|state\.lost)$/.test(
      reason,
    )
  )
    return 'busy';
  if (reason === 'upstream.unavailable' || reason === 'gateway.unavailable' || reason === 'upstream.refused')
    return 'unreachable';
  return reason === 'params.invalid' || code === -32_602 ? 'usage' : 'other';
}
