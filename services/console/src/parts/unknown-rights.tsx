import type { Overview } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { Shown } from './basics.tsx';

/** Stands in a view whose content depends on the rights of the user until the gateway has answered with them: a notice, or the reason for no answer. */
export function UnknownRights() {
  return <Shown live={useLive<Overview>('overview')}>{() => null}</Shown>;
}
