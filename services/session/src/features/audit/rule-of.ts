import type { GatewayFault } from '@omnibus/protocol';

/** The rule or limit that a fault names. */
export function ruleOf(data: GatewayFault['data']): { readonly rule?: string } {
  const rule = data?.['rule'] ?? data?.['limit'] ?? data?.['guardrail'];
  return typeof rule === 'string' ? { rule } : {};
}
