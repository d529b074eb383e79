/** What belongs to a call, in the words every revision has for it. */
import { notificationText, type ExchangeEvent, type JsonObject, type JsonRpcId } from '@omnibus/protocol';

export function progressText(token: JsonRpcId, { progress, total, message, more }: Extract<ExchangeEvent, { kind: 'progress' }>): string {
  return notificationText('notifications/progress', {
    progressToken: token,
    progress,
    ...(total === undefined ? {} : { total }),
    ...(message === undefined ? {} : { message }),
    ...more,
  });
}

/** @param source the server's name where the client sees several servers. */
export function logText(params: JsonObject, source: string | undefined): string {
  const logger = params['logger'];
  const named = source === undefined ? params : { ...params, logger: typeof logger === 'string' ? `${source}/${logger}` : source };
  return notificationText('notifications/message', named);
}
