/** Narrows what callers see beyond the access rules, by decisions that are made elsewhere and take time. One feature at most has it. */
import type { Sight, View } from '@omnibus/catalog';
import type { Caller, Facts } from '@omnibus/protocol';

export interface ListFilter {
  /**
   * The part that the caller may see.
   * @param sight what the rules let the caller see; undefined for everything.
   */
  narrowed(sight: Sight | undefined, caller: Caller, facts: Facts | undefined): Sight;
  /**
   * Begins to decide about the entries of a view.
   * @param view what the rules let the caller see.
   * @returns undefined if all is decided; else resolves, and never rejects, when it is.
   */
  pending(view: View, sight: Sight | undefined, caller: Caller, facts: Facts | undefined): Promise<void> | undefined;
}
