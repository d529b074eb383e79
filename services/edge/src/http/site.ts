import type { IncomingMessage, ServerResponse } from 'node:http';

/** Pages other than the endpoints, such as those of the authorization server. */
export interface Site {
  /** @param path of a request, with its query. */
  handles(path: string): boolean;
  /** Answers a request to a path that it handles; never throws. @param address key that its client is counted under. */
  handle(request: IncomingMessage, response: ServerResponse, address: string): void;
}
