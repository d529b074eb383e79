import type { Overview } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { Shown } from './basics.tsx';

/** What stands in a view whose content depends on the rights of the user, until these are known: that they are asked for, or why nobody answers. */
export function UnknownRights() {
  return <Shown live={useLive<Overview>('overview')}>{() => null}</Shown>;
}
