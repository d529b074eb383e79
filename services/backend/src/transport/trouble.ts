import type { GatewayFault, ServerTrouble } from '@omnibus/protocol';

/** The error code for missing credentials; nothing was sent to the server then. */
export const noCredentials = 'OMNIBUS_NO_CREDENTIALS';

/** Why a connection could not be opened, with the kind of the problem: code decides by the kind, never by the text. */
export class Troubled extends Error {
  readonly trouble: ServerTrouble;

  constructor(trouble: ServerTrouble, message: string) {
    super(message);
    this.trouble = trouble;
  }
}

/** The server speaks HTTP+SSE, and its messages are invalid. */
export class UnusableStream extends Troubled {
  constructor(message: string) {
    super('speech', message);
  }
}

/** The stream of HTTP+SSE is refused until a sign-in (HTTP 401). */
export class SignInWanted extends Troubled {
  constructor(message: string) {
    super('credentials', message);
  }
}

export function troubleIn(error: unknown): ServerTrouble | undefined {
  return error instanceof Troubled ? error.trouble : undefined;
}

/** The kind of problem for an HTTP status that refuses to open a connection. */
export function troubleOfStatus(status: number | undefined): ServerTrouble {
  if (status === undefined) return 'address';
  return status === 401 || status === 403
    ? 'credentials'
    : status === 404 || status === 405 || status >= 500
      ? 'address'
      : 'speech';
}

/** Whether the server has refused a request with an HTTP error, for good or for now. */
export function isRefusal({ reason }: Pick<GatewayFault, 'reason'>): boolean {
  return reason === 'upstream.refused' || reason === 'upstream.later';
}
