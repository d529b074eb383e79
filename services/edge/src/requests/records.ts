/** Audit records of an edge: refused authentication, messages for streams of others, and requests that were lost with the worker that would have recorded them. */
import type { IncomingMessage } from 'node:http';
import type { Audit, AuditEvent } from '@omnibus/audit';
import { Proofs } from '@omnibus/identity';
import {
  fault,
  repeatableMethods,
  type Caller,
  type EndpointName,
  type GatewayFault,
  type InboxPost,
  type JsonRpcRequest,
  type SessionKey,
} from '@omnibus/protocol';

export class EdgeRecords {
  readonly #audit: Audit;
  readonly #addressOf: (request: IncomingMessage) => string;
  readonly #proofs: Proofs | undefined;

  /** @param addressOf gives the address key of a client. @param proofs checks what other edges say of callers. */
  constructor(audit: Audit, addressOf: (request: IncomingMessage) => string, proofs?: Proofs) {
    this.#audit = audit;
    this.#addressOf = addressOf;
    this.#proofs = proofs;
  }

  /** Records a message that was posted to the stream of HTTP+SSE of somebody else, or by somebody whom no edge has proven. */
  readonly turnedAway = ({ caller, ...post }: InboxPost, session: SessionKey, { reason }: GatewayFault): void => {
    const { principal, address, origin, endpoint } = caller;
    const proven = Proofs.factsOf(caller, this.#proofs);
    const who = { ...(proven?.principal === principal ? proven : {}), principal, address: address ?? origin };
    const method =
      post.kind === 'post' && post.message.kind !== 'response' ? post.message.message.method.slice(0, 200) : undefined;
    this.#audit.record({
      name: 'mcp.refused',
      weight: 'refusal',
      who,
      endpoint,
      session,
      method,
      outcome: 'denied',
      reason,
    });
  };

  /** Records that a request was not authenticated, or not sufficiently. Nothing of its credentials is recorded. */
  readonly strange = (request: IncomingMessage, endpoint: EndpointName, { reason }: GatewayFault): void => {
    this.#audit.record({
      name: 'auth.refused',
      weight: 'refusal',
      who: { address: this.#addressOf(request) },
      endpoint,
      outcome: 'denied',
      reason,
    });
  };

  /** Records requests whose worker is gone, so that it is not known whether they were executed. */
  readonly lost = (
    caller: Caller,
    requests: readonly JsonRpcRequest[],
    { session, trace }: { readonly session?: SessionKey; readonly trace?: string | undefined },
  ): void => {
    const { facts, principal, address, origin, endpoint } = caller;
    const who: AuditEvent['who'] = { ...facts, principal, address: address ?? origin };
    for (const { id, method, params = {} } of requests) {
      const weight = repeatableMethods.has(method) ? 'read' : 'write';
      if (!this.#audit.wants(weight)) continue;
      const { name, uri } = params;
      this.#audit.record({
        name: 'mcp.call',
        weight,
        who,
        endpoint,
        session,
        trace,
        id,
        method: method.slice(0, 200),
        publicName: typeof name === 'string' ? name : undefined,
        uri: typeof uri === 'string' ? uri : undefined,
        args: method === 'tools/call' ? (params['arguments'] ?? {}) : undefined,
        outcome: 'unknown',
        reason: fault('gateway.interrupted').reason,
      });
    }
  };
}
