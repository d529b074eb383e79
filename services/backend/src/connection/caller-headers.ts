/** Headers with the identity of the caller. */
import { hash } from 'node:crypto';
import type { ServerConfig } from '@omnibus/config';
import { fault, hasTemplates, headersFor, type ExchangeContext, type ServerName } from '@omnibus/protocol';
import type { ShownHeaders } from './pool-options.ts';

/** @returns undefined for a server without such headers. */
export function headersOf(
  server: ServerName,
  { headers, absentFacts }: Pick<ServerConfig, 'headers' | 'absentFacts'>,
): ((context: ExchangeContext) => ShownHeaders) | undefined {
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
export function markOf(shown: ShownHeaders | undefined): string {
  return shown === undefined || 'fault' in shown
    ? ''
    : ` ${hash('sha256', JSON.stringify(shown.headers), 'base64url')}`;
}
