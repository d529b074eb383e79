/** Annotations of tools that rules may rely on. */
import type { ServerConfig } from './schema.ts';

/**
 * The annotations of a tool that rules may rely on: all of a believed server, else those that the operator wrote.
 * @param annotations as clients see them.
 * @returns undefined if there are none; null for a tool of a believed server that has none.
 */
export function trustedHints(
  { hints, tools }: Pick<ServerConfig, 'hints' | 'tools'>,
  tool: string,
  annotations: unknown,
): unknown {
  return hints === 'believe'
    ? (annotations ?? null)
    : Object.hasOwn(tools, tool)
      ? tools[tool]?.annotations
      : undefined;
}

/** Whether rules may rely on the annotations of some tool of a server. */
export function hasTrustedHints({ hints, tools }: Pick<ServerConfig, 'hints' | 'tools'>): boolean {
  return hints === 'believe' || Object.values(tools).some(({ annotations }) => annotations !== undefined);
}
