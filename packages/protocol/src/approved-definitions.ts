/** The approved definitions of one server, as they are stored. */
import type { JsonObject } from './json-rpc.ts';

/** Lists of definitions. Resources are not among them, since they are contents and not an interface. */
export const definedKinds = ['tools', 'prompts', 'resourceTemplates'] as const;
export type DefinedKind = (typeof definedKinds)[number];

export interface ApprovedDefinitions {
  /** A digest of how the server is reached: with another command or address it counts as another server. */
  readonly reached: string;
  readonly instructions?: string;
  /** Lists that were seen before: an entry that appears in them later is new. */
  readonly kinds: readonly DefinedKind[];
  /** Keys consist of the kind and the server's own name: `tools:search`. */
  readonly entries: Readonly<Record<string, JsonObject>>;
}
