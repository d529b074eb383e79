/** A warning that names the processes which did not answer, so that their part is missing in the view. */
import type { Missing as List } from '@omnibus/admin-api';
import { State } from './state.tsx';

export function Missing({ missing }: { readonly missing: List }) {
  if (missing.length === 0) return null;
  return (
    <p class="missing">
      <State tone="warn" shape="!" word="incomplete" /> no answer from{' '}
      {missing.map(({ process, role }) => `${process} (${role})`).join(', ')}: what they hold is not shown.
    </p>
  );
}
