/** Audit records of an edge: refused authentication, and requests that were lost with the worker that would have recorded them. */
import type { IncomingMessage } from 'node:http';
import type { Audit, AuditEvent } from '@omnibus/audit';
import { fault, repeatableMethods, type Caller, type EndpointName, type GatewayFault, type JsonRpcRequest, type SessionKey } from '@omnibus/protocol';

export class EdgeRecords {
  readonly #audit: Audit;
  readonly #addressOf: (request: IncomingMessage) => string;

  /** @param addressOf gives the address key of a client. */
  constructor(audit: Audit, addressOf: (request: IncomingMessage) => string) {
    this.#audit = audit;
    this.#addressOf = addressOf;
  }

  /** Records that a request was not authenticated, or not sufficiently. Nothing of its credentials is recorded. */
  readonly strange = (request: IncomingMessage, endpoint: EndpointName, { reason }: GatewayFault): void => {
    this.#audit.record({ name: 'auth.refused', weight: 'refusal', who: { address: this.#addressOf(request) }, endpoint, outcome: 'denied', reason });
  };

  /** Records requests whose worker is gone, so that it is not known whether they were executed. */
  readonly lost = (caller: Caller, requests: readonly JsonRpcRequest[], { session, trace }: { readonly session?: SessionKey; readonly trace?: string | undefined }): void => {
    const { facts, principal, address, origin, endpoint } = caller;
    const who: AuditEvent['who'] = { ...facts, principal, address: address ?? origin };
    for (const { id, method, params = {} } of requests) {
      const weight = repeatableMethods.has(method) ? 'read' : 'write';
      if (!this.#audit.wants(weight)) continue;
      const { name, uri } = params;
      this.#audit.record({
        name: 'mcp.call', weight, who, endpoint, session, trace, id, method: method.slice(0, 200), publicName: typeof name === 'string' ? name : undefined, uri: typeof uri === 'string' ? uri : undefined,
        args: method === 'tools/call' ? (params['arguments'] ?? {}) : undefined, outcome: 'unknown', reason: fault('gateway.interrupted').reason,
      });
    }
  };
}
