/** Messages of a call that are the same in every revision. */
import { notificationText, type JsonObject, type JsonRpcId, type ProgressEvent } from '@omnibus/protocol';

export class CommonMessages {
  progressText(token: JsonRpcId, { progress, total, message, more }: ProgressEvent): string {
    return notificationText('notifications/progress', {
      progressToken: token,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
      ...more,
    });
  }

  logText(params: JsonObject, source: string | undefined): string {
    const logger = params['logger'];
    const named =
      source === undefined
        ? params
        : { ...params, logger: typeof logger === 'string' ? `${source}/${logger}` : source };
    return notificationText('notifications/message', named);
  }
}
