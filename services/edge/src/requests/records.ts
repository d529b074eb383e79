/** Audit records of an edge: refused authentication, messages for streams of others, and requests that were lost with the worker that would have recorded them. */
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
import type { EdgeWatcher } from './edge-watcher.ts';

export class EdgeRecords implements EdgeWatcher {
  readonly #audit: Audit;
  readonly #proofs: Proofs | undefined;

  /** @param proofs checks what other edges say of callers; undefined where callers are not authenticated. */
  constructor(audit: Audit, proofs: Proofs | undefined) {
    this.#audit = audit;
    this.#proofs = proofs;
  }

  turnedAway({ caller, ...post }: InboxPost, session: SessionKey, { reason }: GatewayFault): void {
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
  }

  /** Records that a request was not authenticated, or not sufficiently. Nothing of its credentials is recorded. */
  refused(address: string, endpoint: EndpointName, { reason }: GatewayFault): void {
    this.#audit.record({
      name: 'auth.refused',
      weight: 'refusal',
      who: { address },
      endpoint,
      outcome: 'denied',
      reason,
    });
  }

  lost(
    caller: Caller,
    requests: readonly JsonRpcRequest[],
    { session, trace }: { readonly session?: SessionKey; readonly trace?: string | undefined },
  ): void {
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
  }
}
