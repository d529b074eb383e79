/** Results with one text, and an audit that a test reads: what tests of scripts, composite tools and labels share. */
import type { Audit, AuditEvent } from '@omnibus/audit';
import type { ExchangeEvent, JsonObject } from '@omnibus/protocol';

/** @param events where each record goes. */
export function auditIn(events: AuditEvent[]): Audit {
  return {
    isStrict: false,
    wantsResults: false,
    wants: () => true,
    record: (event) => void events.push(event),
    confirm: () => Promise.resolve(true),
  };
}

/** The answer of a server: a result with one text. */
export function textOf(text: string): ExchangeEvent {
  return { kind: 'result', result: { content: [{ type: 'text', text }] } };
}

/** The first text of a result; the whole as JSON if it has none. */
export function textIn(result: JsonObject): string {
  return (result['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(result);
}
