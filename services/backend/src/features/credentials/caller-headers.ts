/** Headers with the identity of the caller. */
import { hash } from 'node:crypto';
import type { ServerConfig } from '@omnibus/config';
import {
  fault,
  hasTemplates,
  headersFor,
  type ExchangeContext,
  type GatewayFault,
  type ServerName,
} from '@omnibus/protocol';

type CallerHeaders = { readonly headers: Readonly<Record<string, string>> } | { readonly fault: GatewayFault };
/** The headers for a caller, or why they cannot be made. */
export type HeadersOf = (context: ExchangeContext) => CallerHeaders;

/** @returns undefined for a server without such headers. */
export function headersOf(
  server: ServerName,
  { headers, absentFacts }: Pick<ServerConfig, 'headers' | 'absentFacts'>,
): HeadersOf | undefined {
  if (!hasTemplates(headers)) return undefined;
  return ({ who }) => {
    const made = headersFor(headers, who, absentFacts);
    if ('headers' in made) return made;
    const { header, fact, problem } = made;
    return {
      fault: fault(
        'upstream.caller_fact',
        `server "${server}" is told who calls it in the header "${header}", by the fact "${fact}": ${problem}`,
        { server, header, fact },
      ),
    };
  };
}

/** The key of connections by their caller's headers: the facts about a caller may change meanwhile. */
export function markOf(headers: Readonly<Record<string, string>> | undefined): string {
  return headers === undefined ? '' : ` ${hash('sha256', JSON.stringify(headers), 'base64url')}`;
}
