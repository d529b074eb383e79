import type { IncomingMessage, ServerResponse } from 'node:http';

/** Pages and addresses beside the endpoints, which others serve: those of the authorization server. */
export interface Site {
  /** @param path of a request, with its query. */
  handles(path: string): boolean;
  /** Answers a request to a path that it handles; never throws. @param address what its client is counted under. */
  handle(request: IncomingMessage, response: ServerResponse, address: string): void;
}
