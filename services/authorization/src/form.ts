import type { IncomingMessage } from 'node:http';
import { readSmallBody } from '@omnibus/telemetry';

/** Thrown for a request that no page of this server sends. */
export class Unwanted extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Thrown for a method that an address does not take (RFC 9110, 15.5.6). */
export class NotAllowed extends Unwanted {
  /** The methods that it takes. */
  readonly allowed: string;

  constructor(allowed: string) {
    super(405, `this address takes ${allowed} only`);
    this.allowed = allowed;
  }
}

/** @throws {Unwanted} when the body is too long. */
export async function readText(request: IncomingMessage): Promise<string> {
  const text = await readSmallBody(request);
  if (text === undefined) throw new Unwanted(413, 'the form is too long');
  return text;
}

/** @throws {Unwanted} when the body is not a form, or does not come from a page of this server. */
export async function readForm(request: IncomingMessage, publicUrl: string): Promise<URLSearchParams> {
  const { origin: from, 'content-type': type = '', 'sec-fetch-site': site = 'same-origin' } = request.headers;
  if ((from !== undefined && from !== new URL(publicUrl).origin) || site !== 'same-origin')
    throw new Unwanted(403, 'this form does not come from a page of this site');
  if (!type.startsWith('application/x-www-form-urlencoded')) throw new Unwanted(415, 'expected a form');
  return new URLSearchParams(await readText(request));
}
