/** What was approved of one server's definitions, as it is kept. */
import type { JsonObject } from './json-rpc.ts';

/** Lists whose entries are definitions. Resources are what a server has, not what it promises. */
export const definedKinds = ['tools', 'prompts', 'resourceTemplates'] as const;
export type DefinedKind = (typeof definedKinds)[number];

export interface ApprovedDefinitions {
  /** A digest of how the server is reached: somewhere else is another server. */
  readonly reached: string;
  readonly instructions?: string;
  /** Lists that were seen: what comes into them later is new. */
  readonly kinds: readonly DefinedKind[];
  /** By kind and the server's own name of it: `tools:search`. */
  readonly entries: Readonly<Record<string, JsonObject>>;
}
